"""The dual bound of the LMNN objective, also with a quadratic penalty."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg import eigh

from likewise._runtime.arrays import Array, BoolArray, FloatArray, IndexArray

# Eigenvalues of the pull below this share of the largest, times their number, count as 0.
_RANK_TOLERANCE = 1e-12
# Squared distances in the null space of the pull below this share of the mean ‖x‖² count as 0.
_NULL_SPACE_TOLERANCE = 1e-10


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
        # Imported here because workers of a cluster do not need it.
        from scipy.optimize import minimize_scalar

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

    def __call__(self, objective: Any, targets: FloatArray, impostors: FloatArray) -> DualBound:
        """Return the bound from the derivatives of the hinges at these squared distances."""
        dual_value, Q = self._push(objective, targets, impostors)
        if self.penalty is not None:
            return self.penalty.bound(dual_value, self.pull, Q)
        return scaled_to_feasible(dual_value, self.min_eigenvalue(Q))

    def descent_rows(
        self, objective: Any, targets: FloatArray, impostors: FloatArray, L: Array
    ) -> tuple[list[Array], float]:
        """Return rows R with ``RᵀR = [-G]₊`` for the gradient G in M, and their pull."""
        _, Q = self._push(objective, targets, impostors)
        if self.penalty is not None:
            rows = negative_part(self.pull + Q + self.penalty.gradient(L.T @ L))
        else:
            rows = self.negative_part(Q)
        return [rows], self.pull_of(rows)

    def _push(
        self, objective: Any, targets: FloatArray, impostors: FloatArray
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
