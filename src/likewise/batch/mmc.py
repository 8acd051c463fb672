"""Mahalanobis metric for clustering."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from likewise._validation import Rule
from likewise.batch._alike_spread import AlikeSpreadLearner
from likewise.constraints import Pairs
from likewise.objectives import DifferentPairs, SumOfDistances, WeightedFeatures
from likewise.solvers import maximise_on_simplex, maximise_on_spectrahedron

Array = NDArray[Any]


class MMC(AlikeSpreadLearner):
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
        Stop when `gap_` is at most this.
    random_state : int, RandomState or None
        Draws pairs.
    verbose : bool
        Show progress.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        L, eigenvalues of M descending.
    objective_ : float
        The sum of distances of different pairs.
    gap_ : float
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
        **AlikeSpreadLearner._rules,
        "diagonal": Rule("True or False", lambda v: isinstance(v, bool | np.bool_)),
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
        verbose: bool = False,
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
        scatter = self._alike_scatter(rows, pairs)
        if self.diagonal:
            return self._learn_weights(rows, np.diag(scatter), pairs, size, X.dtype)
        # In rows whitened by the scatter A of alike pairs, N = A^½ M A^½ and the bound is tr N ≤ 1.
        root = self._inverse_root(scatter)
        found = self._solve(
            maximise_on_spectrahedron,
            DifferentPairs.of(rows @ root, pairs, SumOfDistances()),
            np.eye(X.shape[1]),
            fitted=lambda F: {"components_": F @ root / size},
            tol=self.tol,
        )
        self.gap_ = float(found.gap or 0.0)
        L = found.x @ root
        return self._keep_matrix(L.T @ L, size, X.dtype)

    def _learn_weights(
        self, rows: Array, spreads: Array, pairs: Pairs, size: float, dtype: Any
    ) -> Self:
        """Learn the diagonal of M, from features in units of the spread of alike pairs."""
        kept = spreads > len(spreads) * np.finfo(np.float64).eps * spreads.max()
        units = np.divide(1.0, np.sqrt(spreads), out=np.zeros_like(spreads), where=kept)
        found = self._solve(
            maximise_on_simplex,
            WeightedFeatures.of(rows * units, pairs),
            np.ones_like(spreads),
            fitted=lambda n: {"components_": np.diag(np.sqrt(n) * units / size)},
            tol=self.tol,
        )
        self.gap_ = float(found.gap or 0.0)
        return self._keep_matrix(np.diag(found.x * units**2), size, dtype)
