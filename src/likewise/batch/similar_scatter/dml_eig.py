"""DML-eig: metric learning as an eigenvalue problem."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.validation import positive
from likewise.batch.similar_scatter.learner import SimilarScatterLearner
from likewise.batch.similar_scatter.spectrahedron import maximise_on_spectrahedron
from likewise.constraints import Pairs
from likewise.metric import canonical_form
from likewise.objectives import DifferentPairs, SoftMinimum


class DMLEig(SimilarScatterLearner):
    r"""DML-eig: the nearest of the different pairs as far apart as can be.

    .. math:: \max_{M \succeq 0} \min_{\text{different}} v^\top M v
              \quad\text{such that}\quad \sum_{\text{alike}} v^\top M v \le 1

    over differences v of pairs, with the minimum smoothed to
    :math:`-\mu \log \sum e^{-v^\top M v / \mu}`. The problem is concave, and its slope tells by an
    eigenvalue how far the maximum is.

    Parameters
    ----------
    smoothing : float
        μ, in units of the mean of :math:`v^\top M v` over different pairs at the start, where M is
        the inverse scatter of alike pairs. Small values look at the nearest pairs only.
    shrinkage : float
        Move the scatter of alike pairs by this share towards its mean in all directions. Without
        it, M is zero in directions in which no alike pair differs: the maximum there is infinite.
    n_pairs : int, optional
        How many pairs `fit` draws, half of them alike; None is 20 c² for c classes.
    max_iter : int
        Steps of the solver.
    tol : float
        Stop when `duality_gap_` is at most this.
    random_state : int, RandomState or None
        Draws pairs.
    verbose : int
        1 shows progress.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        L, eigenvalues of M descending.
    objective_ : float
        The smoothed minimum.
    mu_ : float
        μ.
    duality_gap_ : float
        Frank and Wolfe's gap: the maximum is at most this above `objective_`, as a share of that or
        of the mean square distance by which the slope weighs pairs, whichever is larger.
    n_iter_, converged_, history_ : int, bool, dict
        How the solver ended, and ``history_["objective"]`` step by step.

    References
    ----------
    Y. Ying, P. Li, Distance metric learning with eigenvalue optimization, JMLR 13, 2012.

    Examples
    --------
    >>> import likewise as lw
    >>> X = [[0.0, 0.0], [0.0, 4.0], [3.0, 1.0], [3.5, 3.0]]
    >>> pairs, same = [[0, 1], [2, 3], [0, 2], [1, 3]], [True, True, False, False]
    >>> eig = lw.DMLEig().fit_pairs(X, pairs, same)
    >>> eig.pair_distance([[0.0, 0.0], [0.0, 0.0]], [[0.0, 4.0], [4.0, 0.0]]).round(2)
    array([0.41, 8.72])
    """

    _rules: ClassVar = {**SimilarScatterLearner._rules, "smoothing": positive()}

    def __init__(
        self,
        *,
        smoothing: float = 0.1,
        shrinkage: float = 1e-3,
        n_pairs: int | None = None,
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.smoothing = smoothing
        self.shrinkage = shrinkage
        self.n_pairs = n_pairs
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, X: Array, pairs: Pairs, random: np.random.RandomState) -> Self:
        rows, size = self._centred(X, pairs)
        root = self._inverse_root(rows, pairs)
        start = np.eye(X.shape[1]) / np.sqrt(X.shape[1])
        different = DifferentPairs.of(rows @ root, pairs, SoftMinimum(1.0))  # μ is not known yet
        self.mu_ = self.smoothing * float(different.squares(start).mean())
        return self._keep_best(
            maximise_on_spectrahedron,
            replace(different, spread=SoftMinimum(self.mu_)),
            start,
            lambda F: canonical_form(F @ root) / size,
            X.dtype,
        )
