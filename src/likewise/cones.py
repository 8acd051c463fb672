"""What a metric may be: convex cones of symmetric matrices, each with its projection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from likewise.metric import nearest_psd

Array = NDArray[Any]


class Cone(Protocol):
    """A closed convex cone K of symmetric matrices."""

    def project(self, matrix: Array) -> Array:
        """Return the point of K nearest to `matrix` in the Frobenius norm."""
        ...


@dataclass(frozen=True)
class Symmetric:
    """All symmetric matrices: the projection drops the antisymmetric part."""

    def project(self, matrix: Array) -> Array:
        """Return ``(A + Aᵀ)/2``."""
        return (matrix + matrix.T) / 2


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
