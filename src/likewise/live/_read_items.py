"""Reading items from tables, JSON lines, arrays and folders of images."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.reading import check_readable
from likewise._runtime.text import list_some, quote, quote_path
from likewise._runtime.validation import pluralize
from likewise.datasets._arrays import read_array, read_npz
from likewise.datasets._frames import as_written, read_frame
from likewise.datasets._sources import open_source
from likewise.live._images import image_files, thumbnails, without_broken
from likewise.live._json_lines import read_json_lines
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
        images, which are taken in the order of their names. Ids and cells of CSV and TSV tables
        are shown as they are written: 007 is not 7, and NA is a word.
    vectors : str, optional
        An .npy file with a row per item, or the column that holds a list of numbers per item. By
        default the numeric columns of the table, each centred and divided by its standard
        deviation (an empty cell, or NA, counts as the mean); of images, 16 × 16 grey pixels.
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
    roles = _Roles(quote_path(path), vectors, id_column, text_column, tuple(drop))
    if path.suffix.lower() == ".jsonl":
        frame = read_json_lines(path)
        roles = roles.checked(frame)
        return _from_frame(frame, roles, {name: frame[name] for name in roles.shown(frame)})
    with open_source(path, None) as source:
        frame = read_frame(source)
        roles = roles.checked(frame)
        return _from_frame(frame, roles, as_written(source, frame, roles.shown(frame)))


@dataclass(frozen=True)
class _Roles:
    """Which column of a table is what."""

    where: str
    vectors: str | None
    id: str | None
    text: str | None
    drop: tuple[str, ...]

    def checked(self, frame: pd.DataFrame) -> _Roles:
        """Return them with those that a table has by default, or raise a ValueError."""
        named = {"vectors": self.vectors, "id_column": self.id, "text_column": self.text}
        for name in (self.id, self.text, *self.drop):
            if name is not None and name not in frame.columns:
                raise ValueError(
                    f"{self.where} has no column {quote(name)}; it has {list_some(frame.columns)}."
                )
        for role, name in named.items():
            if name is not None and name in self.drop:
                raise ValueError(
                    f"{role}={quote(name)} is not allowed: drop says to leave this column out."
                )
        check_counterparts(len(frame))
        free = {name for name in frame.columns if name not in (*self.drop, self.vectors)}
        return replace(
            self,
            id="id" if self.id is None and "id" in free else self.id,
            text="text" if self.text is None and "text" in free else self.text,
        )

    def shown(self, frame: pd.DataFrame) -> list[str]:
        """Return the columns that are ids or are shown."""
        if self.text is not None:
            return list(dict.fromkeys(filter(None, (self.id, self.text))))
        hidden = {*self.drop, self.vectors} - {self.id}
        return [name for name in frame.columns if name not in hidden]


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


def _from_frame(frame: pd.DataFrame, roles: _Roles, cells: dict[str, pd.Series[Any]]) -> Items:
    """Return the items of a table, and of `cells` what is shown of them."""
    ids = None
    if roles.id is not None:
        ids = _texts(cells[roles.id])
        if "" in ids:
            raise ValueError(
                f"column {quote(roles.id)} of {roles.where} has empty cells, the first in row "
                f"{ids.index('') + 1}."
            )
    X = _vectors(frame, roles)
    if roles.text is not None:
        return Items(X, ids, "text", {"text": _texts(cells[roles.text])})
    columns = {name: _cells(cells[name]) for name in cells if name != roles.id}
    return Items(X, ids, "row", columns)


def _texts(column: pd.Series[Any]) -> list[str]:
    """Return the values of a column as text, an empty one for each that is missing."""
    return ["" if value is None else str(value) for value in _cells(column)]


def _cells(column: pd.Series[Any]) -> list[Any]:
    """Return the values of a column, None for each of the missing ones that pandas knows."""
    missing = column.isna()
    return [None if gap else value for value, gap in zip(column.tolist(), missing, strict=True)]


def _vectors(frame: pd.DataFrame, roles: _Roles) -> Array:
    name = roles.vectors
    if name is None:
        unused = {roles.id, *roles.drop} - {None}
        return _from_numbers(frame.drop(columns=list(unused)), roles.where)
    if name in frame.columns:
        return _from_lists(frame[name], roles.where)
    if not name.endswith((".npy", ".npz")):
        raise ValueError(
            f"vectors={quote(name)} is neither a column of {roles.where} nor an .npy file; columns "
            f"are {list_some(frame.columns)}."
        )
    X = _array(Path(name))
    if len(X) != len(frame):
        raise ValueError(
            f"{quote(name)} has {len(X)} vectors, but {roles.where} has {len(frame)} items."
        )
    return X


def _from_lists(column: pd.Series[Any], where: str) -> Array:
    vectors: list[Array] = []
    for row, value in enumerate(_cells(column), start=1):
        vector = _numbers(value)
        if vector is not None and len(vector) == len((vectors or [vector])[0]):
            vectors.append(vector)
            continue
        found = "an empty cell" if value is None else quote(value)
        before = ""
        if vector is not None:
            found, before = pluralize(len(vector), "number"), f", but {len(vectors[0])} in row 1"
        raise ValueError(
            f"column {quote(column.name)} of {where} must hold lists of equally many numbers, "
            f"found {found} in row {row}{before}."
        )
    return np.array(vectors)


def _numbers(value: Any) -> Array | None:
    """Return a list of finite numbers as an array, None if it is none."""
    try:
        vector = np.asarray(json.loads(value) if isinstance(value, str) else value, np.float32)
    except (TypeError, ValueError):
        return None
    return vector if vector.ndim == 1 and np.isfinite(vector).all() else None


def _from_numbers(frame: pd.DataFrame, where: str) -> Array:
    numbers = frame.select_dtypes("number").to_numpy(dtype=np.float64, na_value=np.nan)
    numbers = numbers[:, ~np.isnan(numbers).all(axis=0)]  # an empty column has no mean
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
        if len(good) < 2:
            raise ValueError(
                f"{pluralize(len(broken), 'image')} of {len(files)} in {quote_path(folder)} could "
                f"not be decoded ({list_some(broken, 4)}), but two that can be are needed."
            )
        notices.append(
            f"{pluralize(len(broken), 'image')} could not be decoded and "
            f"{'is' if len(broken) == 1 else 'are'} left out: {list_some(broken, 4)}."
        )
    chosen = [files[row] for row in good]
    ids = [path.relative_to(folder).as_posix() for path in chosen]
    return Items(X, ids, "image", {"file": chosen}, notices)
