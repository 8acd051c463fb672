"""Rows in blocks of a Dask collection, of which an adapter gathers some."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from likewise._runtime.arrays import Array, BoolArray, IndexArray
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.memory import require_memory
from likewise.adapter._given_rows import largest_value
from likewise.adapter._items import equal_rows
from likewise.adapter._lengths import LengthRange, are_of_one_length, are_whole
from likewise.adapter._sources import nonzero_rows

_COPIES = 4  # of rows that are gathered: those of a split, centred, and their products
_DIGEST_BYTES = 16


class _Summary(NamedTuple):
    largest: float
    lengths: LengthRange
    whole: bool
    nonzero: BoolArray


class BlockedSource:
    """Rows in blocks, of which some may be gathered.

    Parameters
    ----------
    blocked : BlockedRows
    """

    def __init__(self, blocked: BlockedRows) -> None:
        self.blocked = blocked
        self.shape, self.dtype = blocked.shape, blocked.dtype
        self._numbers = np.empty(0, dtype=np.int64)
        self._rows = np.empty((0, blocked.n_features), dtype=blocked.dtype)
        self._summaries: list[_Summary] | None = None

    def __len__(self) -> int:
        return self.shape[0]

    def holds(self, numbers: IndexArray) -> bool:
        """Return whether these rows are in memory."""
        if not len(numbers):
            return True
        if not len(self._numbers):
            return False
        places = np.searchsorted(self._numbers, numbers).clip(max=len(self._numbers) - 1)
        return bool((self._numbers[places] == numbers).all())

    def gather(self, numbers: IndexArray) -> None:
        """Take these rows into memory, in ascending order and each once, if they are not there."""
        if self.holds(numbers):
            return
        wanted = np.union1d(numbers, self._numbers)
        n_bytes = len(wanted) * self.shape[1] * np.dtype(self.dtype).itemsize
        require_memory(
            _COPIES * n_bytes,
            f"EmbeddingAdapter, which gathers {len(wanted)} of the {len(self)} rows of a Dask "
            "collection,",
            "judge fewer rows, or allow more memory",
        )
        self._rows, self._numbers = self.blocked.take(wanted), wanted

    def take(self, numbers: IndexArray) -> Array:
        """Return rows by their numbers: from memory, or from where they are."""
        if not self.holds(numbers):
            return self.blocked.take(numbers)
        return np.asarray(self._rows[np.searchsorted(self._numbers, numbers)])

    def empty(self, n: int) -> Array:
        """Return an array for n rows, whose values are arbitrary."""
        return np.empty((n, self.shape[1]), dtype=self.dtype)

    def in_blocks(self, n_jobs: int | None) -> BlockedRows:
        """Return all rows in blocks."""
        return self.blocked

    def equal_rows(self) -> IndexArray:
        """Return what `equal_rows` returns for the rows in memory.

        Digests of 128 bits say which rows are equal. Columns are gathered one by one, as far as
        rows that differ are tied in those before them.
        """
        digests = equal_rows(np.concatenate(self.blocked.map(_digests)))
        ranks = np.zeros(len(self), dtype=np.int64)
        for column in range(self.shape[1]):
            tied = _tied(ranks, digests)
            if not tied.any():
                break
            values = np.zeros(len(self), dtype=self.dtype)
            values[tied] = self._column(column, tied)
            order = np.lexsort((values, ranks))
            steps = (np.diff(ranks[order]) > 0) | (np.diff(values[order]) > 0)
            ranks[order] = np.concatenate([[0], np.cumsum(steps)])
        return ranks

    def nonzero(self) -> BoolArray:
        """Return which rows are not zero."""
        return np.concatenate([part.nonzero for part in self._summary()])

    def largest(self) -> float:
        """Return the largest absolute value."""
        return max(part.largest for part in self._summary())

    def are_normalized(self) -> bool:
        """Return whether all rows that are not zero have the same length, up to rounding."""
        parts = self._summary()
        lengths = LengthRange.joined([part.lengths for part in parts])
        return are_of_one_length(lengths, lambda: all(part.whole for part in parts))

    def _column(self, column: int, chosen: BoolArray) -> Array:
        """Return a column of some rows."""
        engine, starts = self.blocked.engine, self.blocked.starts[1:]
        parts = zip(self.blocked.blocks, np.split(chosen, starts), strict=True)
        handles = [engine.submit(_take_column, block, column, part) for block, part in parts]
        return np.concatenate(engine.gather(handles))

    def _summary(self) -> list[_Summary]:
        if self._summaries is None:
            self._summaries = self.blocked.map(_summarise)
        return self._summaries


def with_codes(source: BlockedRows, codes: IndexArray | None, dtype: Any) -> BlockedRows:
    """Return rows in new groups and another precision; those of a code below -1 are left out.

    Without codes all rows are of group -1.
    """
    blocks, counts = [], []
    for block, start, n in zip(source.blocks, source.starts, source.counts, strict=True):
        part = None if codes is None else codes[start : start + n].astype(np.int32)
        blocks.append(source.engine.submit(partial(_with_codes, dtype, part), block))
        counts.append(int(n) if part is None else int((part >= -1).sum()))
    return BlockedRows(
        source.engine, tuple(blocks), np.array(counts, dtype=np.int64), source.n_features, dtype
    )


def _with_codes(
    dtype: Any, codes: Array | None, block: tuple[Array, IndexArray]
) -> tuple[Array, IndexArray]:
    rows = block[0].astype(dtype, copy=False)
    if codes is None:
        return rows, np.full(len(rows), -1, dtype=np.int64)
    used = codes >= -1
    return rows[used], codes[used].astype(np.int64)


def _tied(ranks: IndexArray, digests: IndexArray) -> BoolArray:
    """Return which rows have the rank of a row with another digest."""
    order = np.lexsort((digests, ranks))
    starts = np.flatnonzero(np.diff(ranks[order], prepend=-1))
    ends = np.append(starts[1:], len(order)) - 1
    differ = digests[order[starts]] != digests[order[ends]]
    tied = np.empty(len(order), dtype=bool)
    tied[order] = np.repeat(differ, ends - starts + 1)
    return tied


def _take_column(block: tuple[Array, IndexArray], column: int, chosen: BoolArray) -> Array:
    return np.asarray(block[0][chosen, column])


def _digests(rows: Array, groups: IndexArray) -> Array:
    """Return two numbers for each row that only equal rows share."""
    table = np.ascontiguousarray(rows + rows.dtype.type(0))  # -0.0 and 0.0 are equal
    digests = b"".join(
        hashlib.blake2b(row.tobytes(), digest_size=_DIGEST_BYTES).digest() for row in table
    )
    return np.frombuffer(digests, dtype=np.uint64).reshape(len(table), -1)


def _summarise(rows: Array, groups: IndexArray) -> _Summary:
    lengths = LengthRange.of_rows(rows)
    return _Summary(largest_value(rows), lengths, are_whole(rows), nonzero_rows(rows))
