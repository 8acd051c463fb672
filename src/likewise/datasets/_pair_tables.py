"""A table of judged pairs in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import BoolArray, IndexArray
from likewise._runtime.text import list_some, quote
from likewise._runtime.validation import pluralize
from likewise.datasets._frames import as_written, column_without_gaps, read_frame
from likewise.datasets._sources import Readable, open_source
from likewise.datasets._text_tables import separator_hint

if TYPE_CHECKING:
    import pandas as pd

_FORMATS = ("csv", "tsv", "parquet")
_COLUMNS = ("left", "right", "same")
_SAME = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "-1": False}


@overload
def read_pairs(
    path: Readable,
    n_items: int,
    ids: ArrayLike | None = None,
    *,
    judged: Literal[True] = True,
    format: str | None = None,
) -> tuple[IndexArray, BoolArray]: ...


@overload
def read_pairs(
    path: Readable,
    n_items: int,
    ids: ArrayLike | None = None,
    *,
    judged: Literal[False],
    format: str | None = None,
) -> tuple[IndexArray, BoolArray | None]: ...


def read_pairs(
    path: Readable,
    n_items: int,
    ids: ArrayLike | None = None,
    *,
    judged: bool = True,
    format: str | None = None,
) -> tuple[IndexArray, BoolArray | None]:
    """Read judged pairs from a CSV, TSV or Parquet file.

    Parameters
    ----------
    path : str, path or binary stream
        A table with the columns left, right and same: the two items, and true/false, yes/no, 1/0
        or 1/-1.
    n_items : int
        Number of items.
    ids : array-like of shape (n_items,), optional
        The id of each item, by which the table names them. By default it has row numbers, from 0.
    judged : bool, default=True
        Whether the column same is needed.
    format : {"csv", "tsv", "parquet"}, optional
        How it is read, whatever its suffix.

    Returns
    -------
    pairs : int array of shape (n_pairs, 2)
        Row numbers.
    same : bool array of shape (n_pairs,)
        None if the table has no such column and `judged` is False.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from likewise.datasets import read_pairs
    >>> path = Path(tempfile.mkdtemp()) / "pairs.csv"
    >>> _ = path.write_text("left,right,same\\na,c,yes\\nb,a,no\\n")
    >>> pairs, same = read_pairs(path, 3, ids=["a", "b", "c"])
    >>> pairs.tolist(), same.tolist()
    ([[0, 2], [1, 0]], [True, False])
    """
    with open_source(path, format, _FORMATS) as source:
        where, frame = source.where, read_frame(source)
        frame.columns = frame.columns.str.strip().str.lower()
        if ids is not None and np.asarray(ids).dtype.kind in "OSU" and frame.columns.is_unique:
            # Among words, 007 is not 7, also where those that were judged are all digits.
            named = [name for name in _COLUMNS[:2] if name in frame.columns]
            for name, column in as_written(source, frame, named).items():
                frame[name] = column.where(column != "")
    needed = _COLUMNS if judged else _COLUMNS[:2]
    if missing := [name for name in needed if name not in frame.columns]:
        listed = ", ".join(needed[:-1]) + f" and {needed[-1]}"
        raise ValueError(
            f"{where} must have the columns {listed}, found "
            f"{list_some(frame.columns)} and no {' and '.join(missing)}"
            f"{separator_hint(list(frame.columns))}"
        )
    if frame.empty:
        raise ValueError(f"{where} is empty: it has no pairs")
    sides = [frame["left"], frame["right"]]
    index = _row_numbers(sides, n_items, where) if ids is None else _named_rows(sides, ids, where)
    twice = np.flatnonzero(index[:, 0] == index[:, 1])
    if len(twice):
        row = twice[0]
        place = f"row {row + 1}" if source.format == "parquet" else f"line {row + 2}"
        raise ValueError(
            f"{place} of {where} pairs {quote(sides[0].iloc[row])} with itself, but a pair needs "
            "two different items"
        )
    return index, _flags(frame["same"], where) if "same" in frame.columns else None


def _row_numbers(sides: list[pd.Series[Any]], n_items: int, where: str) -> IndexArray:
    """Return the two columns, which must hold row numbers."""
    columns = []
    for column in sides:
        numbers = np.asarray(column_without_gaps(column, str(column.name), where))
        if numbers.dtype.kind not in "iu":
            raise ValueError(
                f"column {column.name!r} of {where} must hold row numbers, found "
                f"{quote(numbers[0])}; if items have ids, say (--id) in which column of the table"
            )
        outside = (numbers < 0) | (numbers >= n_items)
        if outside.any():
            raise ValueError(
                f"column {column.name!r} of {where} names row {numbers[outside][0]}, but the table "
                f"has rows 0 to {n_items - 1}"
            )
        columns.append(numbers.astype(np.int64))
    return np.column_stack(columns)


def _named_rows(sides: list[pd.Series[Any]], ids: ArrayLike, where: str) -> IndexArray:
    """Return the rows that the two columns name by ids."""
    # As text: one file may hold 7 and the other 7 as a word.
    known = np.asarray(ids).astype(str)
    order = np.argsort(known, kind="stable")
    twice = np.flatnonzero(known[order][1:] == known[order][:-1])
    if len(twice):
        raise ValueError(
            f"two items have the id {quote(known[order][twice[0]])}, but ids must be different"
        )
    columns = [column_without_gaps(column, str(column.name), where) for column in sides]
    wanted = np.column_stack([np.asarray(column).astype(str) for column in columns])
    places = np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)
    unknown = known[order][places] != wanted
    if unknown.any():
        strangers = list(dict.fromkeys(wanted[unknown].tolist()))
        names = [f"{side.name!r}" for side, bad in zip(sides, unknown.T, strict=True) if bad.any()]
        raise ValueError(
            f"{'columns' if len(names) > 1 else 'column'} {' and '.join(names)} of {where} "
            f"{'have' if len(names) > 1 else 'has'} {pluralize(len(strangers), 'id')} that no item "
            f"of the table has: {list_some(strangers, 5)}"
        )
    return order[places].astype(np.int64)


def _flags(column: pd.Series[Any], where: str) -> BoolArray:
    cells = column_without_gaps(column, "same", where).astype(str)
    words = [cell.strip().lower().removesuffix(".0") for cell in cells.tolist()]
    for row, word in enumerate(words):
        if word not in _SAME:
            raise ValueError(
                f"column 'same' of {where} must hold true/false, yes/no, 1/0 or 1/-1, found "
                f"{quote(cells[row])} in row {row + 1}"
            )
    return np.array([_SAME[word] for word in words], dtype=np.bool_)
