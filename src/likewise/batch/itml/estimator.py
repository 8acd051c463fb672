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
    as_float_array,
    either,
    matrix,
    non_negative,
    one_of,
    positive,
)
from likewise.batch._pair_learner import PairLearner
from likewise.batch._scatter import group_means, whitener
from likewise.batch.itml.newton import newton
from likewise.batch.itml.problem import LogDetProblem
from likewise.constraints import Pairs
from likewise.metric import canonical_components

_MAX_BOUND_PAIRS = 10_000  # whose distances determine the percentiles
_PERCENTILES = (5, 95)
_MIN_RATIO = 1e-70  # to the largest difference: squares of the inverse must not overflow


def _is_two_numbers(bounds: Any) -> bool:
    try:
        numbers = np.asarray(bounds)
    except ValueError:  # a ragged list
        return False
    return numbers.size == 2 and numbers.dtype.kind in "iuf"


class ITML(PairLearner):
    r"""ITML: minimise the LogDet divergence from a prior metric under bounds on pair distances.

    Information-theoretic metric learning learns from similar and dissimilar pairs, or from labels
    through sampled pairs. Use it where a prior metric is trusted and few pairs correct it.

    The distances of similar pairs should be at most u and those of dissimilar pairs at least l.
    Among the positive definite matrices, M is the closest to the prior :math:`M_0` in LogDet
    divergence :math:`D(A, B) = \operatorname{tr} AB^{-1} - \log\det AB^{-1} - d`, with slack
    variables :math:`\xi` for the bounds:

    .. math:: \min_{M \succ 0,\, \xi} D(M, M_0)
              + \gamma D(\operatorname{diag} \xi, \operatorname{diag} \xi_0), \qquad
              v^\top M v \le \xi \text{ (similar)}, \quad v^\top M v \ge \xi \text{ (dissimilar)},

    with :math:`\xi_0 = u^2` for similar and :math:`l^2` for dissimilar pairs. The problem is
    convex. The paper solves it by cyclic Bregman projections onto one constraint after another;
    here Newton's method reaches the same M in a few steps and proves how close it is to the
    minimum.

    Parameters
    ----------
    slack_weight : float
        γ: weight of the slack variables' divergence. Large values enforce the bounds.
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        :math:`M_0`; ``"covariance"`` is the inverse of the covariance of X.
    bounds : "percentiles" or (u, l)
        Upper bound for similar and lower bound for dissimilar pairs, as distances (not squared).
        ``"percentiles"``: the 5th and the 95th percentile of the positive distances between samples
        under the prior, from at most 10 000 pairs.
    n_pairs : int, optional
        Number of pairs that `fit` samples, half of them similar; None is 20 c² for c classes,
        at most 100 000.
    max_iter : int
        Maximum number of Newton steps.
    tol : float
        Stop when the duality gap is at most this share of the objective.
    random_state : int, RandomState or None
        Seeds the sampling of pairs.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        L, eigenvalues of M descending.
    bounds_ : tuple of two floats
        u and l.
    objective_ : float
        The minimised value.
    duality_gap_ : float
        Upper bound of the distance of `objective_` from the minimum, relative to `objective_`.
    n_iter_, converged_, history_ : int, bool, dict
        Whether and when the solver converged; ``history_["objective"]`` and ``history_["gap"]``
        have the value and the relative duality gap at the start and after each step.

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

    bounds_: tuple[float, float]
    duality_gap_: float

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
        max_iter: int = 100,
        tol: float = 1e-4,
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
        order = np.argsort(~pairs.same, kind="stable")  # similar pairs first
        first, second = pairs.index[order].T
        V = np.subtract(X[first], X[second], dtype=np.float64)
        # A similar pair of equal samples meets its bound under every metric.
        informative = V.any(axis=1)
        if not informative.any():
            raise ValueError("No pair has two different rows, but ITML needs one to learn from.")
        V, same = V[informative], pairs.same[order][informative]
        # Scaling both X and the bounds leaves M unchanged. A power of two is exact, and keeps
        # squares from overflowing.
        scale = 2.0 ** np.frexp(max(np.abs(V).max(initial=0.0), upper, lower))[1]
        bounds, largest = np.where(same, upper, lower) / scale, np.abs(V).max(axis=1) / scale
        smallest = min(bounds.min(), largest[~same].min(initial=1.0))
        if smallest < _MIN_RATIO:
            raise ValueError(
                f"Rows of X differ by up to {largest.max() * scale:.3g}, but a bound or a "
                f"dissimilar pair by only {smallest * scale:.3g}: scale X, or remove outliers."
            )
        problem = LogDetProblem(
            prior,
            np.divide(V, scale, out=V),
            np.where(same, 1.0, -1.0),
            np.square(bounds),
            float(self.slack_weight),
        )
        found = self._solve(
            newton,
            problem,
            prior,
            fitted=lambda M: {"components_": canonical_components(M).astype(X.dtype)},
            tol=self.tol,
        )
        self.bounds_ = (upper, lower)
        self.duality_gap_ = 1.0 if found.gap is None else found.gap
        return self._keep(canonical_components(found.x), X.dtype)

    def _prior_matrix(self, X: Array) -> Array:
        n_features = X.shape[1]
        if isinstance(self.prior, str) and self.prior == "identity":
            return np.eye(n_features)
        if isinstance(self.prior, str):
            one_group = np.zeros(len(X), dtype=np.int64)
            names = getattr(self, "feature_names_in_", None)
            root = whitener(X, group_means(X, one_group), one_group, feature_names=names)
            rank = int(np.count_nonzero(root.any(axis=1)))
            if rank < n_features:
                raise ValueError(
                    f"prior='covariance' is singular: X varies in {rank} of {n_features} "
                    "directions, but ITML needs all; use prior='identity' or remove features."
                )
            return np.asarray(root.T @ root)
        prior = as_float_array(self.prior, "prior")
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
                    f"bounds=({upper:g}, {lower:g}) is not allowed: ITML needs 0 < u < l, with "
                    "similar pairs below u and dissimilar ones above l."
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
    """Return the positive distances between samples under `prior`, of all or of random pairs."""
    n_samples = len(X)
    if n_samples * (n_samples - 1) // 2 <= _MAX_BOUND_PAIRS:
        first, second = np.triu_indices(n_samples, 1)
    else:
        first = random.randint(n_samples, size=_MAX_BOUND_PAIRS)
        second = (first + random.randint(1, n_samples, size=_MAX_BOUND_PAIRS)) % n_samples
    Z = centred(np.ascontiguousarray(X, dtype=np.float64), robust_centre(X))
    if not np.array_equal(prior, np.eye(len(prior))):
        Z = np.ascontiguousarray(Z @ np.linalg.cholesky(prior))
    scale = 2.0 ** np.frexp(np.abs(Z).max(initial=0.0))[1]
    sqdist = _loops.pair_sqdist(Z / scale, first.astype(np.int64), second.astype(np.int64))
    return np.asarray(np.sqrt(sqdist[sqdist > 0]) * scale)
