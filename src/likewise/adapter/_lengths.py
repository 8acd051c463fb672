"""Lengths of rows, and rows of length 1, in blocks: without a copy of all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np

from likewise._runtime.arrays import Array
from likewise.metric import row_norms

BLOCK_ROWS = 4096
# Relative spread of lengths up to which rows count as normalised. Rounding to one byte changes
# the length of a row by up to 2 %.
_EQUAL_LENGTHS = 0.01
_EQUAL_LENGTHS_ROUNDED = 0.05


def blocks(rows: Array) -> Iterator[Array]:
    """Yield consecutive parts of the rows; one that is empty if they are none."""
    for start in range(0, max(len(rows), 1), BLOCK_ROWS):
        yield rows[start : start + BLOCK_ROWS]


def lengths_of(rows: Array) -> Array:
    """Return the lengths of rows."""
    return np.concatenate([row_norms(block) for block in blocks(rows)])


def unit_rows(rows: Array) -> Array:
    """Return rows of length 1; zero rows stay zero."""
    lengths = lengths_of(rows)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1)[:, None])


class LengthRange(NamedTuple):
    """The lengths of rows that are not zero."""

    least: float
    most: float
    total: float
    n: int

    @classmethod
    def of_rows(cls, rows: Array) -> Self:
        """Return the range of the lengths of rows."""
        lengths = lengths_of(rows)
        lengths = lengths[lengths > 0]
        if not len(lengths):
            return cls(np.inf, 0.0, 0.0, 0)
        total = float(lengths.sum(dtype=np.float64))
        return cls(float(lengths.min()), float(lengths.max()), total, len(lengths))

    @classmethod
    def joined(cls, parts: Sequence[LengthRange]) -> Self:
        """Return the range of the lengths of all parts."""
        least, most, totals, counts = zip(*parts, strict=True)
        return cls(min(least), max(most), sum(totals), sum(counts))


def are_normalized(rows: Array) -> bool:
    """Return whether all rows that are not zero have the same length, up to rounding."""
    return are_of_one_length(LengthRange.of_rows(rows), lambda: are_whole(rows))


def are_of_one_length(lengths: LengthRange, whole: Callable[[], bool]) -> bool:
    """Return whether lengths are equal up to rounding, which is coarse for `whole` numbers."""
    if not lengths.n:
        return False
    spread = (lengths.most - lengths.least) / (lengths.total / lengths.n)
    return spread <= _EQUAL_LENGTHS or (spread <= _EQUAL_LENGTHS_ROUNDED and whole())


def are_whole(rows: Array) -> bool:
    """Return whether all values are whole numbers."""
    return all(bool((block == np.rint(block)).all()) for block in blocks(rows))
