"""What the margin solvers take: a problem, its constraint operator, and a projection on a cone.

The unknown is a symmetric matrix M. Constraint l has a symmetric matrix Xₗ and a sign hₗ. A solver
sees the constraints only as the linear map ``M ↦ ⟨M, Xₗ⟩`` and its adjoint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self, TypeAlias

import numpy as np

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise.losses import DualLoss


@dataclass(frozen=True, eq=False)
class ProjectionJacobian:
    """The projection of a matrix on a cone, with the Jacobian of the projection there.

    In an orthonormal basis the Jacobian multiplies entry (i, j) of a symmetric matrix by a factor
    between 0 and 1. `coordinates` multiplies the entries of ``vvᵀ`` by the square roots of these
    factors, so that inner products of coordinates are ``⟨J(uuᵀ), vvᵀ⟩``.

    Attributes
    ----------
    projection : array of shape (n_features, n_features)
        The projected matrix.
    basis : array of shape (n_features, n_features) or None
        The basis, one column per vector; None for the unit vectors.
    sqrt_factors : array of shape (n_features, n_features) or None
        Square roots of the factors; None if all factors are 1.
    n_nonpositive : int
        The factors of the first `n_nonpositive` rows and columns are 0. These entries have no
        coordinate.
    """

    projection: FloatArray
    basis: FloatArray | None = None
    sqrt_factors: FloatArray | None = None
    n_nonpositive: int = 0

    @property
    def is_identity(self) -> bool:
        """Whether the Jacobian is the identity, as it is for all symmetric matrices."""
        return self.basis is None

    @property
    def n_coordinates(self) -> int:
        """The number of coordinates of one matrix."""
        d = len(self.projection)
        return d * (d + 1) // 2 - self.n_nonpositive * (self.n_nonpositive + 1) // 2

    def apply(self, matrix: FloatArray) -> FloatArray:
        """Return the Jacobian's image of a symmetric matrix."""
        if self.basis is None or self.sqrt_factors is None:
            return matrix
        rotated = self.basis.T @ matrix @ self.basis
        return np.asarray(self.basis @ (np.square(self.sqrt_factors) * rotated) @ self.basis.T)

    def coordinates(self, vectors: FloatArray) -> FloatArray:
        """Return the coordinates of vvᵀ, one row for each row v of `vectors`.

        An off-diagonal entry occurs twice in a symmetric matrix, hence its factor √2.
        """
        V = vectors if self.basis is None else vectors @ self.basis
        n, d = V.shape
        coordinates = np.empty((n, self.n_coordinates))
        start = 0
        for i in range(d):
            first = max(i, self.n_nonpositive)
            entries = coordinates[:, start : start + d - first]
            np.multiply(V[:, i, None], V[:, first:], out=entries)
            factors = np.full(d - first, np.sqrt(2.0))
            if first == i:
                factors[0] = 1.0
            if self.sqrt_factors is not None:
                factors *= self.sqrt_factors[i, first:]
            entries *= factors
            start += d - first
        return coordinates


ProjectionWithJacobian: TypeAlias = Callable[[FloatArray], ProjectionJacobian]
"""Projects a symmetric matrix on a cone and returns the Jacobian, too."""


class CoordinateSweeps(Protocol):
    """Exact minimisation over one multiplier after the other, with M updated at each step."""

    squared_norms: FloatArray  # ‖Xₗ‖² of every constraint

    def working_copy(self, M: FloatArray) -> FloatArray:
        """Return a copy of M in the layout that `sweep` updates."""
        ...

    def sweep(
        self,
        M: FloatArray,
        sign: FloatArray,
        multipliers: FloatArray,
        gradient: FloatArray,
        order: IndexArray,
        *,
        b: float,
        upper_bound: float = np.inf,
        curvature: float = 0.0,
        penalty: float = 0.0,
    ) -> float:
        """Visit the constraints in `order` once, and return the new b.

        Parameters
        ----------
        M : array
            A working copy; updated, as are `multipliers` and `gradient`.
        sign : array of shape (n_constraints,)
            The h of ``h(⟨M, X⟩ + b) >= 1``.
        multipliers, gradient : arrays of shape (n_constraints,)
            The λ, and the gradient of the negative dual objective at the constraints visited.
        order : int array
            The constraints to visit.
        b : float
            The intercept.
        upper_bound : float
            The largest λ allowed.
        curvature : float
            The second derivative of the loss's conjugate term in λ.
        penalty : float
            The weight of ``½(Σ λh)²``; b is its derivative.
        """
        ...


class ConstraintOperator(Protocol):
    """The linear map ``M ↦ (⟨M, Xₗ⟩)ₗ`` of the constraints, its adjoint and inner products."""

    @property
    def sign(self) -> FloatArray:
        """The h of each constraint: ``h(⟨M, X⟩ + b) >= 1`` is wanted."""
        ...

    @property
    def n_jobs(self) -> int | None:
        """The number of threads; None for all cores."""
        ...

    @property
    def n_features(self) -> int:
        """The number of rows of M."""
        ...

    @property
    def n_entries(self) -> int:
        """The number of free entries of a symmetric matrix: ``n_features (n_features + 1)/2``."""
        ...

    @property
    def has_intercept(self) -> bool:
        """Whether b is free; it is 0 otherwise."""
        ...

    def __len__(self) -> int:
        """Return the number of constraints."""
        ...

    def subset(self, chosen: IndexArray) -> Self:
        """Return the operator of the chosen constraints."""
        ...

    def inner(self, M: FloatArray) -> FloatArray:
        """Return ``⟨M, Xₗ⟩`` for every constraint."""
        ...

    def combine(self, weights: FloatArray) -> FloatArray:
        """Return ``Σ weights[l] Xₗ``."""
        ...

    def coordinates(self, jacobian: ProjectionJacobian, chosen: IndexArray) -> FloatArray:
        """Return the coordinates of the chosen Xₗ under a Jacobian, one row per constraint."""
        ...

    def gram(self, chosen: IndexArray) -> FloatArray:
        """Return the inner products of the chosen Xₗ with each other."""
        ...

    def coordinate_sweeps(self) -> CoordinateSweeps:
        """Return what coordinate ascent on the multipliers needs."""
        ...


class MarginObjective(Protocol):
    """``½‖M‖² + C Σ loss(1 - h(⟨M, X⟩ + b))`` and the dual objective in the multipliers λ.

    `likewise.objectives.MarginProblem` is the implementation.
    """

    @property
    def matrices(self) -> ConstraintOperator:
        """The constraints."""
        ...

    @property
    def loss(self) -> DualLoss:
        """The loss of a violation."""
        ...

    @property
    def C(self) -> float:  # noqa: N802
        """The weight of the sum of losses."""
        ...

    def subset(self, chosen: IndexArray) -> Self:
        """Return the problem with the chosen constraints only."""
        ...

    def intercept(self, q: FloatArray, sign: FloatArray | None = None) -> float:
        """Return the best b for given ``q = ⟨M, X⟩``."""
        ...

    def primal(self, M: FloatArray, q: FloatArray, b: float) -> float:
        """Return the primal objective."""
        ...

    def dual(self, multipliers: FloatArray, M: FloatArray) -> float:
        """Return the dual objective, with ``M = P(A(λ))``."""
        ...

    def balanced(self, multipliers: FloatArray) -> FloatArray:
        """Return multipliers with ``Σ λh = 0``, none larger than before."""
        ...
