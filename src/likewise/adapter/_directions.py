"""Directions that separate classes or clusters: the families of maps to choose from.

Each function returns F, scaled so that the mean of ``‖F(x - mean)‖²`` over the rows is 1.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.linalg import cholesky, solve_triangular, svd

from likewise._runtime.arrays import Array, FloatArray, IndexArray

# Of the covariance within classes towards a multiple of the identity. From labelled rows alone it
# is estimated badly; from all rows well. Both values are near the best on text and on images.
_SHRINKAGE_LABELLED = 0.6
_SHRINKAGE_ALL = 0.03
_SELF_TRAINING_STEPS = 5
_CLUSTERING_STEPS = 12
_RELATIVE_RANK = 1e-6
_ROWS_PER_CLUSTER = 5


def scaled(F: FloatArray, covariance: FloatArray) -> FloatArray | None:
    """Return F with mean squared images of 1; None if it maps the rows to 0."""
    spread = float(np.einsum("ij,ij->", F @ covariance, F))
    return F / np.sqrt(spread) if np.isfinite(spread) and spread > 0 else None


class Space(Protocol):
    """Rows under the metric ``I / s + 2 FᵀF``, compared by cosine."""

    def means(self, assigned: Any, n_classes: int) -> Array:
        """Return the sums of the assigned rows of each class, scaled to length 1."""
        ...

    def assign(self, centres: Array) -> Any:
        """Return the centre of largest cosine for each row; labelled rows keep their class."""
        ...


class GroupedRows(Protocol):
    """Centred rows that are assigned to classes or clusters: in memory, or in blocks.

    An assignment is what `Space.assign` returns; only the rows know what it is.
    """

    @property
    def labelled(self) -> Any:
        """The assignment of the rows that have a class, and of no others."""
        ...

    def __len__(self) -> int: ...

    def take(self, numbers: IndexArray) -> Array:
        """Return a few rows by their numbers."""
        ...

    def space(self, F: FloatArray, scale: float) -> Space:
        """Return the rows under the metric of the directions F."""
        ...

    def class_means(self, assigned: Any, n_classes: int) -> tuple[FloatArray, IndexArray]:
        """Return the mean and the number of the rows that are assigned to each class."""
        ...

    def class_scatter(self, n_classes: int) -> tuple[FloatArray, IndexArray, FloatArray]:
        """Return means and numbers of labelled rows, in float64, and the scatter about them."""
        ...


def discriminants(rows: GroupedRows, n_classes: int, covariance: FloatArray) -> FloatArray | None:
    """Return Fisher's discriminants of labelled rows, with a heavily shrunk within-class scatter.

    Parameters
    ----------
    rows : GroupedRows
        Rows less the mean of all rows.
    n_classes : int
        Each with a row.
    covariance : array of shape (n_features, n_features)
        Of all rows.
    """
    means, counts, scatter = rows.class_scatter(n_classes)
    within = scatter / max(int(counts.sum()) - n_classes, 1)
    return _fisher(means, counts, within, _SHRINKAGE_LABELLED, covariance)


def self_trained_discriminants(
    start: FloatArray, rows: GroupedRows, n_classes: int, covariance: FloatArray
) -> FloatArray | None:
    """Return discriminants of all rows: unlabelled ones get the class of the closest mean.

    Labelled rows keep their class. Assignment by cosine and discriminants alternate, from the
    directions `start`. The scatter within classes is that of all rows less that between the
    classes, so that a step takes no product of rows with themselves.
    """
    F: FloatArray | None = start
    assigned, scale = rows.labelled, float(np.trace(covariance))
    for _ in range(_SELF_TRAINING_STEPS):
        if F is None:
            return None
        space = rows.space(F, scale)
        assigned = space.assign(space.means(assigned, n_classes))
        F = between_classes(*rows.class_means(assigned, n_classes), covariance)
    return F


def cluster_discriminants(
    start: FloatArray,
    rows: GroupedRows,
    covariance: FloatArray,
    n_clusters: int,
    rng: np.random.Generator,
) -> FloatArray | None:
    """Return the discriminants of clusters, found by spherical k-means under ``I + 2 FᵀF``.

    There are fewer clusters where rows are few.
    """
    n_clusters = min(n_clusters, len(rows) // _ROWS_PER_CLUSTER)
    if n_clusters < 2:
        return None
    space = rows.space(start, float(np.trace(covariance)))
    assigned = space.assign(rows.take(rng.choice(len(rows), n_clusters, replace=False)))
    for _ in range(_CLUSTERING_STEPS - 1):
        assigned = space.assign(space.means(assigned, n_clusters))
    means, counts = rows.class_means(assigned, n_clusters)
    used = counts > 0
    return between_classes(means[used], counts[used], covariance) if used.sum() > 1 else None


def between_classes(
    means: FloatArray, counts: IndexArray, covariance: FloatArray
) -> FloatArray | None:
    """Return the discriminants of classes of all rows, whose covariance is known."""
    shares = counts / counts.sum()
    offsets = np.sqrt(shares)[:, None] * (means - shares @ means)
    within = covariance - offsets.T @ offsets
    return _fisher(means, counts, within, _SHRINKAGE_ALL, covariance)


def _fisher(
    means: FloatArray,
    counts: IndexArray,
    within: FloatArray,
    shrinkage: float,
    covariance: FloatArray,
) -> FloatArray | None:
    """Return the directions that maximise the spread of means relative to that within classes."""
    shares = counts / counts.sum()
    offsets = np.sqrt(shares)[:, None] * (means - shares @ means)
    d = len(within)
    average = float(np.trace(within)) / d
    if not average > 0:
        return None
    shrunk = (1 - shrinkage) * within
    shrunk[np.diag_indices(d)] += shrinkage * average
    root = cholesky(shrunk, lower=True)
    whitened = solve_triangular(root, offsets.T, lower=True)
    vectors, values, _ = svd(whitened, full_matrices=False)
    kept = values > _RELATIVE_RANK * values[0]
    F = solve_triangular(root, vectors[:, kept], lower=True, trans="T").T
    return scaled(F, covariance)
