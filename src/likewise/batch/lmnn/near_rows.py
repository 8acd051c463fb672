"""Rows in blocks such that near rows are together: blocks then refer to fewer rows of others."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.threads import single_threaded_blas
from likewise.batch.lmnn.preconditioning import power_of_two

_AXES, _AXES_FEATURES = 8, 256
_SAMPLE_SHARE = 16  # of the rows, and at most:
_SAMPLE_ROWS, _SAMPLE_VALUES = 1 << 15, 1 << 22
_ROWS_PER_CELL = 16  # of the sample
_CELLS_PER_BLOCK = 16
_LEAST_SCALE = 2.0**-1000  # the inverse of subnormal numbers overflows


def near_rows_together(rows: BlockedRows) -> tuple[BlockedRows, list[Any]]:
    """Return the rows in the order of the cells of a kd tree, and the numbers that they had.

    The tree is that of a sample, on its principal axes. See `BlockedRows.sorted_by`.
    """
    most = min(_SAMPLE_ROWS, _SAMPLE_VALUES // max(1, rows.n_features))
    step = max(_SAMPLE_SHARE, -(-len(rows) // most))
    sample = np.concatenate(rows.map(partial(_every, step)))
    n_cells = min(_CELLS_PER_BLOCK * len(rows.blocks), len(sample) // _ROWS_PER_CELL)
    depth = n_cells.bit_length() - 1 if len(rows.blocks) > 1 and n_cells else 0
    return rows.sorted_by(kd_cells(sample, depth).cell_of, 1 << depth)


class KDCells(NamedTuple):
    """A kd tree of some depth, whose leaves are numbered from one end to the other.

    Attributes
    ----------
    centre : array of shape (n_features,)
    scale : float
    axes : array of shape (n_features, n_axes)
    axis, threshold : arrays of shape (2**depth,)
        What node k divides by, into nodes 2k and 2k + 1; node 1 is the root.
    """

    centre: Array
    scale: float
    axes: Array
    axis: IndexArray
    threshold: Array

    def points(self, rows: Array) -> Array:
        """Return rows on the axes."""
        with np.errstate(over="ignore", invalid="ignore"):  # of rows much larger than the sample
            return np.asarray((rows - self.centre) * self.scale @ self.axes)

    def cell_of(self, rows: Array, groups: IndexArray) -> IndexArray:
        """Return the leaf in which each row is."""
        points = self.points(rows)
        node = np.ones(len(rows), dtype=np.int64)
        every = np.arange(len(rows))
        while len(node) and node[0] < len(self.axis):
            node = 2 * node + (points[every, self.axis[node]] > self.threshold[node])
        return node - len(self.axis)


def kd_cells(sample: Array, depth: int) -> KDCells:
    """Divide a sample `depth` times at the median of the principal axis on which it is widest."""
    centre = np.median(sample, axis=0).astype(np.float64)
    widest = power_of_two(float(np.abs(sample - centre).max(initial=0.0)))
    scale = 1 / max(widest, _LEAST_SCALE)
    centred = (sample - centre) * scale
    with single_threaded_blas():  # blocks do not depend on the threads of the client
        # Of many features those that vary most: any axes are correct.
        leading = np.sort(np.argsort(-centred.var(axis=0), kind="stable")[:_AXES_FEATURES])
        _, vectors = np.linalg.eigh(centred[:, leading].T @ centred[:, leading])
        axes = np.zeros((len(centre), min(_AXES, len(leading))))
        axes[leading] = vectors[:, ::-1][:, :_AXES]
        parts = [centred @ axes]
    axis, threshold = np.zeros(1 << depth, dtype=np.int64), np.zeros(1 << depth)
    for node in range(1, 1 << depth):
        points = parts[node - 1]
        if len(points):
            axis[node] = np.ptp(points, axis=0).argmax()
            threshold[node] = np.median(points[:, axis[node]])
        above = points[:, axis[node]] > threshold[node]
        parts += [points[~above], points[above]]
    return KDCells(centre, scale, axes, axis, threshold)


def _every(step: int, rows: Array, groups: IndexArray) -> Array:
    return np.asarray(rows[::step])
