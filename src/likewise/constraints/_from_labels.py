"""How labels become pairs and triplets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from likewise import _loops, neighbors
from likewise._runtime.arrays import Array, BoolArray, IndexArray
from likewise._runtime.blocks import require_in_memory
from likewise._runtime.tensors import is_tensor, to_numpy
from likewise._runtime.validation import (
    TableLike,
    check_finite,
    pluralize,
)
from likewise.constraints._chunks import split_by
from likewise.constraints._class_sizes import check_class_sizes, check_other_classes
from likewise.constraints._row_labels import encode_row_labels
from likewise.constraints._tuples import Pairs, Triplets
from likewise.neighbors._arguments import Algorithm
from likewise.neighbors._own_class import nearest_in_large_classes, rows_of_large_classes

# A class up to this size is not worth a search of its own: identities with few pictures each may
# be thousands.
_SMALL_CLASS = 32
_PAIRS_AT_ONCE = 1 << 22


def target_neighbors(
    X: TableLike,
    y: ArrayLike,
    n_neighbors: int = 3,
    *,
    algorithm: Algorithm = "auto",
    n_jobs: int | None = None,
) -> IndexArray:
    """Pair each row with its `n_neighbors` nearest rows of the same class, nearest first.

    Returns an array of shape (n_pairs, 2), row by row. A row of a class with fewer others has
    fewer pairs. `algorithm` is that of `likewise.neighbors.nearest`.

    Examples
    --------
    >>> target_neighbors([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"], 1).tolist()
    [[0, 1], [1, 0], [2, 3], [3, 2]]
    """
    data = _Labelled.checked(X, y)
    check_class_sizes(data.codes, data.classes, n_neighbors, "n_neighbors")
    return nearest_of_own_class(data.X, data.codes, n_neighbors, algorithm=algorithm, n_jobs=n_jobs)


def nearest_of_own_class(
    X: Array,
    codes: IndexArray,
    n_neighbors: int,
    *,
    algorithm: Algorithm = "auto",
    n_jobs: int | None = None,
) -> IndexArray:
    """Return the pairs of `target_neighbors` for validated rows and classes."""
    found = _nearest_of_own_class(X, codes, n_neighbors, n_jobs, algorithm)
    rows, places = np.nonzero(found >= 0)
    return np.column_stack([rows, found[rows, places]])


def nearest_and_farthest_pairs(
    X: TableLike, y: ArrayLike, n_neighbors: int = 1, *, n_jobs: int | None = None
) -> Pairs:
    """Pair each row with its nearest rows of its class and its farthest of the other classes.

    The constraint set of PCML and NCML: row by row, first `n_neighbors` *same* pairs, then as many
    different ones. Where a row has fewer partners, there are fewer pairs.

    Examples
    --------
    >>> pairs = nearest_and_farthest_pairs([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    >>> pairs.index[:2].tolist()
    [[0, 1], [0, 3]]
    """
    data = _Labelled.checked(X, y)
    check_class_sizes(data.codes, data.classes, n_neighbors, "n_neighbors")
    check_other_classes(data.codes, data.classes, n_neighbors, "n_neighbors")
    same = _nearest_of_own_class(data.X, data.codes, n_neighbors, n_jobs)
    different = _of_other_classes(data, n_neighbors, neighbors.farthest, n_jobs)
    return _pairs_of(same, different)


def doublets(
    X: TableLike,
    y: ArrayLike,
    n_same: int = 2,
    n_different: int = 2,
    *,
    n_jobs: int | None = None,
) -> Pairs:
    """Pair each row with its nearest rows of its class and its nearest of the other classes.

    The constraint set of doublet-SVM: row by row, first `n_same` *same* pairs, then the
    `n_different` different ones. Where a row has fewer partners, there are fewer pairs.

    Examples
    --------
    >>> pairs = doublets([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1], 1, 1)
    >>> pairs.index[:2].tolist()
    [[0, 1], [0, 2]]
    """
    return _pairs_of(*_nearest_same_and_different(X, y, n_same, n_different, n_jobs))


def triplets(
    X: TableLike,
    y: ArrayLike,
    n_same: int = 2,
    n_different: int = 2,
    *,
    n_jobs: int | None = None,
) -> Triplets:
    """Join each row's nearest rows of its class with its nearest of the other classes.

    The constraint set of triplet-SVM: the product of the two halves of `doublets`.

    Examples
    --------
    >>> triplets([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1], 1, 1).index[0].tolist()
    [0, 1, 2]
    """
    same, different = _nearest_same_and_different(X, y, n_same, n_different, n_jobs)
    n_rows = len(same)
    index = np.empty((n_rows, n_same, n_different, 3), dtype=np.int64)
    index[..., 0] = np.arange(n_rows)[:, None, None]
    index[..., 1] = same[:, :, None]
    index[..., 2] = different[:, None, :]
    return Triplets(index[(index >= 0).all(axis=-1)])


def _nearest_same_and_different(
    X: TableLike, y: ArrayLike, n_same: int, n_different: int, n_jobs: int | None
) -> tuple[IndexArray, IndexArray]:
    """Return the nearest rows of each row in its class, and those in other classes."""
    data = _Labelled.checked(X, y)
    check_class_sizes(data.codes, data.classes, n_same, "n_same")
    check_other_classes(data.codes, data.classes, n_different, "n_different")
    same = _nearest_of_own_class(data.X, data.codes, n_same, n_jobs)
    return same, _of_other_classes(data, n_different, neighbors.nearest, n_jobs)


def _pairs_of(same: IndexArray, different: IndexArray) -> Pairs:
    """Return the pairs row by row: first the *same* pairs, then the *different* ones."""
    partners = np.concatenate([same, different], axis=1)
    rows, places = np.nonzero(partners >= 0)
    return Pairs(np.column_stack([rows, partners[rows, places]]), places < same.shape[1])


@dataclass(frozen=True, eq=False)
class _Labelled:
    """Rows and their classes, checked once."""

    X: Array
    codes: IndexArray
    classes: Array

    @classmethod
    def checked(cls, X: Any, y: Any) -> _Labelled:
        """Take what a user gave, or say what is wrong with it."""
        require_in_memory(X, "X", "this function")
        if sp.issparse(X):
            raise ValueError("X is sparse, but a dense table is needed: X.toarray() makes one.")
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(
                f"X has {pluralize(X.ndim, 'dimension')}, but a table of rows is needed."
            )
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        X = np.ascontiguousarray(X, dtype=dtype)
        check_finite(X, "X")
        classes, codes = encode_row_labels(y)
        if len(codes) != len(X):
            raise ValueError(f"X has {len(X)} rows but y has {len(codes)} labels; they must match.")
        return cls(X, codes, classes)

    def sizes(self) -> IndexArray:
        """Return the number of rows of each class."""
        return np.bincount(self.codes)


def _nearest_of_own_class(
    X: Array, codes: IndexArray, count: int, n_jobs: int | None, algorithm: Algorithm = "auto"
) -> IndexArray:
    """Return for each row the `count` nearest of its class, and -1 where there are no more."""
    found = np.full((len(X), count), -1, dtype=np.int64)
    searched = _search_large_classes(X, codes, found, n_jobs, algorithm)
    waiting: list[IndexArray] = []
    n_pairs = 0
    for members in split_by(codes, np.arange(len(codes))):
        if len(members) < 2 or searched[members[0]]:
            continue
        if len(members) > _SMALL_CLASS:
            rows, n_found = X[members], min(count, len(members) - 1)
            _, index = neighbors.nearest(
                rows, rows, n_found, exclude_self=True, algorithm=algorithm, n_jobs=n_jobs
            )
            found[members, :n_found] = members[to_numpy(index)]
            continue
        waiting.append(members)
        n_pairs += len(members) ** 2
        if n_pairs > _PAIRS_AT_ONCE:
            _search_small_classes(X, waiting, found, n_jobs)
            waiting, n_pairs = [], 0
    if waiting:
        _search_small_classes(X, waiting, found, n_jobs)
    return found


def _search_large_classes(
    X: Array, codes: IndexArray, found: IndexArray, n_jobs: int | None, algorithm: Algorithm
) -> BoolArray:
    """Search large classes together where that is faster; return of which rows."""
    searched = np.zeros(len(X), dtype=bool)
    if is_tensor(X) or algorithm != "auto":
        return searched
    rows = rows_of_large_classes(codes)
    if not len(rows):
        return searched
    nearest = nearest_in_large_classes(
        X if len(rows) == len(X) else X[rows], codes[rows], found.shape[1], n_jobs=n_jobs
    )
    if nearest is not None:
        found[rows] = rows[nearest[1]]
        searched[rows] = True
    return searched


def _search_small_classes(
    X: Array, classes: list[IndexArray], found: IndexArray, n_jobs: int | None
) -> None:
    """Rank all pairs within each of many small classes at once."""
    first = np.concatenate([np.repeat(members, len(members)) for members in classes])
    second = np.concatenate([np.tile(members, len(members)) for members in classes])
    first, second = first[first != second], second[first != second]
    if is_tensor(X):
        rows = np.sort(np.concatenate(classes))
        near, far = (np.searchsorted(rows, part) for part in (first, second))
        distance = _loops.pair_sqdist(to_numpy(X[rows]), near, far, n_jobs=n_jobs)
    else:
        distance = _loops.pair_sqdist(X, first, second, n_jobs=n_jobs)
    order = np.lexsort((second, distance, first))
    first, second = first[order], second[order]
    rank = np.arange(len(first)) - np.searchsorted(first, first)
    kept = rank < found.shape[1]
    found[first[kept], rank[kept]] = second[kept]


def _of_other_classes(
    data: _Labelled,
    count: int,
    search: Callable[..., tuple[Array, IndexArray]],
    n_jobs: int | None,
) -> IndexArray:
    """Return for each row the first `count` rows of other classes that `search` finds.

    Where there are fewer, the rest is -1.
    """
    sizes = data.sizes()
    found = np.full((len(data.X), count), -1, dtype=np.int64)
    for code in np.flatnonzero(sizes > _SMALL_CLASS).tolist():
        own, other = np.flatnonzero(data.codes == code), np.flatnonzero(data.codes != code)
        n_found = min(count, len(other))
        _, index = search(data.X[own], data.X[other], n_found, n_jobs=n_jobs)
        found[own, :n_found] = other[index]
    own = np.flatnonzero(sizes[data.codes] <= _SMALL_CLASS)
    if len(own):
        # At most one small class belongs to the row itself: the others are enough.
        enough = min(count + int(sizes[data.codes[own]].max()), len(data.X))
        _, index = search(data.X[own], data.X, enough, n_jobs=n_jobs)
        of_own_class = data.codes[index] == data.codes[own][:, None]
        others_first = np.argsort(of_own_class, axis=1, kind="stable")[:, :count]
        partners = np.take_along_axis(index, others_first, axis=1)
        partners[np.take_along_axis(of_own_class, others_first, axis=1)] = -1
        found[own] = partners
    return found
