"""Any table as named columns of numbers or words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from likewise._runtime.arrays import Array
from likewise._runtime.tables import check_table
from likewise._runtime.text import list_some, quote
from likewise._runtime.validation import TableLike
from likewise.datasets._columns import column_cells


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of one length: float arrays, and object arrays of words and None.

    Attributes
    ----------
    cells : list of arrays
    names : list of str or None
        None for an array, whose columns have numbers only.
    where : str
        What errors call the table.
    """

    cells: list[Array]
    names: list[str] | None
    where: str

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.cells[0]) if self.cells else 0

    @property
    def titles(self) -> list[str]:
        """Names, or else numbers."""
        return self.names or [str(number) for number in range(len(self.cells))]

    def select(self, names: list[str]) -> Columns:
        """Return the columns of these names in this order; others are left out."""
        by_name = dict(zip(self.titles, self.cells, strict=True))
        if missing := [name for name in names if name not in by_name]:
            raise ValueError(
                f"{self.where} has no column {' and no '.join(map(quote, missing[:5]))}, which the "
                f"model was fitted with; it has {list_some(self.titles)}."
            )
        return Columns([by_name[name] for name in names], names, self.where)


def as_columns(table: TableLike) -> Columns:
    """Return the columns of a DataFrame, a mapping of name to values, a `RawTable` or an array."""
    if sp.issparse(table):
        raise ValueError("X is sparse, but a table of columns must be dense: X.toarray().")
    where = getattr(table, "where", "X")
    where = where if isinstance(where, str) else "X"  # DataFrames have a method of that name
    held: Any = getattr(table, "columns", table)
    if isinstance(held, Mapping):
        names, cells = [str(name) for name in held], [_cells(held[name]) for name in held]
    elif held is not table:
        names = [str(name) for name in held]
        cells = [_cells(table[name]) for name in held]
    else:
        return Columns(_of_array(table), None, where)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{where} has two columns called {quote(twice)}.")
    if len({len(values) for values in cells}) > 1 or any(values.ndim != 1 for values in cells):
        raise ValueError(f"{where} has columns of different lengths, but it must be a table.")
    return Columns(cells, names, where)


def _of_array(table: TableLike) -> list[Array]:
    check_table(table, "X")
    try:
        rows = np.asarray(table)
    except ValueError:
        raise ValueError("X has rows of different lengths, but a table is needed.") from None
    if rows.ndim != 2:
        raise ValueError(f"X has shape {rows.shape}, but a table of rows is needed.")
    return [column_cells(rows[:, column]) for column in range(rows.shape[1])]


def _cells(values: Any) -> Array:
    cells = np.asarray(values)
    if cells.dtype.kind in "mM":  # dates and durations are words here
        cells = np.where(np.isnat(cells), "", cells.astype(str))
    return cells if cells.ndim != 1 else column_cells(cells)
