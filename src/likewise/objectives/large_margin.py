"""The LMNN objective: pull targets near, push impostors beyond a margin; with its dual bound.

Pairs come in groups. Each group has an anchor, target pairs that pull, and impostor pairs, each of
which has to be farther than every target pair of the group by a margin. The hinge losses depend on
squared distances only, so the distances of one group may come from several metrics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar

from likewise import _loops
from likewise._numerics.products import gradient_in_components, map_rows
from likewise._numerics.spread import standard_deviations
from likewise._runtime.arrays import Array, BoolArray, FloatArray, IndexArray
from likewise._runtime.threads import run_blocks

# Eigenvalues of the pull below this share of the largest, times their number, count as 0.
_RANK_TOLERANCE = 1e-12
# Squared distances in the null space of the pull below this share of the mean ‖x‖² count as 0.
_NULL_SPACE_TOLERANCE = 1e-10
_SQUARED_ROWS = 1024  # squared in double precision at a time


@dataclass(frozen=True, eq=False)
class GroupedPairs:
    """Pairs of rows of X, sorted by group: group g has ``indptr[g]`` to ``indptr[g + 1]``.

    Attributes
    ----------
    rows, cols : int array of shape (n_pairs,)
        Row numbers of the anchor and of the other row.
    indptr : int array of shape (n_groups + 1,)
        Where each group begins.
    """

    rows: IndexArray
    cols: IndexArray
    indptr: IndexArray

    @classmethod
    def from_sorted(
        cls, groups: IndexArray, n_groups: int, rows: IndexArray, cols: IndexArray
    ) -> GroupedPairs:
        """Build it from pairs that are sorted by `groups`, the group of each pair."""
        indptr = np.zeros(n_groups + 1, dtype=np.int64)
        np.cumsum(np.bincount(groups, minlength=n_groups), out=indptr[1:])
        return cls(rows, cols, indptr)

    @classmethod
    def empty(cls, n_groups: int) -> GroupedPairs:
        """Build groups without pairs."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(nothing, nothing, np.zeros(n_groups + 1, dtype=np.int64))

    def without_pairs(self) -> GroupedPairs:
        """Return the same groups, with no pairs."""
        return GroupedPairs.empty(len(self.indptr) - 1)

    @property
    def groups(self) -> IndexArray:
        """The group of each pair."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def incidence(self, n_rows: int) -> Any:
        """Return the pairs of each row: once for all evaluations with them."""
        if n_rows not in self._incidences:
            self._incidences[n_rows] = _loops.incidence(self.rows, self.cols, n_rows)
        return self._incidences[n_rows]

    @cached_property
    def _incidences(self) -> dict[int, Any]:
        return {}

    def __reduce__(self) -> tuple[type[GroupedPairs], tuple[IndexArray, IndexArray, IndexArray]]:
        return GroupedPairs, (self.rows, self.cols, self.indptr)  # an incidence stays where it is

    def select(self, mask: BoolArray) -> GroupedPairs:
        """Return the pairs in `mask`, in the same groups."""
        n_groups = len(self.indptr) - 1
        return GroupedPairs.from_sorted(
            self.groups[mask], n_groups, self.rows[mask], self.cols[mask]
        )

    def __len__(self) -> int:
        return len(self.rows)


class PairLoss(NamedTuple):
    """The loss as a function of the squared distances of pairs, and its derivatives.

    Attributes
    ----------
    value : float
        Pull and push together.
    targets, impostors : float arrays of shape (n_pairs,)
        The derivative with respect to each squared distance: at least 0 for targets, at most 0 for
        impostors.
    """

    value: float
    targets: FloatArray
    impostors: FloatArray


@dataclass(frozen=True, eq=False)
class LargeMargin:
    """``Σ_g c_g [(1-μ) Σ_j D_j + μ Σ_j Σ_l hinge(margin + D_j - D_l)]`` over groups g.

    j runs over the target pairs of a group and l over its impostor pairs.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Data centred by `robust_centre`, so that products keep the precision of differences.
    targets : GroupedPairs
        Anchors and their target neighbours.
    impostors : GroupedPairs
        Anchors and impostors, in the same groups.
    weights : array of shape (n_groups,)
        c, the weight of each group.
    push : float
        μ, the weight of the push.
    margin : float
        How much larger the squared distances of impostors should be.
    smoothing : float
        Width over which the hinge is smoothed to a quadratic; 0 keeps the kink.
    n_jobs : int or None
        Threads; None uses all cores.
    """

    X: Array
    targets: GroupedPairs
    impostors: GroupedPairs
    weights: FloatArray
    push: float = 0.5
    margin: float = 1.0
    smoothing: float = 0.0
    n_jobs: int | None = None

    def value_and_gradient(self, L: Array) -> tuple[float, Array]:
        """Return the objective at L and its gradient with respect to L."""
        Z = self.transform(L)
        loss = self.loss(self.sqdist(Z, self.targets), self.sqdist(Z, self.impostors))
        product = self.laplacian_product(Z, loss)
        return loss.value, gradient_in_components(product, self.X, self.n_jobs)

    def transform(self, L: Array) -> Array:
        """Return the rows transformed by the variable L."""
        return self.map_rows(L)

    def map_rows(self, L: Array) -> Array:
        """Return ``X @ L.T``."""
        return map_rows(self.X, L, self.n_jobs)

    def sqdist(self, Z: Array, pairs: GroupedPairs) -> FloatArray:
        """Return the squared distances of pairs of transformed rows Z."""
        return self.pair_sqdist(Z, pairs.rows, pairs.cols)

    def pair_sqdist(self, Z: Array, rows: IndexArray, cols: IndexArray) -> FloatArray:
        """Return the squared distances of pairs of rows of Z."""
        return _loops.pair_sqdist(Z, rows, cols, n_jobs=self.n_jobs)

    def scaled(self, Z: Array, square: float) -> Array:
        """Return rows whose squared distances are `square` times those of Z."""
        return np.asarray(Z * Z.dtype.type(np.sqrt(square)))

    def median(self, sqdist: FloatArray) -> float:
        """Return the median of squared distances."""
        return float(np.median(sqdist))

    def mean_square(self) -> float:
        """Return the mean of ‖x‖² over the rows of X."""

        def block(start: int, stop: int) -> float:
            return float(np.square(self.X[start:stop], dtype=np.float64).sum())

        sums = run_blocks(block, len(self.X), _SQUARED_ROWS, self.n_jobs)
        return sum(sums) / max(1, len(self.X))

    def standard_deviations(self) -> Array:
        """Return those of the features, 0 where they are within the rounding error."""
        return standard_deviations(self.X)

    def covariance(self, features: IndexArray, axes: Array) -> Array:
        """Return the covariance of ``X[:, features] @ axes.T``."""
        rows = map_rows(self.X[:, features], axes, self.n_jobs)
        rows = rows - rows.mean(axis=0, dtype=np.float64)
        return np.asarray(rows.T @ rows / len(rows))

    def loss(
        self, targets: FloatArray, impostors: FloatArray, *, pull: float | None = None
    ) -> PairLoss:
        """Return the loss for squared distances of the pairs; `pull` replaces ``1 - push``."""
        pull = 1 - self.push if pull is None else pull
        hinges, target_derivatives, impostor_derivatives = _loops.group_hinges(
            targets,
            self.targets.indptr,
            impostors,
            self.impostors.indptr,
            self.weights,
            pull,
            self.push,
            self.margin,
            self.smoothing,
            n_jobs=self.n_jobs,
        )
        pulled = float(self._target_weights @ targets) if pull else 0.0
        value = pull * pulled + self.push * float(self.weights @ hinges)
        return PairLoss(value, target_derivatives, impostor_derivatives)

    @cached_property
    def _target_weights(self) -> FloatArray:
        """The weight of the group of each target pair."""
        return np.repeat(self.weights, np.diff(self.targets.indptr))

    def lagrangian(self, loss: PairLoss, targets: FloatArray, impostors: FloatArray) -> float:
        """Return ``margin Σλ + ⟨P + Q, M⟩`` for the derivatives λ of the hinges."""
        value = loss.targets @ targets + loss.impostors @ impostors
        return float(value) - self.margin * float(loss.impostors.sum())

    def laplacian_product(self, Z: Array, loss: PairLoss) -> Array:
        """Return ``ΛZ``, half the gradient in Z; Λ is the graph Laplacian of the derivatives."""
        n = len(Z)
        parts = [
            (self.targets.incidence(n), loss.targets),
            (self.impostors.incidence(n), loss.impostors),
        ]
        return _loops.laplacian_product(Z, parts, n_jobs=self.n_jobs)

    def lower_bound(self, penalty: QuadraticPenalty | None = None) -> LowerBound:
        """Return the function that bounds this objective, plus a `penalty`, over all metrics."""
        return LargeMarginBound(self, self.pull_gradient(), penalty)

    def pull_gradient(self) -> Array:
        """Return the gradient of the pull with respect to M, which is the same for every M."""
        targets = self._target_weights * (1 - self.push)
        return self.gradient_in_matrix(PairLoss(0.0, targets, np.zeros(len(self.impostors))))

    def gradient_in_matrix(self, loss: PairLoss) -> Array:
        """Return the gradient in M: ``Σ derivative (x_a - x_b)(x_a - x_b)ᵀ`` over the pairs."""
        product = self.laplacian_product(self.X, loss)
        gradient = gradient_in_components(product, self.X, self.n_jobs) / 2
        return np.asarray((gradient + gradient.T) / 2)


class DualBound(NamedTuple):
    """A lower bound from the dual problem.

    Attributes
    ----------
    dual_value : float
        The dual objective at dual variables that need not be feasible.
    lower_bound : float
        The dual objective after scaling them by the largest s ≤ 1 that makes them feasible.
    """

    dual_value: float
    lower_bound: float


class LowerBound(Protocol):
    """Bounds an objective from squared distances, over all metrics."""

    def __call__(self, objective: Any, targets: FloatArray, impostors: FloatArray) -> DualBound:
        """Return the bound from the derivatives of the hinges at these squared distances."""

    def descent_rows(
        self, objective: Any, targets: FloatArray, impostors: FloatArray, L: Array
    ) -> tuple[list[Array], float]:
        """Return rows R with ``RᵀR = [-G]₊`` for the gradient G in M, and the pull of them all.

        There is an R for every metric.
        """


class QuadraticPenalty(NamedTuple):
    """The penalty ``strength/2 ‖M - centre‖²``, or the sum of those of several M.

    Attributes
    ----------
    centre : array of shape (n_features, n_features)
    strength : float, or array of shape (n_metrics, 1, 1)
    """

    centre: Array
    strength: Any

    def value(self, M: Array) -> float:
        """Return the penalty of M, of shape (..., n_features, n_features)."""
        return float((self.strength / 2 * np.square(M - self.centre)).sum())

    def gradient(self, M: Array) -> Array:
        """Return its gradient with respect to M."""
        return np.asarray(self.strength * (M - self.centre))

    def minimum_plus_linear(self, G: Array) -> float:
        """Return the minimum of ``⟨G, M⟩`` plus the penalty over positive semidefinite M."""
        eigenvalues = np.linalg.eigvalsh(self.centre - G / self.strength)
        positive = np.square(np.maximum(eigenvalues, 0)).sum(axis=-1)
        free = self.strength / 2 * (np.square(self.centre).sum() - positive[..., None, None])
        return float(free.sum())

    def bound(self, dual_value: float, pull: Array, Q: Array) -> DualBound:
        """Return the bound for dual variables with this value, P and Q.

        Any multiple s ≤ 1 of them is feasible: a penalised Lagrangian is bounded below.
        """

        def bound(s: float) -> float:
            return s * dual_value + self.minimum_plus_linear(pull + s * Q)

        unscaled = bound(1.0)
        best = minimize_scalar(
            lambda s: -bound(s), bounds=(0.0, 1.0), method="bounded", options={"maxiter": 12}
        )
        return DualBound(unscaled, max(unscaled, -float(best.fun)))


class LargeMarginBound:
    r"""Lower bounds on the LMNN objective over all metrics, from derivatives of smoothed hinges.

    For dual variables λ between 0 and μ, one per triplet, the objective is at least
    ``margin Σλ + ⟨P + Q, M⟩``, with P the gradient of the pull in M and ``Q = Σ λ (C_ij - C_il)``.
    If P + sQ is positive semidefinite, ``s · margin Σλ`` is a lower bound for every metric.

    Parameters
    ----------
    objective : LargeMargin or TorchLargeMargin
        Whose rows are used.
    pull : array of shape (n_features, n_features)
        P.
    penalty : QuadraticPenalty or None
        What is added to the objective.
    """

    def __init__(
        self, objective: Any, pull: Array, penalty: QuadraticPenalty | None = None
    ) -> None:
        self.pull = pull
        self.penalty = penalty
        self._pair_sqdist = objective.pair_sqdist
        values, vectors = eigh(pull)
        in_range = values > _RANK_TOLERANCE * max(float(values[-1]), 0.0) * len(values)
        self._pull_whitening = vectors[:, in_range] / np.sqrt(values[in_range])
        self._null_space = vectors[:, ~in_range]
        self._null_coordinates = objective.map_rows(self._null_space.T)
        self._null_tolerance = _NULL_SPACE_TOLERANCE * objective.mean_square()

    def __call__(
        self, objective: LargeMargin, targets: FloatArray, impostors: FloatArray
    ) -> DualBound:
        """Return the bound from the derivatives of the hinges at these squared distances."""
        dual_value, Q = self._push(objective, targets, impostors)
        if self.penalty is not None:
            return self.penalty.bound(dual_value, self.pull, Q)
        return scaled_to_feasible(dual_value, self.min_eigenvalue(Q))

    def descent_rows(
        self, objective: LargeMargin, targets: FloatArray, impostors: FloatArray, L: Array
    ) -> tuple[list[Array], float]:
        """Return rows R with ``RᵀR = [-G]₊`` for the gradient G in M, and their pull."""
        _, Q = self._push(objective, targets, impostors)
        if self.penalty is not None:
            rows = negative_part(self.pull + Q + self.penalty.gradient(L.T @ L))
        else:
            rows = self.negative_part(Q)
        return [rows], self.pull_of(rows)

    def _push(
        self, objective: LargeMargin, targets: FloatArray, impostors: FloatArray
    ) -> tuple[float, Array]:
        """Return ``margin Σλ`` and Q."""
        if self.penalty is None and self.has_null_space:
            pairs = objective.impostors
            kept = self.in_pull_range(pairs.rows, pairs.cols)
            objective, impostors = replace(objective, impostors=pairs.select(kept)), impostors[kept]
        push = objective.loss(targets, impostors, pull=0.0)
        return -objective.margin * float(push.impostors.sum()), objective.gradient_in_matrix(push)

    @property
    def has_null_space(self) -> bool:
        """Whether there are directions without pull."""
        return bool(self._null_space.shape[1])

    def min_eigenvalue(self, Q: Array) -> float:
        """Return the smallest generalised eigenvalue of Q relative to P, in the range of P."""
        if not self._pull_whitening.shape[1]:
            return 0.0
        whitened = self._pull_whitening.T @ Q @ self._pull_whitening
        return float(eigh(whitened, eigvals_only=True)[0])

    def negative_part(self, Q: Array) -> Array:
        """Return R with ``RᵀR = [-(P + Q)]₊``, in coordinates in which P is the identity."""
        return negative_part(self.pull + Q, self._pull_whitening)

    def pull_of(self, rows: Array) -> float:
        """Return ``⟨P, RᵀR⟩``."""
        return float(np.vdot(rows @ self.pull, rows))

    def in_pull_range(self, rows: IndexArray, cols: IndexArray) -> BoolArray:
        """Return which pairs do not differ in the null space of P.

        The other impostors can be pushed away at no cost and contribute nothing to the bound. If
        they were kept, P + sQ would be indefinite in the null space of P for every s > 0.
        """
        if not self.has_null_space:
            return np.ones(len(rows), dtype=bool)
        sqdist = self._pair_sqdist(self._null_coordinates, rows, cols)
        inside: BoolArray = sqdist <= self._null_tolerance
        return inside


def negative_part(G: Array, axes: Array | None = None) -> Array:
    """Return rows R with ``RᵀR = axes [-axesᵀ G axes]₊ axesᵀ``; without axes, ``[-G]₊``."""
    values, vectors = eigh(G if axes is None else axes.T @ G @ axes)
    negative = values < 0
    directions = vectors[:, negative] if axes is None else axes @ vectors[:, negative]
    return np.asarray(np.sqrt(-values[negative])[:, None] * directions.T)


def scaled_to_feasible(dual_value: float, min_eigenvalue: float) -> DualBound:
    """Scale dual variables by the largest s ≤ 1 for which P + sQ is positive semidefinite.

    `min_eigenvalue` is the smallest generalised eigenvalue of Q relative to P.
    """
    feasible = min_eigenvalue >= -1
    return DualBound(dual_value, dual_value if feasible else dual_value / -min_eigenvalue)
