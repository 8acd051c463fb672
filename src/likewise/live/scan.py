"""Rows of a neighbour graph, by an exact scan in blocks: no copy of the data is made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise._runtime.arrays import Array, FloatArray, IndexArray

__all__ = ["GraphRows", "scan_rows"]

_BLOCK = 8192


class GraphRows(NamedTuple):
    """Rows of a neighbour graph, by anchor."""

    anchors: IndexArray
    nearest: IndexArray
    at_threshold: IndexArray


def scan_rows(
    X: Array, components: Array | None, anchors: IndexArray, k: int, threshold: float = 0.0
) -> GraphRows:
    """Find the neighbours of some rows, and the rows whose distance is closest to a threshold.

    Parameters
    ----------
    X : float32 array of shape (n_items, n_features)
    components : array of shape (n_components, n_features) or None
        L of the metric; None for the Euclidean distance.
    anchors : array of int
        Different rows of X.
    k : int
        Rows of each kind per anchor; fewer if there are fewer rows.
    threshold : float
        A distance.

    Returns
    -------
    GraphRows
        Two arrays of shape (n_anchors, k).
    """
    k = min(k, len(X) - 1)
    centre = X[anchors].mean(axis=0)
    mapped = _map(X[anchors] - centre, components)
    lengths = np.einsum("nd,nd->n", mapped, mapped)
    nearest, near_threshold = _Best(len(anchors), k), _Best(len(anchors), k)
    for start in range(0, len(X), _BLOCK):
        block = _map(X[start : start + _BLOCK] - centre, components)
        squares = np.einsum("nd,nd->n", block, block)
        D = np.maximum(lengths[:, None] + squares - 2 * (mapped @ block.T), 0)
        inside = (anchors >= start) & (anchors < start + len(block))
        D[inside, anchors[inside] - start] = np.inf
        nearest.offer(D, start)
        near_threshold.offer(np.abs(D - np.float32(threshold**2)), start)
    return GraphRows(anchors, nearest.rows, near_threshold.rows)


def _map(rows: Array, components: Array | None) -> Array:
    return rows if components is None else rows @ components.T


class _Best:
    """The k rows with the smallest values, for each anchor."""

    def __init__(self, n_anchors: int, k: int) -> None:
        self.values: FloatArray = np.full((n_anchors, k), np.inf, dtype=np.float32)
        self.rows: IndexArray = np.zeros((n_anchors, k), dtype=np.int64)

    def offer(self, values: Array, start: int) -> None:
        """Take in the values of a block of rows that begins with row `start`."""
        k = self.values.shape[1]
        better = values < self.values.max(axis=1, keepdims=True)
        for anchor in np.flatnonzero(better.any(axis=1)):
            found = np.flatnonzero(better[anchor])
            joined = np.concatenate([self.values[anchor], values[anchor, found]])
            rows = np.concatenate([self.rows[anchor], found + start])
            chosen = np.argpartition(joined, k - 1)[:k] if len(joined) > k else slice(None)
            self.values[anchor], self.rows[anchor] = joined[chosen], rows[chosen]
