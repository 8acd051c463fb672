"""A table in a file becomes numbers and labels."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from likewise._runtime.arrays import Array, FloatingArray
from likewise._runtime.reading import check_readable
from likewise._runtime.text import list_some, quote, quote_path
from likewise.datasets._arrays import read_npy, read_npz
from likewise.datasets._frames import (
    check_no_row_numbers,
    column_of_numbers,
    column_without_gaps,
    read_frame,
)

if TYPE_CHECKING:
    import pandas as pd

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".npz", ".npy")
_USUAL_LABELS = ("label", "class", "target", "y")


class Table(NamedTuple):
    """What `read_table` found."""

    X: FloatingArray
    y: Array | None
    feature_names: tuple[str, ...]
    groups: Array | None


class _Columns(NamedTuple):
    """What the columns of a table are for; the others are features."""

    label: str | None
    groups: str | None
    drop: tuple[str, ...]
    labelled: bool


def read_table(
    path: str | os.PathLike[str],
    label: str | None = None,
    *,
    groups: str | None = None,
    drop: Sequence[str] = (),
    labelled: bool = True,
) -> Table:
    """Read rows and labels from a CSV, TSV, Parquet, NPZ or NPY file.

    Parameters
    ----------
    path : str or path
        The suffix decides how it is read. The first line of a CSV file (UTF-8) holds the names of
        the columns, separated by commas, tabs or semicolons (then with decimal commas). An NPZ
        file holds an array ``X`` and the labels; in an NPY file the columns are called 0, 1, …
    label : str, optional
        The column (in an NPZ file the array) with the labels; by default the one called label,
        class, target or y.
    groups : str, optional
        The column (in an NPZ file the array) with the group of each row.
    drop : sequence of str, optional
        Columns that are left out.
    labelled : bool, default=True
        With False there are no labels unless `label` names them: all columns are features.

    Returns
    -------
    Table
        ``(X, y, feature_names, groups)``; an empty cell of X is NaN. `groups` is None unless they
        were asked for, and `y` if there are no labels.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from likewise.datasets import read_table
    >>> path = Path(tempfile.mkdtemp()) / "small.npz"
    >>> np.savez(path, X=[[1.0, 2.0], [3.0, 4.0]], y=["cat", "dog"])
    >>> X, y, feature_names, groups = read_table(path)
    >>> y.tolist()
    ['cat', 'dog']
    """
    path = Path(path)
    where = quote_path(path)
    if path.suffix.lower() not in TABLE_SUFFIXES and not os.path.isdir(path):
        found = quote(path.suffix) if path.suffix else "no suffix"
        raise ValueError(f"{where} must end in {', '.join(TABLE_SUFFIXES)}, found {found}")
    check_readable(path, "a table")
    columns = _Columns(label, groups, tuple(drop), labelled)
    match path.suffix.lower():
        case ".npz":
            table = _from_npz(read_npz(path), where, columns)
        case ".npy":
            table = _from_npy(read_npy(path), where, columns)
        case _:
            table = _from_frame(read_frame(path), where, columns)
    if table.X.shape[0] == 0:
        raise ValueError(f"{where} is empty: it has no rows")
    if table.X.shape[1] == 0:
        raise ValueError(f"{where} has labels but no other column to measure distances with")
    return table


def _from_npz(arrays: dict[str, Array], where: str, columns: _Columns) -> Table:
    if "X" not in arrays:
        raise ValueError(f"{where} must hold an array X, found {list_some(arrays) or 'none'}")
    X = arrays["X"]
    others = [name for name in arrays if name != "X"]
    label = _choose_label(others, columns, where)
    y = None if label is None else arrays[label]
    groups = None if columns.groups is None else arrays[_find(others, columns.groups, where)]
    if X.ndim != 2 or any(part.shape != X.shape[:1] for part in (y, groups) if part is not None):
        shapes = [str(part.shape) for part in (X, y, groups) if part is not None]
        raise ValueError(
            f"{where} must hold X with two dimensions and one label and group for each row, "
            f"found shapes {' and '.join(shapes)}"
        )
    words = arrays.get("feature_names")
    named = words is not None and words.shape == X.shape[1:]
    names = list(map(str, words if words is not None and named else range(X.shape[1])))
    left_out = [names.index(_find(names, name, where)) for name in columns.drop]
    X = _as_floating(np.delete(X, left_out, axis=1) if left_out else X, where)
    return Table(X, y, tuple(np.delete(names, left_out).tolist()), groups)


def _from_npy(cells: Array, where: str, columns: _Columns) -> Table:
    if cells.ndim != 2:
        raise ValueError(f"{where} must hold an array of two dimensions, found {cells.ndim}")
    names = [str(column) for column in range(cells.shape[1])]
    label, groups, features = _assign(names, columns, where)
    X = _as_floating(cells[:, [int(name) for name in features]], where)
    grouped = None if groups is None else cells[:, int(groups)]
    y = None if label is None else cells[:, int(label)]
    return Table(X, y, tuple(features), grouped)


def _assign(
    names: list[str], columns: _Columns, where: str
) -> tuple[str | None, str | None, list[str]]:
    """Return the columns with labels and with groups, and those that are features."""
    dropped = {_find(names, name, where) for name in columns.drop}
    label = _choose_label(names, columns, where)
    groups = None if columns.groups is None else _find(names, columns.groups, where)
    if label in dropped or groups in dropped:
        name = label if label in dropped else groups
        raise ValueError(f"column {quote(name)} of {where} cannot be both dropped and used")
    if label is not None and label == groups:
        raise ValueError(f"column {quote(label)} of {where} cannot be both label and groups")
    return label, groups, [name for name in names if name not in dropped | {label, groups}]


def _as_floating(X: Array, where: str) -> FloatingArray:
    if X.dtype.kind not in "biuf":
        raise ValueError(f"{where} must hold numbers, found {X.dtype}")
    return X.astype(np.result_type(X.dtype, np.float32), copy=False)


def _from_frame(frame: pd.DataFrame, where: str, columns: _Columns) -> Table:
    label, groups, features = _assign(list(frame.columns), columns, where)
    check_no_row_numbers(frame[features], where)
    numbers = [column_of_numbers(frame[name], where) for name in features]
    X = np.column_stack(numbers) if numbers else np.empty((len(frame), 0))
    y = None if label is None else column_without_gaps(frame[label], "label", where)
    grouped = None if groups is None else column_without_gaps(frame[groups], "group", where)
    return Table(X, y, tuple(features), grouped)


def _choose_label(names: list[str], columns: _Columns, where: str) -> str | None:
    if columns.label is not None:
        return _find(names, columns.label, where)
    if not columns.labelled:
        return None
    by_usual_name = {name.lower(): name for name in names}
    for usual in _USUAL_LABELS:
        if usual in by_usual_name:
            return by_usual_name[usual]
    raise ValueError(
        f"{where} has no column called {', '.join(_USUAL_LABELS)}: say (--label) which of its "
        f"columns is the label: {list_some(names)}{_header_hint(names)}"
    )


def _find(names: list[str], name: str, where: str) -> str:
    if name in names:
        return name
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    found = f"did you mean {' or '.join(map(quote, close))}?" if close else list_some(names)
    raise ValueError(f"{where} has no column {quote(name)}: {found}{_header_hint(names)}")


def _header_hint(names: list[str]) -> str:
    """Say so if the names of columns seem to be a row of data: many numbers, and not 0, 1, 2 …"""
    numbers = [name for name in names if _is_number(name)]
    if 2 * len(numbers) < len(names) or {*numbers} <= {str(column) for column in range(len(names))}:
        return ""
    return "; its first line seems to be data, but must hold the names of the columns"


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
