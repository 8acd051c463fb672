"""Information-theoretic metric learning."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from likewise import _loops
from likewise._numerics.centring import centred, robust_centre
from likewise._runtime.arrays import Array
from likewise._runtime.memory import require_memory
from likewise._runtime.validation import (
    Rule,
    either,
    matrix,
    non_negative,
    one_of,
    positive,
    table_of_numbers,
)
from likewise.batch._pair_learner import PairLearner
from likewise.batch._scatter import group_means, whitener
from likewise.batch.itml.bregman import bregman_cycles
from likewise.constraints import Pairs
from likewise.metric import canonical_components
from likewise.objectives import LogDetProblem

_SAMPLED_PAIRS = 10_000  # of which the distances decide on the bounds
_PERCENTILES = (5, 95)


def _is_two_numbers(bounds: Any) -> bool:
    try:
        numbers = np.asarray(bounds)
    except ValueError:  # rows of different lengths
        return False
    return numbers.size == 2 and numbers.dtype.kind in "iuf"


class ITML(PairLearner):
    r"""Information-theoretic metric learning: keep bounds on distances, and near to a prior.

    Among the positive definite matrices that keep the distances of alike rows below u and those of
    different rows above l, find the one nearest to the prior :math:`M_0` in Burg's divergence
    :math:`D(A, B) = \operatorname{tr} AB^{-1} - \log\det AB^{-1} - d`. Bounds may be slackened to
    :math:`\xi` at a price:

    .. math:: \min_{M \succ 0,\, \xi} D(M, M_0)
              + \gamma D(\operatorname{diag} \xi, \operatorname{diag} \xi_0), \qquad
              v^\top M v \le \xi \text{ (alike)}, \quad v^\top M v \ge \xi \text{ (different)},

    with :math:`\xi_0 = u^2` for alike and :math:`l^2` for different pairs. M is projected on one
    constraint after another: first on alike pairs, then on different ones, in the order given.

    Parameters
    ----------
    slack_weight : float
        γ: the weight of the slack. Large values enforce the bounds.
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        :math:`M_0`; ``"covariance"`` is the inverse of the covariance of X.
    bounds : "percentiles" or (u, l)
        Distances (not squared) that alike pairs should stay below and different ones above.
        ``"percentiles"``: the 5th and the 95th of the distances of pairs of rows under the prior,
        equal rows left out, from a sample of at most 10 000.
    n_pairs : int, optional
        How many pairs `fit` draws, half of them alike; None is 20 c² for c classes.
    max_iter : int
        Sweeps over the pairs.
    tol : float
        Stop when a sweep changes the dual variables by no more than this share of their size: the
        sum of the changes, over the sum of the Euclidean norms before and after.
    random_state : int, RandomState or None
        Draws pairs.
    verbose : int
        1 shows progress.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        L, eigenvalues of M descending.
    bounds_ : tuple of two floats
        u and l.
    objective_ : float
        The value that was reached.
    n_iter_, converged_, history_ : int, bool, dict
        How the sweeps ended; ``history_["change"]`` is what `tol` is compared with sweep by sweep,
        and ``history_["objective"]`` at the start, after every tenth sweep and after the last.

    References
    ----------
    J. V. Davis, B. Kulis, P. Jain, S. Sra, I. S. Dhillon, Information-theoretic metric learning,
    ICML 2007.

    Examples
    --------
    >>> import likewise as lw
    >>> X = [[0.0, 0.0], [0.0, 3.0], [2.0, 0.0], [2.0, 2.0]]
    >>> itml = lw.ITML(bounds=(1.0, 2.0)).fit_pairs(X, [[0, 1], [0, 2]], [True, False])
    >>> itml.pair_distance([[0.0, 0.0], [0.0, 0.0]], [[0.0, 3.0], [2.0, 0.0]]).round(2)
    array([1.34, 2.  ])
    """

    _rules: ClassVar = {
        **PairLearner._rules,
        "slack_weight": positive(),
        "prior": either(one_of("identity", "covariance"), matrix()),
        "bounds": either(one_of("percentiles"), Rule("two distances (u, l)", _is_two_numbers)),
        "tol": non_negative(),
    }

    def __init__(
        self,
        slack_weight: float = 1.0,
        *,
        prior: Literal["identity", "covariance"] | ArrayLike = "identity",
        bounds: Literal["percentiles"] | ArrayLike = "percentiles",
        n_pairs: int | None = None,
        max_iter: int = 10_000,
        tol: float = 1e-3,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.slack_weight = slack_weight
        self.prior = prior
        self.bounds = bounds
        self.n_pairs = n_pairs
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, X: Array, pairs: Pairs, random: np.random.RandomState) -> Self:
        n_features = X.shape[1]
        require_memory(
            8.0 * n_features * (len(pairs) + 6 * n_features),
            f"ITML of {len(pairs)} pairs of {n_features} features",
        )
        prior = self._prior_matrix(X)
        upper, lower = self._bounds_of(X, prior, random)
        order = np.argsort(~pairs.same, kind="stable")  # alike pairs come first
        first, second = pairs.index[order].T
        V = np.subtract(X[first], X[second], dtype=np.float64)
        # Equal rows are as near as can be: a pair of them that is alike asks for nothing.
        told = V.any(axis=1)
        if not told.any():
            raise ValueError("No pair has two different rows, but ITML needs one to learn from.")
        V, same = V[told], pairs.same[order][told]
        # In other units of X distances and bounds change alike, and M stays; a power of two is
        # exact, and keeps squares from overflowing.
        size = 2.0 ** np.frexp(max(np.abs(V).max(initial=0.0), upper, lower))[1]
        problem = LogDetProblem(
            prior,
            np.divide(V, size, out=V),
            np.where(same, 1.0, -1.0),
            np.square(np.where(same, upper, lower) / size),
            float(self.slack_weight),
        )
        found = self._solve(
            bregman_cycles,
            problem,
            prior,
            fitted=lambda M: {"components_": canonical_components(M).astype(X.dtype)},
            tol=self.tol,
        )
        self.bounds_ = (upper, lower)
        return self._keep(canonical_components(found.x), X.dtype)

    def _prior_matrix(self, X: Array) -> Array:
        n_features = X.shape[1]
        if isinstance(self.prior, str) and self.prior == "identity":
            return np.eye(n_features)
        if isinstance(self.prior, str):
            together = np.zeros(len(X), dtype=np.int64)
            root = whitener(X, group_means(X, together), together)
            rank = int(np.count_nonzero(root.any(axis=1)))
            if rank < n_features:
                raise ValueError(
                    f"prior='covariance' is singular: X varies in {rank} of {n_features} "
                    "directions, but ITML needs all; use prior='identity' or remove features."
                )
            return np.asarray(root.T @ root)
        prior = table_of_numbers(self.prior, "prior")
        if prior.shape != (n_features, n_features):
            raise ValueError(
                f"prior has shape {prior.shape}, but X needs ({n_features}, {n_features})."
            )
        if not np.isfinite(prior).all() or not np.allclose(prior, prior.T, rtol=1e-8, atol=0):
            raise ValueError("prior is not a finite symmetric matrix, but ITML needs one.")
        values = np.linalg.eigvalsh(prior)
        if values[0] <= n_features * np.finfo(np.float64).eps * values[-1]:
            raise ValueError(
                f"prior is singular or indefinite (least eigenvalue {values[0]:.3g}, greatest "
                f"{values[-1]:.3g}), but ITML needs a positive definite matrix."
            )
        return (prior + prior.T) / 2

    def _bounds_of(
        self, X: Array, prior: Array, random: np.random.RandomState
    ) -> tuple[float, float]:
        if not isinstance(self.bounds, str):
            upper, lower = (float(bound) for bound in np.asarray(self.bounds).ravel())
            if not 0 < upper < lower < np.inf:
                raise ValueError(
                    f"bounds=({upper:g}, {lower:g}) is not allowed: ITML needs 0 < u < l, alike "
                    "pairs below u and different ones above l."
                )
            return upper, lower
        distances = _sampled_distances(X, prior, random)
        if not len(distances):
            raise ValueError("All rows of X are equal, but ITML needs rows that differ.")
        upper, lower = np.percentile(distances, _PERCENTILES)
        if not upper < lower:
            raise ValueError(
                f"The 5th and the 95th percentile of the distances are equal ({upper:g}), but ITML "
                "needs different bounds; pass bounds=(u, l)."
            )
        return float(upper), float(lower)


def _sampled_distances(X: Array, prior: Array, random: np.random.RandomState) -> Array:
    """Return distances of pairs of different rows under `prior`: of all pairs, or of a sample."""
    n_rows = len(X)
    if n_rows * (n_rows - 1) // 2 <= _SAMPLED_PAIRS:
        first, second = np.triu_indices(n_rows, 1)
    else:
        first = random.randint(n_rows, size=_SAMPLED_PAIRS)
        second = (first + random.randint(1, n_rows, size=_SAMPLED_PAIRS)) % n_rows
    Z = centred(np.ascontiguousarray(X, dtype=np.float64), robust_centre(X))
    if not np.array_equal(prior, np.eye(len(prior))):
        Z = np.ascontiguousarray(Z @ np.linalg.cholesky(prior))
    size = 2.0 ** np.frexp(np.abs(Z).max(initial=0.0))[1]
    squares = _loops.pair_sqdist(Z / size, first.astype(np.int64), second.astype(np.int64))
    return np.asarray(np.sqrt(squares[squares > 0]) * size)
