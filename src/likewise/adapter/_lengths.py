"""Lengths of rows, and rows of length 1."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import Array
from likewise.metric import row_norms

_BLOCK_ROWS = 4096
# Relative spread of lengths up to which rows count as normalised. Rounding to one byte changes
# the length of a row by up to 2 %.
_EQUAL_LENGTHS = 0.01
_EQUAL_LENGTHS_ROUNDED = 0.05


def lengths_of(rows: Array) -> Array:
    """Return the lengths of rows, without a copy of all of them."""
    parts = [row_norms(rows[i : i + _BLOCK_ROWS]) for i in range(0, len(rows), _BLOCK_ROWS)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=rows.dtype)


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
    blocks = (rows[i : i + _BLOCK_ROWS] for i in range(0, len(rows), _BLOCK_ROWS))
    return all(bool((block == np.rint(block)).all()) for block in blocks)
