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
from likewise.objectives import DissimilarPairs, SoftMinimum


class DMLEig(SimilarScatterLearner):
    r"""DML-eig: maximise the smallest distance of dissimilar pairs, with similar pairs kept close.

    Distance metric learning by eigenvalue optimisation learns from similar and dissimilar pairs,
    or from labels through sampled pairs. Use it where the closest dissimilar pairs decide, as in
    verification.

    .. math:: \max_{M \succeq 0} \min_{\text{dissimilar}} v^\top M v
              \quad\text{such that}\quad \sum_{\text{similar}} v^\top M v \le 1

    over the differences v of pairs, with the minimum smoothed to
    :math:`-\mu \log \sum e^{-v^\top M v / \mu}`. The problem is concave, and the largest eigenvalue
    of its gradient bounds the distance to the maximum.

    Parameters
    ----------
    smoothing : float
        μ, relative to the mean of :math:`v^\top M v` over dissimilar pairs at the start, where M is
        the inverse scatter of similar pairs. With small values only the closest pairs count.
    shrinkage : float
        Shrink the scatter A of similar pairs towards a multiple of the identity: 0 is none, 1 is
        all the way. With 0, M is zero in directions in which no similar pair differs, where the
        maximum would be infinite.
    n_pairs : int, optional
        Number of pairs that `fit` samples, half of them similar; None is 20 c² for c classes,
        at most 100 000.
    max_iter : int
        Maximum number of solver iterations.
    tol : float
        Stop when `duality_gap_` is at most this.
    random_state : int, RandomState or None
        Seeds the sampling of pairs.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        L, eigenvalues of M descending.
    objective_ : float
        The smoothed minimum.
    mu_ : float
        μ.
    duality_gap_ : float
        The Frank–Wolfe gap, which bounds the maximum less `objective_`, relative to `objective_` or
        to the mean squared distance under the softmax weights, whichever is larger.
    n_iter_, converged_, history_ : int, bool, dict
        Whether and when the solver converged, and ``history_["objective"]`` per iteration.

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
    array([0.1 , 3.65])
    """

    mu_: float

    _rules: ClassVar = {**SimilarScatterLearner._rules, "smoothing": positive()}

    def __init__(
        self,
        *,
        smoothing: float = 0.1,
        shrinkage: float = 0.1,
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
        rows, scale = self._centred_and_scaled(X, pairs)
        whitener = self._whitener(rows, pairs)
        start = np.eye(X.shape[1]) / np.sqrt(X.shape[1])
        objective = DissimilarPairs.of(rows @ whitener, pairs, SoftMinimum(1.0))
        self.mu_ = self.smoothing * float(objective.sqdist(start).mean())
        return self._maximise(
            maximise_on_spectrahedron,
            replace(objective, separation=SoftMinimum(self.mu_)),
            start,
            lambda F: canonical_form(F @ whitener) / scale,
            X.dtype,
        )
