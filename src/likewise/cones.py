"""Convex cones of symmetric matrices: what a metric may be, and the solver that keeps it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import nnls

from likewise._runtime.arrays import Array, FloatArray
from likewise._runtime.threads import single_threaded_blas
from likewise.metric import nearest_psd
from likewise.solvers import Solution, Watcher
from likewise.solvers.margin import (
    MarginObjective,
    ProjectionJacobian,
    conic_interior_point,
    interior_point,
)


class Cone(Protocol):
    """A closed convex cone of symmetric matrices."""

    def project(self, matrix: Array) -> Array:
        """Return the member of the cone nearest to `matrix` in the Frobenius norm."""
        ...

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

    def project_with_jacobian(self, matrix: FloatArray) -> ProjectionJacobian:
        """Return the projection of a symmetric matrix, with its Jacobian."""
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
            self.project_with_jacobian,
            start,
            max_iter=max_iter,
            tol=tol,
            watcher=watcher,
        )


@dataclass(frozen=True)
class Symmetric(_ByProjection):
    """All symmetric matrices."""

    def project(self, matrix: Array) -> Array:
        """Return ``(A + Aᵀ)/2``."""
        return (matrix + matrix.T) / 2

    def project_with_jacobian(self, matrix: FloatArray) -> ProjectionJacobian:
        """Return the matrix itself; the Jacobian is the identity."""
        return ProjectionJacobian(self.project(matrix))


@dataclass(frozen=True)
class PSD(_ByProjection):
    """Positive semidefinite matrices.

    Examples
    --------
    >>> import numpy as np
    >>> PSD().project(np.diag([1.0, -3.0]))
    array([[1., 0.],
           [0., 0.]])
    """

    def project(self, matrix: Array) -> Array:
        """Clip the eigenvalues at zero."""
        return nearest_psd(matrix)

    def project_with_jacobian(self, matrix: FloatArray) -> ProjectionJacobian:
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


@dataclass(frozen=True, eq=False)
class ConicHull:
    """Sums ``Σ αₗ vₗvₗᵀ`` with ``α ≥ 0`` of the outer products of given vectors.

    Parameters
    ----------
    directions : array of shape (n_vectors, n_features)
        The vectors v, one per row.
    """

    directions: Array

    def weights(self, matrix: Array) -> Array:
        """Return the α of the projection, by non-negative least squares.

        The problem has one row per entry of the upper triangle. Off-diagonal entries count twice
        in the Frobenius norm, hence the factor √2.
        """
        symmetric = (matrix + matrix.T) / 2
        rows, columns = np.triu_indices(len(symmetric))
        count = np.where(rows == columns, 1.0, np.sqrt(2.0))
        generators = (self.directions[:, rows] * self.directions[:, columns] * count).T
        target = symmetric[rows, columns] * count
        # Normalised, since some releases of SciPy treat small numbers as zero.
        norms = np.linalg.norm(generators, axis=0)
        norms = np.where(norms > 0, norms, 1)
        scale = np.linalg.norm(target) or 1.0
        return np.asarray(nnls(generators / norms, target / scale)[0] / norms * scale)

    def project(self, matrix: Array) -> Array:
        """Return the nearest non-negative combination of the generators."""
        nearest = (self.directions.T * self.weights(matrix)) @ self.directions
        return np.asarray((nearest + nearest.T) / 2)

    def minimise(
        self,
        problem: MarginObjective,
        start: FloatArray | None = None,
        *,
        max_iter: int,
        tol: float,
        watcher: Watcher | None = None,
    ) -> Solution:
        """Minimise a margin problem whose constraint matrices are the generators, see `Cone`."""
        if len(problem.matrices) != len(self.directions):
            raise ValueError(
                f"The problem has {len(problem.matrices)} constraints and the hull "
                f"{len(self.directions)} directions, but the hull must be that of the constraints."
            )
        return conic_interior_point(problem, start, max_iter=max_iter, tol=tol, watcher=watcher)
