"""A table in a file becomes numbers and labels."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from likewise._runtime.arrays import Array, FloatingArray
from likewise._runtime.text import list_some, quote
from likewise.datasets._arrays import arrays_of_npz, read_array
from likewise.datasets._columns import (
    RawTable,
    column_cells,
    none_where_empty,
    numeric_column,
)
from likewise.datasets._frames import (
    check_no_row_numbers,
    column_without_gaps,
    frame_column,
    read_frame,
)
from likewise.datasets._sources import Readable, open_source
from likewise.datasets._text_tables import separator_hint

if TYPE_CHECKING:
    import pandas as pd

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
    ids: str | None
    drop: tuple[str, ...]
    labelled: bool | None
    empty_labels: bool

    @property
    def special(self) -> dict[str, str]:
        """The columns that are named and are no features, by what they are for."""
        named = {"label": self.label, "groups": self.groups, "ids": self.ids}
        return {purpose: name for purpose, name in named.items() if name is not None}


def read_table(
    path: Readable,
    label: str | None = None,
    *,
    groups: str | None = None,
    drop: Sequence[str] = (),
    labelled: bool = True,
    keep_na: bool = False,
    format: str | None = None,
) -> Table:
    """Read rows and labels from a CSV, TSV, Parquet, NPZ or NPY file.

    Parameters
    ----------
    path : str, path or binary stream
        The suffix decides how it is read. The first line of a CSV file holds the names of the
        columns. Its separator (comma, semicolon, tab or bar), the sign of its decimals (a comma
        where cells are separated by semicolons) and its encoding (UTF-8, UTF-16 or Windows-1252,
        the last with a warning) are detected. An NPZ file holds an array ``X`` and the labels; in
        an NPY file the columns are called 0, 1, … A stream, such as ``sys.stdin.buffer``, is read
        to its end, and its first bytes tell its format.
    label : str, optional
        The column (in an NPZ file the array) with the labels; by default the one called label,
        class, target or y.
    groups : str, optional
        The column (in an NPZ file the array) with the group of each row.
    drop : sequence of str, optional
        Columns that are left out.
    labelled : bool, default=True
        With False there are no labels unless `label` names them: all columns are features.
    keep_na : bool, default=False
        Whether NA, None, null and the like are words in a text file: only an empty cell is empty.
    format : {"csv", "tsv", "parquet", "npz", "npy"}, optional
        How it is read, whatever its suffix.

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
    raw = read_columns(
        path,
        label,
        groups=groups,
        drop=drop,
        labelled=labelled,
        keep_na=keep_na,
        format=format,
    )
    numbers = [numeric_column(name, cells, raw.where) for name, cells in raw.columns.items()]
    return Table(np.column_stack(numbers), raw.y, tuple(raw.columns), raw.groups)


def read_columns(
    path: Readable,
    label: str | None = None,
    *,
    groups: str | None = None,
    ids: str | None = None,
    drop: Sequence[str] = (),
    labelled: bool | None = False,
    empty_labels: bool = False,
    keep_na: bool = False,
    format: str | None = None,
) -> RawTable:
    """Read a table as it is: columns of numbers and columns of text, with gaps.

    `likewise.tables.TableEncoder` turns it into numbers.

    Parameters
    ----------
    path, keep_na, format
        As of `read_table`.
    label, groups, ids : str, optional
        The columns (in an NPZ file the arrays) with the label, the group and the id of each row.
    drop : sequence of str, optional
        Columns that are left out.
    labelled : bool or None, default=False
        Whether a column called label, class, target or y is the label, where `label` names none;
        with True there must be one, and with None there may be.
    empty_labels : bool, default=False
        Whether labels may be empty: they are None then. Else an empty label raises an error.

    Returns
    -------
    RawTable

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from likewise.datasets import read_columns
    >>> path = Path(tempfile.mkdtemp()) / "cats.csv"
    >>> _ = path.write_text("name;weight;colour\\nTom;4,5;grey\\nKit;;black\\n")
    >>> table = read_columns(path, ids="name")
    >>> table.columns["weight"], table.columns["colour"], table.ids.tolist()
    (array([4.5, nan]), array(['grey', 'black'], dtype=object), ['Tom', 'Kit'])
    """
    columns = _Columns(label, groups, ids, tuple(drop), labelled, empty_labels)
    with open_source(path, format) as source:
        match source.format:
            case "npz":
                table = _from_npz(arrays_of_npz(source.stream, source.where), source.where, columns)
            case "npy":
                array = read_array(source.stream, source.n_bytes, source.where)
                table = _from_npy(array, source.where, columns)
            case _:
                table = _from_frame(read_frame(source, keep_na=keep_na), source.where, columns)
    if not table.columns:
        raise ValueError(f"{table.where} has labels but no other column to measure distances with")
    if not len(table):
        raise ValueError(f"{table.where} is empty: it has no rows")
    if empty_labels and table.y is not None:
        return replace(table, y=none_where_empty(table.y))
    return table


