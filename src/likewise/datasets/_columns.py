"""Columns of a table: numbers, or text where some cell is no number."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from likewise._runtime.arrays import Array, BoolArray, FloatingArray
from likewise._runtime.text import quote

_CELLS = (str, numbers.Number, Decimal, datetime.date, datetime.time, type(None))
_MISSING = ("NAType", "NaTType")  # of pandas


@dataclass(frozen=True, eq=False)
class RawTable:
    """A table as it is in its file: columns of numbers and of text.

    Attributes
    ----------
    columns : mapping of str to ndarray
        By name: float arrays, in which NaN is an empty cell, and object arrays of words, in which
        it is None.
    y, groups, ids : ndarray or None
        Labels, groups and ids of the rows, where they were asked for.
    where : str
        What errors call it.
    """

    columns: Mapping[str, Array]
    y: Array | None = None
    groups: Array | None = None
    ids: Array | None = None
    where: str = "the table"

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


def column_cells(values: Any) -> Array:
    """Return one column as floats, or as an object array of words and None if some cell is a word.

    Text that reads as a number is a number: a stray empty cell must not condemn a column. None, NaN
    and empty text are missing.
    """
    cells = np.asarray(values)
    if cells.dtype.kind in "biuf":
        return cells.astype(np.result_type(cells.dtype, np.float32), copy=False)
    words = [None if _is_missing(cell) else cell for cell in cells.tolist()]
    for cell in words:
        if not isinstance(cell, _CELLS):
            # scikit-learn's own checks look for these words.
            raise TypeError(f"argument must be a string or a number, found {quote(cell)} in a cell")
    found = np.full(len(words), np.nan)
    for row, cell in enumerate(words):
        if cell is not None and (number := _number(cell)) is None:
            return np.array([None if w is None else str(w) for w in words], dtype=object)
        if cell is not None and number is not None:
            found[row] = number
    return found


def numeric_column(name: str, cells: Array, where: str) -> FloatingArray:
    """Return a column of numbers, or raise an error that shows the first cell that is none."""
    if cells.dtype.kind == "f":
        return cells
    row = first_word(cells)
    raise ValueError(
        f"column {quote(name)} of {where} must hold numbers, found {quote(cells[row])} in row "
        f"{row + 1}; drop the column (--drop), turn it into numbers (an empty cell is a missing "
        "one), or make it the label"
    )


def gaps_of(cells: Array) -> BoolArray:
    """Return which cells of a column are missing."""
    if cells.dtype.kind == "f":
        return np.isnan(cells)
    return np.array([cell is None for cell in cells], dtype=np.bool_)


def none_where_empty(cells: Array) -> Array:
    """Return a column in which missing cells are None; the column itself if there are none."""
    missing = np.array([_is_missing(cell) for cell in cells.tolist()], dtype=np.bool_)
    if not missing.any():
        return cells
    found = cells.astype(object)
    found[missing] = None
    return found


def first_word(cells: Array) -> int:
    """Return the row of the first cell that is neither missing nor a number."""
    return next(row for row, cell in enumerate(cells) if cell is not None and _number(cell) is None)


def _is_missing(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in _MISSING:
        return True
    if isinstance(cell, str):
        return not cell.strip()
    return isinstance(cell, float) and cell != cell


def _number(cell: Any) -> float | None:
    if isinstance(cell, str) and "_" in cell:  # digits grouped as in Python's own numbers
        return None
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None
