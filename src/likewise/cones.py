"""What a metric may be: convex cones of symmetric matrices, each with its projection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import nnls

from likewise._runtime.arrays import Array
from likewise._runtime.threads import single_threaded_blas
from likewise.metric import nearest_psd


class Cone(Protocol):
    """A closed convex cone K of symmetric matrices."""

    def project(self, matrix: Array) -> Array:
        """Return the point of K nearest to `matrix` in the Frobenius norm."""
        ...


class SmoothCone(Cone, Protocol):
    """A cone whose projection has a slope almost everywhere, given matrix by matrix."""

    def face(self, matrix: Array) -> ProjectionJacobian:
        """Return the projection of a symmetric `matrix` with its slope there."""
        ...


@dataclass(frozen=True, eq=False)
class ProjectionJacobian:
    """A projected matrix, and the slope of the projection there.

    In an orthonormal basis the slope multiplies entry (i, j) of a symmetric matrix by a factor
    between 0 and 1. The coordinates of ``vvᵀ`` are its entries times the root of that factor,
    so that their inner products are those of the matrices, seen through the slope.

    Attributes
    ----------
    point : array of shape (n_features, n_features)
        The projection itself.
    basis : array of shape (n_features, n_features) or None
        Columns; None for the unit vectors.
    roots : array of shape (n_features, n_features) or None
        Square roots of the factors; None if all are 1.
    hidden : int
        Products of two of the first so many basis vectors have factor 0, and no coordinate.
    """

    point: Array
    basis: Array | None = None
    roots: Array | None = None
    hidden: int = 0

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        d = len(self.point)
        return d * (d + 1) // 2 - self.hidden * (self.hidden + 1) // 2

    def of(self, differences: Array) -> Array:
        """Return one row of coordinates of vvᵀ for each row v.

        Off-diagonal entries stand twice in a matrix, hence their factor √2.
        """
        V = differences if self.basis is None else differences @ self.basis
        n, d = V.shape
        found = np.empty((n, self.size))
        place = 0
        for i in range(d):
            first = max(i, self.hidden)
            entries = found[:, place : place + d - first]
            np.multiply(V[:, i, None], V[:, first:], out=entries)
            factors = np.full(d - first, np.sqrt(2.0))
            if first == i:
                factors[0] = 1.0
            if self.roots is not None:
                factors *= self.roots[i, first:]
            entries *= factors
            place += d - first
        return found


@dataclass(frozen=True)
class Symmetric:
    """All symmetric matrices: the projection drops the antisymmetric part."""

    def project(self, matrix: Array) -> Array:
        """Return ``(A + Aᵀ)/2``."""
        return (matrix + matrix.T) / 2

    def face(self, matrix: Array) -> ProjectionJacobian:
        """Return the matrix itself: the slope is 1 everywhere."""
        return ProjectionJacobian(self.project(matrix))


@dataclass(frozen=True)
class PSD:
    """Positive semi-definite matrices: the metrics.

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

    def face(self, matrix: Array) -> ProjectionJacobian:
        """Clip the eigenvalues λ at zero.

        In the eigenbasis the slope's factor at (i, j) is ``(λᵢ⁺ - λⱼ⁺)/(λᵢ - λⱼ)``: 1 for two
        positive eigenvalues, 0 for two others.
        """
        with single_threaded_blas():
            values, vectors = eigh((matrix + matrix.T) / 2)
            clipped = np.maximum(values, 0)
            hidden = int(np.count_nonzero(values <= 0))
            kept = vectors[:, hidden:]
            point = (kept * clipped[hidden:]) @ kept.T
        factors = np.ones((len(values), len(values)))
        factors[:hidden, :hidden] = 0
        between = values[hidden:] / (values[hidden:] - values[:hidden, None])
        factors[:hidden, hidden:] = between
        factors[hidden:, :hidden] = between.T
        return ProjectionJacobian((point + point.T) / 2, vectors, np.sqrt(factors), hidden)


@dataclass(frozen=True, eq=False)
class ConicHull:
    """Sums ``Σ αₗ vₗvₗᵀ`` with ``α ≥ 0`` of the outer products of given vectors.

    Parameters
    ----------
    directions : array of shape (n_vectors, n_features)
        The vectors v, one per row.
    """

    directions: Array

    @property
    def space(self) -> Symmetric:
        """What the hull lies in."""
        return Symmetric()

    def weights(self, matrix: Array) -> Array:
        """Return the α of the nearest point, by non-negative least squares.

        The problem has one row per entry of the upper triangle; off-diagonal entries count
        twice in the Frobenius norm, hence the factor √2.
        """
        symmetric = (matrix + matrix.T) / 2
        rows, columns = np.triu_indices(len(symmetric))
        count = np.where(rows == columns, 1.0, np.sqrt(2.0))
        generators = (self.directions[:, rows] * self.directions[:, columns] * count).T
        target = symmetric[rows, columns] * count
        # Of unit length, since some releases of SciPy take small numbers for zero.
        lengths = np.linalg.norm(generators, axis=0)
        lengths = np.where(lengths > 0, lengths, 1)
        scale = np.linalg.norm(target) or 1.0
        return np.asarray(nnls(generators / lengths, target / scale)[0] / lengths * scale)

    def project(self, matrix: Array) -> Array:
        """Return the nearest non-negative combination of the generators."""
        nearest = (self.directions.T * self.weights(matrix)) @ self.directions
        return np.asarray((nearest + nearest.T) / 2)
