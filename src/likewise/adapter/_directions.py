"""Directions that separate classes or clusters: the families of maps to choose from.

Each function returns F, scaled so that the mean of ``‖F(x - mean)‖²`` over the rows is 1.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, solve_triangular, svd

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise.adapter._lengths import blocks, lengths_of

# Of the covariance within classes towards a multiple of the identity. From labelled rows alone it
# is estimated badly; from all rows well. Both values are near the best on text and on images.
_SHRINKAGE_LABELLED = 0.6
_SHRINKAGE_ALL = 0.03
# What directions count in assigning rows to classes and clusters.
_ASSIGNMENT_WEIGHT = 2.0
_SELF_TRAINING_STEPS = 5
_CLUSTERING_STEPS = 12
_RELATIVE_RANK = 1e-6
_ROWS_PER_CLUSTER = 5


def scaled(F: FloatArray, covariance: FloatArray) -> FloatArray | None:
    """Return F with mean squared images of 1; None if it maps the rows to 0."""
    spread = float(np.einsum("ij,ij->", F @ covariance, F))
    return F / np.sqrt(spread) if np.isfinite(spread) and spread > 0 else None


def discriminants(centred: Array, codes: IndexArray, covariance: FloatArray) -> FloatArray | None:
    """Return Fisher's discriminants of labelled rows, with a heavily shrunk within-class scatter.

    Parameters
    ----------
    centred : array of shape (n_rows, n_features)
        Rows less the mean of all rows.
    codes : int array of shape (n_rows,)
        Their classes, 0…c-1, each with a row.
    covariance : array of shape (n_features, n_features)
        Of all rows.
    """
    rows = centred.astype(np.float64)
    n_classes = int(codes.max()) + 1
    means, counts = _means(rows, codes, n_classes)
    deviations = rows - means[codes]
    within = deviations.T @ deviations / max(len(rows) - n_classes, 1)
    return _fisher(means, counts, within, _SHRINKAGE_LABELLED, covariance)


def self_trained_discriminants(
    start: FloatArray, rows: Array, codes: IndexArray, covariance: FloatArray
) -> FloatArray | None:
    """Return discriminants of all rows: unlabelled ones get the class of the closest mean.

    The first rows are labelled by `codes` and keep their class. Assignment by cosine and
    discriminants alternate, from the directions `start`. The scatter within classes is that of all
    rows less that between the classes, so that a step takes no product of rows with themselves.
    """
    n_labelled, n_classes = len(codes), int(codes.max()) + 1
    F: FloatArray | None = start
    assigned = codes
    for _ in range(_SELF_TRAINING_STEPS):
        if F is None:
            return None
        space = _Space(rows, F, covariance)
        found = space.closest(space.means(assigned, n_classes, len(assigned)))
        assigned = np.concatenate([codes, found[n_labelled:]])
        F = _between_all(rows, assigned, n_classes, covariance)
    return F


def cluster_discriminants(
    start: FloatArray,
    rows: Array,
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
    space = _Space(rows, start, covariance)
    centres = rows[rng.choice(len(rows), n_clusters, replace=False)]
    assigned = space.closest(centres)
    for _ in range(_CLUSTERING_STEPS - 1):
        assigned = space.closest(space.means(assigned, n_clusters, len(rows)))
    used, assigned = np.unique(assigned, return_inverse=True)
    return _between_all(rows, assigned, len(used), covariance) if len(used) > 1 else None


def _between_all(
    rows: Array, codes: IndexArray, n_classes: int, covariance: FloatArray
) -> FloatArray | None:
    """Return the discriminants of classes of all rows, whose covariance is known."""
    means, counts = _means(rows, codes, n_classes)
    shares = counts / counts.sum()
    offsets = np.sqrt(shares)[:, None] * (means - shares @ means)
    within = covariance - offsets.T @ offsets
    return _fisher(means, counts, within, _SHRINKAGE_ALL, covariance)


class _Space:
    """Rows under the metric ``M = I / s + 2 FᵀF``, compared by cosine."""

    def __init__(self, rows: Array, F: FloatArray, covariance: FloatArray) -> None:
        self.rows = rows
        self.F = F.astype(rows.dtype)
        self.scale = float(np.trace(covariance))
        lengths = self._lengths(rows)
        self.inverse_lengths = 1 / np.where(lengths > 0, lengths, 1)

    def means(self, codes: IndexArray, n_classes: int, n_used: int) -> Array:
        """Return the sums of the first rows, scaled to length 1, of each class."""
        entries = (self.inverse_lengths[:n_used], (codes, np.arange(n_used)))
        members = sp.csr_array(entries, shape=(n_classes, n_used))
        return np.asarray(members @ self.rows[:n_used])

    def closest(self, centres: Array) -> IndexArray:
        """Return the centre of largest cosine for each row."""
        lengths = self._lengths(centres)
        # Mc, so that images of all rows need not be in memory.
        mapped = centres / self.scale + _ASSIGNMENT_WEIGHT * (centres @ self.F.T) @ self.F
        mapped /= np.where(lengths > 0, lengths, 1)[:, None]
        return np.concatenate([(rows @ mapped.T).argmax(axis=1) for rows in blocks(self.rows)])

    def _lengths(self, rows: Array) -> Array:
        """Return √(xᵀMx) of each row."""
        of_images = np.concatenate([lengths_of(block @ self.F.T) for block in blocks(rows)])
        squares = lengths_of(rows) ** 2 / self.scale + _ASSIGNMENT_WEIGHT * of_images**2
        return np.asarray(np.sqrt(squares))


def _means(rows: Array, codes: IndexArray, n_classes: int) -> tuple[FloatArray, IndexArray]:
    counts = np.bincount(codes, minlength=n_classes)
    members = sp.csr_array(
        (np.ones(len(codes), dtype=rows.dtype), (codes, np.arange(len(codes)))),
        shape=(n_classes, len(codes)),
    )
    sums = np.asarray(members @ rows, dtype=np.float64)
    return sums / np.maximum(counts, 1)[:, None], counts


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
