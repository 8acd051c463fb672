"""Finding a data set by its name: scikit-learn, the data folder, the cache, a download."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

import numpy as np

from likewise._runtime.arrays import Array, FloatingArray
from likewise._runtime.text import list_some, quote, quote_path
from likewise.datasets._arrays import read_npz
from likewise.datasets._dataset import Dataset
from likewise.datasets._download import Progress, cache_folder, download, is_intact, known_files
from likewise.datasets._openml import OPENML, load_openml

_SHIPPED = ("breast_cancer", "digits", "iris", "wine")
_NAME = re.compile(r"\w[\w.-]*")


def load(name: str, *, progress: Progress | None = None) -> Dataset:
    """Return a data set by name.

    Looked for in this order: what scikit-learn ships; ``NAME.npz`` in the folder
    ``$LIKEWISE_DATA``; the cache of earlier downloads; a download, from the mirror
    ``$LIKEWISE_DATA_URL`` (``URL/NAME.npz``, SHA-256 checked) or, where no mirror is set, from
    OpenML. Downloads are kept in ``$LIKEWISE_CACHE``, else in the user's cache folder.

    Parameters
    ----------
    name : str
        One of `names()`.
    progress : callable, optional
        Called with the bytes so far and the bytes in all while a mirror's file is copied.

    Returns
    -------
    Dataset
        Values of X are raw, and floating point whatever the file holds: differences of unsigned
        bytes would wrap around. Arrays with other names are in its `extra`.

    Examples
    --------
    >>> from likewise.datasets import load
    >>> iris = load("iris")
    >>> iris.X.shape, iris.classes
    ((150, 4), ('setosa', 'versicolor', 'virginica'))
    """
    if name in _SHIPPED:
        return _load_shipped(name)
    if (folder := _data_folder()) and _NAME.fullmatch(name):
        path = folder / f"{name}.npz"
        if os.path.isfile(path):  # unlike Path.is_file, also where the name is too long
            return _from_file(name, path)
    if name not in names():
        close = difflib.get_close_matches(name, names(), n=3, cutoff=0.6)
        near = f"did you mean {' or '.join(close)}?"
        hint = near if close else "likewise datasets lists all names"
        raise ValueError(f"there is no data set {quote(name)}; {hint}")
    return _from_cache(name) or _fetch(name, progress)


def names(*, local: bool = False) -> list[str]:
    """Return the names that `load` knows, in alphabetical order.

    Parameters
    ----------
    local : bool, default=False
        Only those that need no network now.

    Examples
    --------
    >>> from likewise.datasets import names
    >>> "digits" in names(local=True)
    True
    """
    found = {*_SHIPPED, *_files_in(_data_folder())}
    if local:
        found |= _files_in(cache_folder()) & set(known_files())
    else:
        found |= {*known_files(), *OPENML}
    return sorted(found)


def _load_shipped(name: str) -> Dataset:
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, f"load_{name}")()
    return Dataset(
        name=name,
        X=bunch.data,
        y=bunch.target,
        feature_names=tuple(map(str, bunch.feature_names)),
        classes=tuple(map(str, bunch.target_names)),
        source=f"Shipped with scikit-learn as load_{name}.",
    )


def _from_cache(name: str) -> Dataset | None:
    path = cache_folder() / f"{name}.npz"
    if name in known_files() and is_intact(path, known_files()[name]):
        return _from_file(name, path)
    return None


def _fetch(name: str, progress: Progress | None) -> Dataset:
    mirror = os.environ.get("LIKEWISE_DATA_URL", "").rstrip("/")
    folder = _data_folder()
    now = "none" if folder is None else quote_path(folder)
    remedy = f"put {name}.npz in the folder that LIKEWISE_DATA names (now {now})"
    try:
        if mirror and name in known_files():
            path = cache_folder() / f"{name}.npz"
            download(f"{mirror}/{name}.npz", path, known_files()[name], progress=progress)
            return _from_file(name, path)
        if name in OPENML:
            return load_openml(name, cache_folder() / "openml")
    except ConnectionError as error:
        raise ConnectionError(
            f"data set {quote(name)} is not on this machine and could not be downloaded ({error}): "
            f"{remedy}, or set LIKEWISE_DATA_URL to a mirror that can be reached"
        ) from error
    raise ConnectionError(
        f"data set {quote(name)} is not on this machine: {remedy}, "
        "or set LIKEWISE_DATA_URL to a mirror that has it"
    )


def _from_file(name: str, path: Path) -> Dataset:
    arrays = read_npz(path)
    if "y" not in arrays and {"pairs", "same"} <= arrays.keys():
        X, y = _rows(arrays, "X", path), None
        _check_pairs(arrays["pairs"], arrays["same"], path)
    else:
        X, y = _rows_and_labels(arrays, "X", "y", path)
    test = _rows_and_labels(arrays, "X_test", "y_test", path) if "X_test" in arrays else None
    column_names = "feature_names" if "feature_names" in arrays else "vocab"
    feature_names = _words(arrays.get(column_names), X.shape[1])
    used = {"X", "y", "X_test", "y_test", "classes"} | ({column_names} if feature_names else set())
    return Dataset(
        name=name,
        X=X,
        y=y,
        X_test=test[0] if test else None,
        y_test=test[1] if test else None,
        feature_names=feature_names,
        classes=_words(arrays.get("classes")),
        extra={key: array for key, array in arrays.items() if key not in used},
        source=f"Read from {quote_path(path)}.",
    )


def _rows_and_labels(
    arrays: dict[str, Array], rows: str, labels: str, path: Path
) -> tuple[FloatingArray, Array]:
    if rows not in arrays or labels not in arrays:
        found = list_some(arrays) or "none"
        raise ValueError(
            f"{quote_path(path)} must hold the arrays {rows} and {labels}, found {found}"
        )
    X, y = _rows(arrays, rows, path), arrays[labels]
    if y.shape != X.shape[:1]:
        raise ValueError(
            f"{quote_path(path)} must hold in {labels} one label for each row of {rows}, "
            f"found shapes {X.shape} and {y.shape}"
        )
    return X, y.astype(np.int64) if y.dtype.kind in "iu" else y


def _rows(arrays: dict[str, Array], rows: str, path: Path) -> FloatingArray:
    if rows not in arrays:
        raise ValueError(
            f"{quote_path(path)} must hold the array {rows}, found {list_some(arrays)}"
        )
    X = arrays[rows]
    if X.ndim != 2:
        raise ValueError(
            f"{quote_path(path)} must hold {rows} with two dimensions, found shape {X.shape}"
        )
    if X.dtype.kind not in "biuf":
        raise ValueError(f"{quote_path(path)} must hold numbers in {rows}, found {X.dtype}")
    # Bytes and short integers fit float32 exactly; longer integers need float64.
    return X.astype(np.result_type(X.dtype, np.float32), copy=False)


def _check_pairs(pairs: Array, same: Array, path: Path) -> None:
    if pairs.ndim != 2 or pairs.shape[1] != 2 or same.shape != pairs.shape[:1]:
        raise ValueError(
            f"{quote_path(path)} must hold two rows in each of its pairs and in same one judgement "
            f"for each pair, found shapes {pairs.shape} and {same.shape}"
        )


def _words(values: Array | None, count: int | None = None) -> tuple[str, ...] | None:
    if values is None or (count is not None and len(values) != count):
        return None
    return tuple(map(str, values))


def _data_folder() -> Path | None:
    folder = os.environ.get("LIKEWISE_DATA")
    return Path(folder).expanduser() if folder else None


def _files_in(folder: Path | None) -> set[str]:
    return {path.stem for path in folder.glob("*.npz") if path.is_file()} if folder else set()
