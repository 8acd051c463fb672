"""A table in a file becomes numbers and labels."""

from __future__ import annotations

import difflib
import os
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


def read_table(path: str | os.PathLike[str], label: str | None = None) -> Table:
    """Read rows and labels from a CSV, TSV, Parquet, NPZ or NPY file.

    Parameters
    ----------
    path : str or path
        The suffix decides how it is read. An NPZ file holds an array ``X`` and the labels; in an
        NPY file the columns are called 0, 1, …
    label : str, optional
        The column (in an NPZ file the array) with the labels; by default the one called label,
        class, target or y.

    Returns
    -------
    Table
        ``(X, y, feature_names)``; an empty cell of X is NaN.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from likewise.datasets import read_table
    >>> path = Path(tempfile.mkdtemp()) / "small.npz"
    >>> np.savez(path, X=[[1.0, 2.0], [3.0, 4.0]], y=["cat", "dog"])
    >>> X, y, feature_names = read_table(path)
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
    match path.suffix.lower():
        case ".npz":
            table = _from_npz(path, label)
        case ".npy":
            table = _from_npy(path, label)
        case _:
            table = _from_frame(_read_frame(path), path, label)
    if table.X.shape[0] == 0:
        raise ValueError(f"{path} is empty: it has no rows")
    if table.X.shape[1] == 0:
        raise ValueError(f"{path} has labels but no other column to measure distances with")
    return table


def _from_npz(path: Path, label: str | None) -> Table:
    arrays = read_npz(path)
    if "X" not in arrays:
        raise ValueError(f"{path} must hold an array X, found {', '.join(arrays) or 'none'}")
    X = arrays["X"]
    y = arrays[_choose_label([name for name in arrays if name != "X"], label, path)]
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(
            f"{path} must hold X with two dimensions and one label for each row, "
            f"found shapes {X.shape} and {y.shape}"
        )
    words = arrays.get("feature_names")
    named = words is not None and words.shape == X.shape[1:]
    names = map(str, words) if words is not None and named else map(str, range(X.shape[1]))
    return Table(_as_floating(X, path), y, tuple(names))


def _from_npy(path: Path, label: str | None) -> Table:
    cells = read_npy(path)
    if cells.ndim != 2:
        raise ValueError(f"{path} must hold an array of two dimensions, found {cells.ndim}")
    names = [str(column) for column in range(cells.shape[1])]
    chosen = int(_choose_label(names, label, path))
    X = np.delete(cells, chosen, axis=1)
    return Table(_as_floating(X, path), cells[:, chosen], tuple(np.delete(names, chosen).tolist()))


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


def _from_frame(frame: pd.DataFrame, path: Path, label: str | None) -> Table:
    frame.columns = frame.columns.map(str)
    _check_no_row_numbers(frame, path)
    chosen = _choose_label(list(frame.columns), label, path)
    labels, features = frame[chosen], frame.drop(columns=chosen)
    if (missing := labels.isna().to_numpy()).any():
        raise ValueError(
            f"label column {chosen!r} of {path} has {missing.sum()} empty cells, "
            f"the first in row {missing.argmax() + 1}"
        )
    columns = [_as_numbers(features[name], path) for name in features.columns]
    X = np.column_stack(columns) if columns else np.empty((len(frame), 0))
    return Table(X, labels.to_numpy(), tuple(features.columns))


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


def _choose_label(columns: list[str], label: str | None, path: Path) -> str:
    if label is None:
        by_usual_name = {name.lower(): name for name in columns}
        for usual in _USUAL_LABELS:
            if usual in by_usual_name:
                return by_usual_name[usual]
        raise ValueError(
            f"{path} has no column called {', '.join(_USUAL_LABELS)}: say which of its columns "
            f"is the label: {_list_some(columns)}"
        )
    if label in columns:
        return label
    close = difflib.get_close_matches(label, columns, n=3, cutoff=0.5)
    found = f"did you mean {' or '.join(map(repr, close))}?" if close else _list_some(columns)
    raise ValueError(f"{path} has no column {label!r}: {found}")


def _list_some(columns: list[str]) -> str:
    return ", ".join(columns[:8]) + (f", … ({len(columns)} in all)" if len(columns) > 8 else "")
