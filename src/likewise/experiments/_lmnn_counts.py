"""Leave-one-out errors and active constraints of one metric, or of one metric per class."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise.constraints import target_neighbors
from likewise.neighbors import vote

_BLOCK_VALUES = 1 << 23  # distances in memory at a time


def distances_by_metric(
    components: Array, X: Array, codes: IndexArray, queries: IndexArray
) -> FloatArray:
    """Return squared distances from some rows to all rows, by the metric of the second one's class.

    Parameters
    ----------
    components : array of shape (n_metrics, n_components, n_features)
        L of each class, or one for all.
    X : array of shape (n_samples, n_features)
        Centred rows.
    codes : int array of shape (n_samples,)
        The class of each row, from 0.
    queries : int array
        The rows to compute the distances of.
    """
    distances = np.empty((len(queries), len(X)), dtype=X.dtype)
    for metric, L in enumerate(components):
        own = np.flatnonzero(codes == metric) if len(components) > 1 else np.arange(len(X))
        A, B = X[queries] @ L.T, X[own] @ L.T
        squares = np.square(A).sum(axis=1)[:, None] + np.square(B).sum(axis=1)
        distances[:, own] = np.maximum(squares - 2 * A @ B.T, 0)
    return distances


def left_out_error(
    components: Array, X: Array, codes: IndexArray, n_neighbors: int, queries: IndexArray
) -> float:
    """Return the share of some rows that all other rows classify wrongly."""
    X = X - X.mean(axis=0)
    wrong = 0
    for part in _blocks(queries, len(X)):
        distances = distances_by_metric(components, X, codes, part)
        distances[np.arange(len(part)), part] = np.inf
        near = np.argpartition(distances, n_neighbors, axis=1)[:, :n_neighbors]
        order = np.take_along_axis(distances, near, axis=1).argsort(axis=1)
        labels = codes[np.take_along_axis(near, order, axis=1)]
        wrong += int(np.count_nonzero(vote(labels, int(codes.max()) + 1)[0] != codes[part]))
    return wrong / len(queries)


def active_constraints(
    components: Array, X: Array, codes: IndexArray, n_neighbors: int, anchors: IndexArray
) -> int:
    """Return how many triplets of some anchors have a positive hinge loss (Eq. 14, margin 1).

    Targets are the nearest rows of the same class by the Euclidean distance.
    """
    pairs = target_neighbors(X, codes, n_neighbors, n_jobs=1)
    targets = np.split(pairs[:, 1], np.searchsorted(pairs[:, 0], np.arange(1, len(X))))
    X = X - X.mean(axis=0)
    active = 0
    for part in _blocks(anchors, len(X)):
        distances = distances_by_metric(components, X, codes, part)
        for row, anchor in zip(distances, part, strict=True):
            sqradii = np.sort(1 + row[targets[anchor]])
            impostors = row[codes != codes[anchor]]
            active += int(sum(np.count_nonzero(impostors < sqradius) for sqradius in sqradii))
    return active


def _blocks(rows: IndexArray, width: int) -> list[IndexArray]:
    n_blocks = -(-len(rows) * width // _BLOCK_VALUES)
    return np.array_split(rows, max(1, n_blocks))
