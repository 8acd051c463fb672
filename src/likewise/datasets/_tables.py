"""A table in a file becomes numbers and labels."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from likewise._runtime.arrays import Array, FloatingArray
from likewise.datasets._arrays import read_npy, read_npz

if TYPE_CHECKING:
    import pandas as pd

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".npz", ".npy")
_USUAL_LABELS = ("label", "class", "target", "y")


class Table(NamedTuple):
    """What `read_table` found."""

    X: FloatingArray
    y: Array
    feature_names: tuple[str, ...]
    groups: Array | None


class _Columns(NamedTuple):
    """What the columns of a table are for; the others are features."""

    label: str | None
    groups: str | None
    drop: tuple[str, ...]


def read_table(
    path: str | os.PathLike[str],
    label: str | None = None,
    *,
    groups: str | None = None,
    drop: Sequence[str] = (),
) -> Table:
    """Read rows and labels from a CSV, TSV, Parquet, NPZ or NPY file.

    Parameters
    ----------
    path : str or path
        The suffix decides how it is read. An NPZ file holds an array ``X`` and the labels; in an
        NPY file the columns are called 0, 1, …
    label : str, optional
        The column (in an NPZ file the array) with the labels; by default the one called label,
        class, target or y.
    groups : str, optional
        The column (in an NPZ file the array) with the group of each row.
    drop : sequence of str, optional
        Columns that are left out.

    Returns
    -------
    Table
        ``(X, y, feature_names, groups)``; an empty cell of X is NaN. `groups` is None unless they
        were asked for.

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
    if path.suffix.lower() not in TABLE_SUFFIXES:
        raise ValueError(
            f"{path} must end in {', '.join(TABLE_SUFFIXES)}, found {path.suffix or 'no suffix'!r}"
        )
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    columns = _Columns(label, groups, tuple(drop))
    match path.suffix.lower():
        case ".npz":
            table = _from_npz(path, columns)
        case ".npy":
            table = _from_npy(path, columns)
        case _:
            table = _from_frame(_read_frame(path), path, columns)
    if table.X.shape[0] == 0:
        raise ValueError(f"{path} is empty: it has no rows")
    if table.X.shape[1] == 0:
        raise ValueError(f"{path} has labels but no other column to measure distances with")
    return table


def _from_npz(path: Path, columns: _Columns) -> Table:
    arrays = read_npz(path)
    if "X" not in arrays:
        raise ValueError(f"{path} must hold an array X, found {', '.join(arrays) or 'none'}")
    X = arrays["X"]
    others = [name for name in arrays if name != "X"]
    y = arrays[_choose_label(others, columns, path)]
    groups = None if columns.groups is None else arrays[_find(others, columns.groups, path)]
    if X.ndim != 2 or any(part.shape != X.shape[:1] for part in (y, groups) if part is not None):
        shapes = [str(part.shape) for part in (X, y, groups) if part is not None]
        raise ValueError(
            f"{path} must hold X with two dimensions and one label and group for each row, "
            f"found shapes {' and '.join(shapes)}"
        )
    words = arrays.get("feature_names")
    named = words is not None and words.shape == X.shape[1:]
    names = list(map(str, words if words is not None and named else range(X.shape[1])))
    left_out = [names.index(_find(names, name, path)) for name in columns.drop]
    X = _as_floating(np.delete(X, left_out, axis=1) if left_out else X, path)
    return Table(X, y, tuple(np.delete(names, left_out).tolist()), groups)


def _from_npy(path: Path, columns: _Columns) -> Table:
    cells = read_npy(path)
    if cells.ndim != 2:
        raise ValueError(f"{path} must hold an array of two dimensions, found {cells.ndim}")
    names = [str(column) for column in range(cells.shape[1])]
    label, groups, features = _assign(names, columns, path)
    X = _as_floating(cells[:, [int(name) for name in features]], path)
    grouped = None if groups is None else cells[:, int(groups)]
    return Table(X, cells[:, int(label)], tuple(features), grouped)


def _assign(names: list[str], columns: _Columns, path: Path) -> tuple[str, str | None, list[str]]:
    """Return the columns with labels and with groups, and those that are features."""
    dropped = {_find(names, name, path) for name in columns.drop}
    label = _choose_label(names, columns, path)
    groups = None if columns.groups is None else _find(names, columns.groups, path)
    if label in dropped or groups in dropped:
        name = label if label in dropped else groups
        raise ValueError(f"column {name!r} of {path} cannot be both dropped and used")
    if label == groups:
        raise ValueError(f"column {label!r} of {path} cannot be both the label and the groups")
    return label, groups, [name for name in names if name not in dropped | {label, groups}]


