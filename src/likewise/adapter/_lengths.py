"""Lengths of rows, and rows of length 1, in blocks: without a copy of all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from likewise._runtime.tensors import is_tensor, to_numpy
from likewise.metric import or_one, row_norms

BLOCK_ROWS = 4096
# Relative spread of lengths up to which rows count as normalised. Rounding to one byte changes
# the length of a row by up to 2 %.
_EQUAL_LENGTHS = 0.01
_EQUAL_LENGTHS_ROUNDED = 0.05


def blocks(rows: Any) -> Iterator[Any]:
    """Yield consecutive parts of the rows; one that is empty if they are none."""
    for start in range(0, max(len(rows), 1), BLOCK_ROWS):
        yield rows[start : start + BLOCK_ROWS]


def lengths_of(rows: Any) -> Any:
    """Return the lengths of rows: an array, or a tensor on the device of the rows."""
    if is_tensor(rows):
        lengths = rows.new_empty(len(rows))
        for start in range(0, len(rows), BLOCK_ROWS):
            lengths[start : start + BLOCK_ROWS] = row_norms(rows[start : start + BLOCK_ROWS])
        return lengths
    return np.concatenate([row_norms(block) for block in blocks(rows)])


def unit_rows(rows: Any) -> Any:
    """Return rows of length 1; zero rows stay zero."""
    return rows / or_one(lengths_of(rows))[:, None]


def in_double_precision(rows: Any) -> Any:
    """Return rows in float64."""
    return rows.double() if is_tensor(rows) else rows.astype(np.float64)


class LengthRange(NamedTuple):
    """The lengths of rows that are not zero."""

    least: float
    most: float
    total: float
    n: int

    @classmethod
    def of_rows(cls, rows: Any) -> Self:
        """Return the range of the lengths of rows."""
        lengths = to_numpy(lengths_of(rows))
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


def are_normalized(rows: Any) -> bool:
    """Return whether all rows that are not zero have the same length, up to rounding."""
    return are_of_one_length(LengthRange.of_rows(rows), lambda: are_whole(rows))


def are_of_one_length(lengths: LengthRange, whole: Callable[[], bool]) -> bool:
    """Return whether lengths are equal up to rounding, which is coarse for `whole` numbers."""
    if not lengths.n:
        return False
    spread = (lengths.most - lengths.least) / (lengths.total / lengths.n)
    return spread <= _EQUAL_LENGTHS or (spread <= _EQUAL_LENGTHS_ROUNDED and whole())


def are_whole(rows: Any) -> bool:
    """Return whether all values are whole numbers."""
    return all(bool((block == block.round()).all()) for block in blocks(rows))
