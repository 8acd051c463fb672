"""Reading items from tables, JSON lines, arrays and folders of images."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.reading import check_readable
from likewise._runtime.text import list_some, quote, quote_path, reason
from likewise._runtime.validation import pluralize
from likewise.datasets._arrays import read_array, read_npz
from likewise.datasets._frames import read_frame
from likewise.datasets._sources import open_source
from likewise.live._images import image_files, thumbnails, without_broken
from likewise.live.items import Items, check_counterparts

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_items"]

_SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl", ".npy", ".npz")


def read_items(
    data: str | os.PathLike[str],
    *,
    vectors: str | None = None,
    id_column: str | None = None,
    text_column: str | None = None,
    drop: Sequence[str] = (),
) -> Items:
    """Read items from a file or a folder of images.

    Parameters
    ----------
    data : str or path
        A CSV, TSV or Parquet table, JSON lines (.jsonl), an array (.npy, .npz) or a folder of
        images, which are taken in the order of their names.
    vectors : str, optional
        An .npy file with a row per item, or the column that holds a list of numbers per item. By
        default the numeric columns of the table, each centred and divided by its standard
        deviation (an empty cell counts as the mean); of images, 16 × 16 grey pixels.
    id_column : str, optional
        Ids of the items; by default the column *id* if there is one, else the row numbers. The id
        of an image is its name.
    text_column : str, optional
        Show this column as text, with differences marked. By default the column *text* if there is
        one; without it, items are shown as rows of a table.
    drop : sequence of str
        Columns that are neither shown nor used.

    Returns
    -------
    Items

    Examples
    --------
    >>> from pathlib import Path
    >>> from likewise.live import read_items
    >>> _ = Path("teas.csv").write_text("id,name,price\\nt1,Assam,3\\nt2,Assam tea,4\\n")
    >>> items = read_items("teas.csv")
    >>> items.shown(0)["cells"]
    {'name': 'Assam', 'price': '3'}
    """
    path = Path(data)
    columns = {"id_column": id_column, "text_column": text_column, "drop": drop or None}
    if path.is_dir():
        _refuse_columns(columns, f"{quote_path(path)} is a folder of images")
        return _from_folder(path, vectors)
    if path.suffix.lower() not in _SUFFIXES:
        raise ValueError(
            f"{quote_path(path)} must be a folder of images or end in {', '.join(_SUFFIXES)}."
        )
    check_readable(path, "a table of items")
    if path.suffix.lower() in (".npy", ".npz"):
        _refuse_columns(columns, f"{quote_path(path)} is an array")
        if vectors is not None:
            raise ValueError("vectors are given twice: the items are an array themselves.")
        return Items(_array(path))
    if path.suffix.lower() == ".jsonl":
        frame = _read_json_lines(path)
    else:
        with open_source(path, None) as source:
            frame = read_frame(source)
    return _from_frame(frame, quote_path(path), vectors, id_column, text_column, drop)


def _refuse_columns(columns: dict[str, Any], found: str) -> None:
    """Raise an error if a column is named of what has none."""
    for name, given in columns.items():
        if given is not None:
            raise ValueError(
                f"{name}={quote(given)} is not allowed: {found}, and only tables have columns."
            )


def _array(path: Path) -> Array:
    check_readable(path, "an array of vectors")
    if path.suffix.lower() == ".npz":
        arrays = read_npz(path)
        if "X" not in arrays:
            raise ValueError(f"{quote_path(path)} must hold an array X, found {list_some(arrays)}.")
        X = arrays["X"]
    else:
        with path.open("rb") as stream:
            X = read_array(stream, path.stat().st_size, quote_path(path))
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(
            f"{quote_path(path)} must hold a table of numbers, found shape {X.shape} of {X.dtype}."
        )
    return X


def _read_json_lines(path: Path) -> pd.DataFrame:
    import pandas as pd

    rows = []
    with open(path, "rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line.decode("utf-8"))
            except UnicodeDecodeError:
                raise ValueError(
                    f"line {number} of {quote_path(path)} is not UTF-8, but JSON lines must be."
                ) from None
            except ValueError as error:
                raise ValueError(
                    f"line {number} of {quote_path(path)} is not JSON ({reason(error)})."
                ) from None
            if not isinstance(row, dict):
                raise ValueError(
                    f"line {number} of {quote_path(path)} must be an object, found {quote(row)}."
                )
            rows.append(row)
    return pd.DataFrame(rows)


def _from_frame(
    frame: pd.DataFrame,
    where: str,
    vectors: str | None,
    id_column: str | None,
    text_column: str | None,
    drop: Sequence[str],
) -> Items:
    for name in (id_column, text_column, *drop):
        if name is not None and name not in frame.columns:
            raise ValueError(
                f"{where} has no column {quote(name)}; it has {list_some(frame.columns)}."
            )
    check_counterparts(len(frame))
    frame = frame.drop(columns=list(drop))
    if id_column is None and "id" in frame.columns:
        id_column = "id"
    if text_column is None and "text" in frame.columns:
        text_column = "text"
    ids = None
    if id_column is not None:
        if frame[id_column].isna().any():
            raise ValueError(f"column {quote(id_column)} of {where} has empty cells.")
        ids = [str(value) for value in frame[id_column]]
        frame = frame.drop(columns=id_column)
    X, used = _vectors(frame, where, vectors)
    shown = frame.drop(columns=[used]) if used is not None else frame
    if text_column is not None:
        texts = ["" if cell is None else str(cell) for cell in _cells(shown[text_column])]
        return Items(X, ids, "text", {"text": texts})
    return Items(X, ids, "row", {name: _cells(shown[name]) for name in shown.columns})


def _cells(column: pd.Series[Any]) -> list[Any]:
    """Return the values of a column, None for each of the missing ones that pandas knows."""
    missing = column.isna()
    return [None if gap else value for value, gap in zip(column.tolist(), missing, strict=True)]


def _vectors(frame: pd.DataFrame, where: str, vectors: str | None) -> tuple[Array, str | None]:
    """Return the vectors, and the column that they were in."""
    if vectors is None:
        return _from_numbers(frame, where), None
    if vectors in frame.columns:
        return _from_lists(frame[vectors], where), vectors
    if not vectors.endswith((".npy", ".npz")):
        raise ValueError(
            f"vectors={quote(vectors)} is neither a column of {where} nor an .npy file; columns "
            f"are {list_some(frame.columns)}."
        )
    X = _array(Path(vectors))
    if len(X) != len(frame):
        raise ValueError(
            f"{quote(vectors)} has {len(X)} vectors, but {where} has {len(frame)} items."
        )
    return X, None


def _from_lists(column: pd.Series[Any], where: str) -> Array:
    try:
        values = [json.loads(v) if isinstance(v, str) else v for v in column]
        return np.array([np.asarray(value, dtype=np.float32) for value in values])
    except (TypeError, ValueError):
        raise ValueError(
            f"column {quote(column.name)} of {where} must hold lists of equally many numbers."
        ) from None


def _from_numbers(frame: pd.DataFrame, where: str) -> Array:
    numbers = frame.select_dtypes("number").to_numpy(dtype=np.float64, na_value=np.nan)
    with np.errstate(all="ignore"):
        mean, deviation = np.nanmean(numbers, axis=0), np.nanstd(numbers, axis=0)
    varying = np.isfinite(mean) & (deviation > 0)
    if not varying.any():
        raise ValueError(
            f"{where} has no numeric column that varies: give vectors, a column of lists or an "
            ".npy file."
        )
    X = (numbers[:, varying] - mean[varying]) / deviation[varying]
    return np.asarray(np.nan_to_num(X, nan=0.0), dtype=np.float32)


def _from_folder(folder: Path, vectors: str | None) -> Items:
    files = image_files(folder)
    if not files:
        raise ValueError(f"the folder {quote_path(folder)} has no images (PNG, JPEG, GIF, WebP).")
    if vectors is not None:
        X = _array(Path(vectors))
        if len(X) != len(files):
            raise ValueError(
                f"{quote(vectors)} has {len(X)} vectors, but {quote_path(folder)} has "
                f"{len(files)} images."
            )
        good = without_broken(files)
        X = X[good]
    else:
        X, good = thumbnails(files)
    notices = []
    if len(good) < len(files):
        kept = set(good)
        broken = [path.name for row, path in enumerate(files) if row not in kept]
        notices.append(
            f"{pluralize(len(broken), 'image')} could not be decoded and "
            f"{'is' if len(broken) == 1 else 'are'} left out: {list_some(broken, 4)}."
        )
    chosen = [files[row] for row in good]
    ids = [path.relative_to(folder).as_posix() for path in chosen]
    return Items(X, ids, "image", {"file": chosen}, notices)