def _from_npz(arrays: dict[str, Array], where: str, columns: _Columns) -> RawTable:
    if "X" not in arrays:
        raise ValueError(f"{where} must hold an array X, found {list_some(arrays) or 'none'}")
    X = arrays["X"]
    others = [name for name in arrays if name != "X"]
    label = _chosen_label(others, columns, where)
    y = None if label is None else arrays[label]
    groups = None if columns.groups is None else arrays[_find(others, columns.groups, where)]
    ids = None if columns.ids is None else arrays[_find(others, columns.ids, where)]
    parts = [part for part in (y, groups, ids) if part is not None]
    if X.ndim != 2 or any(part.shape != X.shape[:1] for part in parts):
        shapes = [str(part.shape) for part in (X, *parts)]
        raise ValueError(
            f"{where} must hold X with two dimensions and one label and group for each row, "
            f"found shapes {' and '.join(shapes)}"
        )
    words = arrays.get("feature_names")
    named = words is not None and words.shape == X.shape[1:]
    names = list(map(str, words if words is not None and named else range(X.shape[1])))
    left_out = {_find(names, name, where) for name in columns.drop}
    X = _as_floating(X, where)
    kept = {name: X[:, i] for i, name in enumerate(names) if name not in left_out}
    return RawTable(kept, y, groups, ids, where)


def _from_npy(cells: Array, where: str, columns: _Columns) -> RawTable:
    if cells.ndim != 2:
        raise ValueError(f"{where} must hold an array of two dimensions, found {cells.ndim}")
    X = _as_floating(cells, where)
    by_name = {str(column): X[:, column] for column in range(X.shape[1])}
    special, features = _assign(list(by_name), columns, where)
    return _raw_table(by_name, special, features, where)


def _from_frame(frame: pd.DataFrame, where: str, columns: _Columns) -> RawTable:
    special, features = _assign(list(frame.columns), columns, where)
    check_no_row_numbers(frame[features], where)
    titles = {"label": "label", "groups": "group", "ids": "id"}
    by_name = {
        name: frame[name].to_numpy()
        if purpose == "label" and columns.empty_labels
        else column_without_gaps(frame[name], titles[purpose], where)
        for purpose, name in special.items()
    }
    for name in features:
        try:
            by_name[name] = column_cells(frame_column(frame[name]))
        except TypeError as error:  # lists, bytes and the like, in a Parquet file
            raise ValueError(f"column {quote(name)} of {where}: {error}") from None
    return _raw_table(by_name, special, features, where)


def _raw_table(
    cells: Mapping[str, Array], special: dict[str, str], features: list[str], where: str
) -> RawTable:
    parts = {purpose: cells[name] for purpose, name in special.items()}
    return RawTable(
        {name: cells[name] for name in features},
        parts.get("label"),
        parts.get("groups"),
        parts.get("ids"),
        where,
    )


def _assign(names: list[str], columns: _Columns, where: str) -> tuple[dict[str, str], list[str]]:
    """Return the columns with labels, groups and ids, and those that are features."""
    dropped = {_find(names, name, where) for name in columns.drop}
    label = _chosen_label(names, columns, where)
    special = {purpose: _find(names, name, where) for purpose, name in columns.special.items()}
    if label is not None:
        special["label"] = label
    used: dict[str, str] = {}
    for purpose, name in sorted(special.items(), reverse=True):
        if name in dropped:
            raise ValueError(f"column {quote(name)} of {where} cannot be both dropped and used")
        # Labels may be the groups, too: whole classes are kept together then.
        if name in used and (used[name], purpose) != ("label", "groups"):
            raise ValueError(
                f"column {quote(name)} of {where} cannot be both {used[name]} and {purpose}"
            )
        used.setdefault(name, purpose)
    return special, [name for name in names if name not in dropped | set(used)]


def _as_floating(X: Array, where: str) -> FloatingArray:
    if X.dtype.kind not in "biuf":
        raise ValueError(f"{where} must hold numbers, found {X.dtype}")
    return X.astype(np.result_type(X.dtype, np.float32), copy=False)


def _chosen_label(names: list[str], columns: _Columns, where: str) -> str | None:
    if columns.label is None and not columns.labelled:
        return None if columns.labelled is False else _usual_label(names)
    return choose_label(names, columns.label, where)


def choose_label(names: list[str], label: str | None, where: str) -> str:
    """Return the column of the labels: the one called `label`, or one with a usual name."""
    if label is not None:
        return _find(names, label, where)
    if (usual := _usual_label(names)) is not None:
        return usual
    raise ValueError(
        f"{where} has no column called {', '.join(_USUAL_LABELS)}: say (--label) which of its "
        f"columns is the label: {list_some(names)}{_hint(names)}"
    )


def _usual_label(names: list[str]) -> str | None:
    by_usual_name = {name.lower(): name for name in names}
    return next((by_usual_name[usual] for usual in _USUAL_LABELS if usual in by_usual_name), None)


def _find(names: list[str], name: str, where: str) -> str:
    if name in names:
        return name
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    found = f"did you mean {' or '.join(map(quote, close))}?" if close else list_some(names)
    raise ValueError(f"{where} has no column {quote(name)}: {found}{_hint(names)}")


def _hint(names: list[str]) -> str:
    """Say so if there is one column only, or if the names of columns seem to be a row of data."""
    if single := separator_hint(names):
        return single
    # Many numbers, and not 0, 1, 2 …
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
