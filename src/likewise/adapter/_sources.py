"""Where the rows of an adapter are: in memory here, or in blocks of a Dask collection."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from likewise._runtime.arrays import Array, BoolArray, IndexArray
from likewise._runtime.blocks.engines import LocalEngine
from likewise._runtime.blocks.rows import BlockedRows
from likewise.adapter._given_rows import largest_value
from likewise.adapter._lengths import BLOCK_ROWS, are_normalized


class RowSource(Protocol):
    """A table of rows, some or all of which can be taken without moving the others."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> Any: ...

    def __len__(self) -> int: ...

    def holds(self, numbers: IndexArray) -> bool:
        """Return whether these rows are in memory."""
        ...

    def gather(self, numbers: IndexArray) -> None:
        """Take these rows into memory, in ascending order and each once, if they are not there."""
        ...

    def take(self, numbers: IndexArray) -> Array:
        """Return rows by their numbers."""
        ...

    def in_blocks(self, n_jobs: int | None) -> BlockedRows:
        """Return all rows in blocks."""
        ...

    def nonzero(self) -> BoolArray:
        """Return which rows are not zero."""
        ...

    def largest(self) -> float:
        """Return the largest absolute value."""
        ...

    def are_normalized(self) -> bool:
        """Return whether all rows that are not zero have the same length, up to rounding."""
        ...


class ArraySource:
    """Rows in memory.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
    """

    def __init__(self, rows: Array) -> None:
        self.rows = rows
        self.shape: tuple[int, int] = (rows.shape[0], rows.shape[1])
        self.dtype = rows.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def holds(self, numbers: IndexArray) -> bool:
        """Return True."""
        return True

    def gather(self, numbers: IndexArray) -> None:
        """Do nothing."""

    def take(self, numbers: IndexArray) -> Array:
        """Return rows by their numbers."""
        return np.asarray(self.rows[numbers])

    def in_blocks(self, n_jobs: int | None) -> BlockedRows:
        """Return all rows in blocks of this process, which are not copied."""
        engine = LocalEngine(n_jobs)
        starts = np.arange(0, len(self), BLOCK_ROWS)
        parts = [self.rows[start : start + BLOCK_ROWS] for start in starts]
        blocks = tuple((part, np.zeros(len(part), dtype=np.int64)) for part in parts)
        counts = np.array([len(part) for part in parts], dtype=np.int64)
        return BlockedRows(engine, blocks, counts, self.shape[1], self.dtype)

    def nonzero(self) -> BoolArray:
        """Return which rows are not zero."""
        return nonzero_rows(self.rows)

    def largest(self) -> float:
        """Return the largest absolute value."""
        return largest_value(self.rows)

    def are_normalized(self) -> bool:
        """Return whether all rows that are not zero have the same length, up to rounding."""
        return are_normalized(self.rows)


def nonzero_rows(rows: Array) -> BoolArray:
    """Return which rows are not zero."""
    return np.asarray(rows.any(axis=1))