def _as_floating(X: Array, path: Path) -> FloatingArray:
    if X.dtype.kind not in "biuf":
        raise ValueError(f"{path} must hold numbers, found {X.dtype}")
    return X.astype(np.result_type(X.dtype, np.float32), copy=False)


def _read_frame(path: Path) -> pd.DataFrame:
    try:
        import pandas as pd

        if path.suffix.lower() == ".parquet":
            import pyarrow  # noqa: F401 - to distinguish its absence from a bad file
    except ImportError as error:
        raise ImportError(
            f'reading {path.suffix} files needs what comes with pip install "likewise[tables]"'
        ) from error
    try:
        if path.suffix.lower() == ".parquet":
            return pd.read_parquet(path)
        return pd.read_csv(path, sep="\t" if path.suffix.lower() == ".tsv" else ",")
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"{path} is empty") from error
    except (ValueError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"{path} cannot be read as {path.suffix[1:]}: {reason}") from error


def _from_frame(frame: pd.DataFrame, path: Path, columns: _Columns) -> Table:
    frame.columns = frame.columns.map(str)
    label, groups, features = _assign(list(frame.columns), columns, path)
    _check_no_row_numbers(frame[features], path)
    numbers = [_as_numbers(frame[name], path) for name in features]
    X = np.column_stack(numbers) if numbers else np.empty((len(frame), 0))
    y = _without_gaps(frame[label], "label", path)
    grouped = None if groups is None else _without_gaps(frame[groups], "group", path)
    return Table(X, y, tuple(features), grouped)


def _without_gaps(column: pd.Series[Any], what: str, path: Path) -> Array:
    if (missing := column.isna().to_numpy()).any():
        raise ValueError(
            f"{what} column {column.name!r} of {path} has {missing.sum()} empty cells, "
            f"the first in row {missing.argmax() + 1}"
        )
    return column.to_numpy()


def _check_no_row_numbers(frame: pd.DataFrame, path: Path) -> None:
    """Rows are often sorted by class, and then their numbers would be the best of features."""
    first = frame.columns[0] if len(frame.columns) else ""
    if first.startswith("Unnamed") and len(frame) > 1:
        numbers = frame[first].to_numpy()
        if numbers.dtype.kind in "iu" and (np.diff(numbers) == 1).all():
            raise ValueError(
                f"{path} begins with a column without a name that only numbers its rows; remove it "
                "(pandas writes none with index=False)"
            )


def _as_numbers(column: pd.Series[Any], path: Path) -> FloatingArray:
    import pandas as pd

    single = str(column.dtype).lower() == "float32"
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)
    # Text that reads as a number is a number: a stray empty cell must not condemn a column.
    numbers = pd.to_numeric(column.astype(str).where(column.notna()), errors="coerce")
    unreadable = (numbers.isna() & column.notna()).to_numpy()
    if unreadable.any():
        row = int(unreadable.argmax())
        raise ValueError(
            f"column {column.name!r} of {path} must hold numbers, found {column.iloc[row]!r} in "
            f"row {row + 1}; drop the column, turn it into numbers, or make it the label"
        )
    return numbers.to_numpy(dtype=np.float64, na_value=np.nan)


def _choose_label(names: list[str], columns: _Columns, path: Path) -> str:
    if columns.label is not None:
        return _find(names, columns.label, path)
    by_usual_name = {name.lower(): name for name in names}
    for usual in _USUAL_LABELS:
        if usual in by_usual_name:
            return by_usual_name[usual]
    raise ValueError(
        f"{path} has no column called {', '.join(_USUAL_LABELS)}: say which of its columns "
        f"is the label: {_list_some(names)}"
    )


def _find(names: list[str], name: str, path: Path) -> str:
    if name in names:
        return name
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    found = f"did you mean {' or '.join(map(repr, close))}?" if close else _list_some(names)
    raise ValueError(f"{path} has no column {name!r}: {found}")


def _list_some(columns: list[str]) -> str:
    return ", ".join(columns[:8]) + (f", … ({len(columns)} in all)" if len(columns) > 8 else "")
