"""Mahalanobis metric for clustering."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.validation import yes_or_no
from likewise.batch.similar_scatter.learner import SimilarScatterLearner
from likewise.batch.similar_scatter.simplex import maximise_on_simplex
from likewise.batch.similar_scatter.spectrahedron import maximise_on_spectrahedron
from likewise.constraints import Pairs
from likewise.metric import canonical_form
from likewise.objectives import DifferentPairs, SumOfDistances, WeightedFeatures


class MMC(SimilarScatterLearner):
    r"""Mahalanobis metric for clustering: different pairs far apart, alike ones together.

    .. math:: \max_{M \succeq 0} \sum_{\text{different}} \sqrt{v^\top M v}
              \quad\text{such that}\quad \sum_{\text{alike}} v^\top M v \le 1

    over differences v of pairs. The problem is concave; the distance to its maximum is certified.

    Parameters
    ----------
    diagonal : bool
        Learn a weight for each feature instead of a full matrix.
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
        The sum of distances of different pairs.
    duality_gap_ : float
        The maximum is at most this share of `objective_` above it.
    n_iter_, converged_, history_ : int, bool, dict
        How the solver ended, and ``history_["objective"]`` step by step.

    References
    ----------
    E. P. Xing, A. Y. Ng, M. I. Jordan, S. Russell, Distance metric learning with application to
    clustering with side-information, NIPS 15, 2003.

    Examples
    --------
    >>> import likewise as lw
    >>> X = [[0.0, 0.0], [0.0, 4.0], [3.0, 1.0], [3.5, 3.0]]
    >>> mmc = lw.MMC().fit_pairs(X, [[0, 1], [2, 3], [0, 2], [1, 3]], [True, True, False, False])
    >>> mmc.pair_distance([[0.0, 0.0], [0.0, 0.0]], [[0.0, 4.0], [4.0, 0.0]]).round(2)
    array([0.44, 8.73])
    """

    _rules: ClassVar = {
        **SimilarScatterLearner._rules,
        "diagonal": yes_or_no(),
    }

    def __init__(
        self,
        *,
        diagonal: bool = False,
        shrinkage: float = 1e-3,
        n_pairs: int | None = None,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.diagonal = diagonal
        self.shrinkage = shrinkage
        self.n_pairs = n_pairs
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, X: Array, pairs: Pairs, random: np.random.RandomState) -> Self:
        rows, size = self._centred(X, pairs)
        # In rows whitened by the scatter A of alike pairs, N = A^½ M A^½ and the bound is tr N ≤ 1.
        if self.diagonal:
            units = self._inverse_units(rows, pairs)
            return self._keep_best(
                maximise_on_simplex,
                WeightedFeatures.of(rows * units, pairs),
                np.ones(X.shape[1]),
                lambda n: _sorted_diagonal(np.sqrt(n) * units / size),
                X.dtype,
            )
        root = self._inverse_root(rows, pairs)
        return self._keep_best(
            maximise_on_spectrahedron,
            DifferentPairs.of(rows @ root, pairs, SumOfDistances()),
            np.eye(X.shape[1]),
            lambda F: canonical_form(F @ root) / size,
            X.dtype,
        )


def _sorted_diagonal(lengths: Array) -> Array:
    """Return the canonical L of a diagonal M: a row a feature, the longest first."""
    order = np.argsort(-lengths, kind="stable")
    return np.asarray(np.diag(lengths)[order])
