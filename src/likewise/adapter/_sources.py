"""Where the rows of an adapter are: in memory, on a device, or in blocks of a Dask collection."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np

from likewise._runtime.arrays import Array, BoolArray, IndexArray
from likewise._runtime.blocks.engines import LocalEngine
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.tensors import on_device, to_numpy
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
        """Return rows by their numbers; a tensor if they are on a device."""
        ...

    def empty(self, n: int) -> Array:
        """Return a table for n rows that are taken, whose values are arbitrary."""
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
    given : array or tensor, optional
        What the rows are a copy of; by default themselves.
    """

    def __init__(self, rows: Any, given: Any = None) -> None:
        self.rows = rows
        self.given = rows if given is None else given
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

    def empty(self, n: int) -> Array:
        """Return an array for n rows, whose values are arbitrary."""
        return np.empty((n, self.shape[1]), dtype=self.dtype)

    def astype(self, dtype: Any) -> Self:
        """Return the rows in another precision."""
        return type(self)(self.rows.astype(dtype, copy=False), self.given)

    def part(self, numbers: IndexArray) -> Self:
        """Return a copy of some of the rows."""
        return type(self)(self.take(numbers))

    def followed_by(self, others: ArraySource | None) -> Self:
        """Return these rows and others after them."""
        if others is None:
            return self
        rows = self.empty(len(self) + len(others))
        rows[: len(self)], rows[len(self) :] = self.rows, others.rows
        return type(self)(rows)

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


def source_in_memory(rows: Any, name: str) -> ArraySource:
    """Return the source of checked rows: on the device that is set, or that of a tensor."""
    there = on_device(rows, name)
    if there is None:
        return ArraySource(to_numpy(rows))
    from likewise.adapter._torch_source import TensorSource

    return TensorSource(there, rows)


def nonzero_rows(rows: Any) -> BoolArray:
    """Return which rows are not zero."""
    return np.asarray(to_numpy(rows.any(axis=1)))
