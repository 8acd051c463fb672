"""Convex cones of symmetric matrices: what a metric may be, and the solver that keeps it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import eigh

from likewise._runtime.arrays import FloatArray
from likewise._runtime.threads import single_threaded_blas
from likewise.solvers import Solution, Watcher
from likewise.solvers.margin import (
    MarginObjective,
    ProjectionJacobian,
    conic_interior_point,
    interior_point,
)


class Cone(Protocol):
    """A closed convex cone of symmetric matrices."""

    def minimise(
        self,
        problem: MarginObjective,
        start: FloatArray | None = None,
        *,
        max_iter: int,
        tol: float,
        watcher: Watcher | None = None,
    ) -> Solution:
        """Minimise a margin problem over the cone by the solver that suits it.

        Parameters
        ----------
        problem : MarginProblem
            Constraints, loss and C.
        start : array of shape (n_constraints,), optional
            Multipliers of a similar problem.
        max_iter : int
            The maximum number of steps.
        tol : float
            The relative duality gap to reach.
        watcher : callable, optional
            Called with an `Iteration` after each step; returns True to stop.

        Returns
        -------
        Solution
            ``x`` is M.
        """
        ...


class _ByProjection:
    """A cone whose projection has a Jacobian: Newton's method goes through the projection."""

    def project(self, matrix: FloatArray) -> ProjectionJacobian:
        """Return the nearest member in the Frobenius norm, with the projection's Jacobian."""
        raise NotImplementedError

    def minimise(
        self,
        problem: MarginObjective,
        start: FloatArray | None = None,
        *,
        max_iter: int,
        tol: float,
        watcher: Watcher | None = None,
    ) -> Solution:
        """Minimise a margin problem over the cone, see `Cone`."""
        return interior_point(
            problem,
            self.project,
            start,
            max_iter=max_iter,
            tol=tol,
            watcher=watcher,
        )


@dataclass(frozen=True)
class Symmetric(_ByProjection):
    """All symmetric matrices."""

    def project(self, matrix: FloatArray) -> ProjectionJacobian:
        """Return ``(A + Aᵀ)/2``; the Jacobian is the identity."""
        return ProjectionJacobian((matrix + matrix.T) / 2)


@dataclass(frozen=True)
class PSD(_ByProjection):
    """Positive semidefinite matrices.

    Examples
    --------
    >>> import numpy as np
    >>> PSD().project(np.diag([1.0, -3.0])).projection
    array([[1., 0.],
           [0., 0.]])
    """

    def project(self, matrix: FloatArray) -> ProjectionJacobian:
        """Clip the eigenvalues λ at zero.

        In the eigenbasis the Jacobian's factor at (i, j) is ``(λᵢ⁺ - λⱼ⁺)/(λᵢ - λⱼ)``: 1 for two
        positive eigenvalues, 0 for two nonpositive ones.
        """
        with single_threaded_blas():
            values, vectors = eigh((matrix + matrix.T) / 2)
            clipped = np.maximum(values, 0)
            n_nonpositive = int(np.count_nonzero(values <= 0))
            kept = vectors[:, n_nonpositive:]
            projection = (kept * clipped[n_nonpositive:]) @ kept.T
        nonpositive, positive = slice(None, n_nonpositive), slice(n_nonpositive, None)
        factors = np.ones((len(values), len(values)))
        factors[nonpositive, nonpositive] = 0
        mixed = values[positive] / (values[positive] - values[nonpositive, None])
        factors[nonpositive, positive] = mixed
        factors[positive, nonpositive] = mixed.T
        return ProjectionJacobian(
            (projection + projection.T) / 2, vectors, np.sqrt(factors), n_nonpositive
        )


@dataclass(frozen=True)
class ConicHull:
    """Sums ``Σ αₗXₗ`` with ``α ≥ 0`` of the problem's own constraint matrices, which are of pairs.

    ``Xₗ = vₗvₗᵀ``, so that the members are positive semidefinite.
    """

    def minimise(
        self,
        problem: MarginObjective,
        start: FloatArray | None = None,
        *,
        max_iter: int,
        tol: float,
        watcher: Watcher | None = None,
    ) -> Solution:
        """Minimise a margin problem over the cone, see `Cone`."""
        return conic_interior_point(problem, start, max_iter=max_iter, tol=tol, watcher=watcher)
