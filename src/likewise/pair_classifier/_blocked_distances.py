"""Distances of pairs of rows in blocks: one number per pair travels, and rows between workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.blocks.rows import BlockedRows
from likewise.metric import row_norms


def distances_in_blocks(
    X: BlockedRows, transform: Callable[[Array], Array], pairs: IndexArray
) -> FloatArray:
    """Return the Euclidean distances of pairs of rows after a map.

    Blocks are mapped where they are. For every two blocks with pairs between them, the rows of
    these pairs meet on one worker.

    Parameters
    ----------
    X : BlockedRows
    transform : callable
        Maps rows of a block.
    pairs : int array of shape (n_pairs, 2)
    """
    engine, starts = X.engine, X.starts
    of_block = np.searchsorted(starts + X.counts, pairs, side="right")
    # The distance is symmetric, so that pairs of two blocks are one task.
    swapped = of_block[:, 0] > of_block[:, 1]
    pairs, of_block = (
        np.where(swapped[:, None], side[:, ::-1], side) for side in (pairs, of_block)
    )
    code = of_block[:, 0] * len(starts) + of_block[:, 1]
    order = np.argsort(code, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(code[order])) + 1)
    mapped: dict[int, Any] = {}

    def rows_of(side: int, group: IndexArray) -> tuple[Any, IndexArray]:
        """Return a handle of the mapped rows of pairs, and the place of each pair among them."""
        block = int(of_block[group[0], side])
        if block not in mapped:
            mapped[block] = engine.submit(_mapped, X.blocks[block], transform)
        wanted, places = np.unique(pairs[group, side] - starts[block], return_inverse=True)
        return engine.submit(_rows, mapped[block], wanted), places

    handles = []
    for group in groups:
        (first, i), (second, j) = rows_of(0, group), rows_of(1, group)
        handles.append(engine.submit(_norms, first, i, second, j))
    distances = np.empty(len(pairs))
    distances[order] = np.concatenate(engine.gather(handles))
    return distances


def _mapped(block: tuple[Array, IndexArray], transform: Callable[[Array], Array]) -> Array:
    return transform(block[0])


def _rows(mapped: Array, wanted: IndexArray) -> Array:
    return np.asarray(mapped[wanted])


def _norms(first: Array, i: IndexArray, second: Array, j: IndexArray) -> FloatArray:
    return row_norms(first[i] - second[j]).astype(np.float64)
