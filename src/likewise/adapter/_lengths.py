"""Lengths of rows, and rows of length 1, in blocks: without a copy of all rows."""

from __future__ import annotations

from collections.abc import Iterator

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


def are_normalized(rows: Array) -> bool:
    """Return whether all rows that are not zero have the same length, up to rounding."""
    lengths = lengths_of(rows)
    lengths = lengths[lengths > 0]
    if not len(lengths):
        return False
    spread = float(np.ptp(lengths)) / float(lengths.mean())
    if spread <= _EQUAL_LENGTHS:
        return True
    return spread <= _EQUAL_LENGTHS_ROUNDED and _are_whole(rows)


def _are_whole(rows: Array) -> bool:
    return all(bool((block == np.rint(block)).all()) for block in blocks(rows))
