"""The projection on a conic hull of outer products, by SciPy's non-negative least squares."""

import numpy as np
from scipy.optimize import nnls


def hull_weights(matrix, directions):
    """Return the α ≥ 0 for which ``Σ αₗ vₗvₗᵀ`` is nearest to a matrix.

    The problem has one row per entry of the upper triangle. Off-diagonal entries count twice in the
    Frobenius norm, hence the factor √2.
    """
    symmetric = (matrix + matrix.T) / 2
    rows, columns = np.triu_indices(len(symmetric))
    count = np.where(rows == columns, 1.0, np.sqrt(2.0))
    generators = (directions[:, rows] * directions[:, columns] * count).T
    target = symmetric[rows, columns] * count
    # Normalised, since some releases of SciPy treat small numbers as zero.
    norms = np.linalg.norm(generators, axis=0)
    norms = np.where(norms > 0, norms, 1)
    scale = np.linalg.norm(target) or 1.0
    return nnls(generators / norms, target / scale)[0] / norms * scale


def project_on_hull(matrix, directions):
    """Return the nearest non-negative combination of the outer products."""
    nearest = (directions.T * hull_weights(matrix, directions)) @ directions
    return (nearest + nearest.T) / 2
