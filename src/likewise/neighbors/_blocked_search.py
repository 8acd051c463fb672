"""Exact neighbour search among rows in blocks, which stay where they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.blocks.engines import shared
from likewise._runtime.blocks.lazy_rows import as_row_blocks
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.blocks.stored_results import load
from likewise.neighbors._nearest import nearest

_QUERIES = 1 << 14  # at a time: they are sent to every block


class BlockNeighbors(NamedTuple):
    """The nearest rows of each query, nearest first, equal distances by row number."""

    sqdist: FloatArray
    numbers: IndexArray
    codes: IndexArray


class BlockedSearch:
    """Searches every block of rows, and keeps the nearest of all.

    Parameters
    ----------
    rows : BlockedRows
        Their groups are returned as the codes of neighbours.
    """

    def __init__(self, rows: BlockedRows) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def nearest(self, queries: Array, k: int) -> BlockNeighbors:
        """Return the k nearest rows of queries in memory."""
        engine = self.rows.engine
        merged = []
        for start in range(0, len(queries), _QUERIES):
            some = shared(engine, queries[start : start + _QUERIES])
            found = [
                engine.submit(_nearest_in_block, some, block, first, k, engine.n_jobs)
                for block, first in zip(self.rows.blocks, self.rows.starts.tolist(), strict=True)
            ]
            merged.append(engine.submit(_merged, found, k))
        parts = engine.gather(merged)
        return BlockNeighbors(*(np.concatenate(side) for side in zip(*parts, strict=True)))

    def nearest_lazily(
        self, X: Any, k: int, transform: Callable[[Any], Array], dtype: Any
    ) -> tuple[Any, Any, Any]:
        """Return distances, row numbers and codes for a Dask collection, as Dask arrays.

        Parameters
        ----------
        X : Dask array or dataframe
        k : int
        transform : callable
            Maps a block of X to where distances are Euclidean.
        dtype : dtype
            Of the distances.
        """
        import dask
        import dask.array as da

        search = dask.delayed(_nearest_in_block, pure=False)
        starts = self.rows.starts.tolist()
        columns: list[list[Any]] = [[], [], []]
        for queries, n in as_row_blocks(X):
            mapped = dask.delayed(partial(_map_queries, transform), pure=False)(queries)
            found = [
                search(mapped, block, first, k, 1)
                for block, first in zip(self.rows.blocks, starts, strict=True)
            ]
            merged = dask.delayed(_with_distances, pure=False)(found, k, dtype)
            for place, (column, kind) in enumerate(zip(columns, _types(dtype), strict=True)):
                part = dask.delayed(itemgetter(place), pure=False)(merged)
                column.append(da.from_delayed(part, (n, k), kind))
        # Chunks of unknown size are joined as they are.
        distances, index, codes = (
            da.concatenate(column, allow_unknown_chunksizes=True) for column in columns
        )
        return distances, index, codes


def _types(dtype: Any) -> tuple[Any, Any, Any]:
    return dtype, np.dtype(np.int64), np.dtype(np.int64)


def _map_queries(transform: Callable[[Any], Array], queries: Any) -> Array | None:
    """Return mapped queries; None if there are none, whose check would raise."""
    return transform(queries) if len(queries) else None


def _nearest_in_block(
    queries: Array | None, block: Any, start: int, k: int, n_jobs: int | None
) -> BlockNeighbors:
    rows, codes = load(block)
    wanted = min(k, len(rows))
    if queries is None or not wanted:
        n = 0 if queries is None else len(queries)
        none = np.empty((n, 0), dtype=np.int64)
        return BlockNeighbors(np.empty((n, 0)), none, none)
    sqdist, index = nearest(queries, rows, wanted, n_jobs=n_jobs)
    return BlockNeighbors(sqdist, index + start, codes[index])


def _merged(found: list[BlockNeighbors], k: int) -> BlockNeighbors:
    """Return the nearest of all blocks."""
    sqdist, index, codes = (np.concatenate(side, axis=1) for side in zip(*found, strict=True))
    order = np.lexsort((index, sqdist), axis=1)[:, :k]
    return BlockNeighbors(
        *(np.take_along_axis(side, order, axis=1) for side in (sqdist, index, codes))
    )


def _with_distances(
    found: list[BlockNeighbors], k: int, dtype: Any
) -> tuple[Array, IndexArray, IndexArray]:
    merged = _merged(found, k)
    if not len(merged.numbers):  # no queries
        none = np.empty((0, k), dtype=np.int64)
        return np.empty((0, k), dtype=dtype), none, none
    return np.sqrt(merged.sqdist).astype(dtype), merged.numbers, merged.codes
