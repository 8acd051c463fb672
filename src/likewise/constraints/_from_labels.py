"""How labels become pairs and triplets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from likewise import _loops, neighbors
from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.validation import (
    TableLike,
    at_least,
    check_class_sizes,
    check_finite,
    check_parameters,
    encode_labels,
    format_value,
    pluralize,
)
from likewise.constraints._chunks import split_by
from likewise.constraints._tuples import Pairs, Triplets
from likewise.neighbors._arguments import Algorithm

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
    """Return for each row its `n_neighbors` nearest rows of the same class, nearest first.

    `algorithm` is that of `likewise.neighbors.nearest`.

    Examples
    --------
    >>> target_neighbors([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"], 1).ravel()
    array([1, 0, 3, 2])
    """
    data = _Labelled.checked(X, y)
    return _nearest_of_own_class(data, n_neighbors, "n_neighbors", n_jobs, algorithm)


def random_pairs(
    y: ArrayLike, n_pairs: int, *, random_state: int | np.random.RandomState | None = None
) -> Pairs:
    """Draw random pairs of rows: same and different pairs alternate, each uniform.

    Pairs are drawn with replacement. Where no two rows share a class (or all do), every pair is a
    *different* (or *same*) pair.

    Examples
    --------
    >>> random_pairs(["a", "a", "b", "b"], 4, random_state=0).same
    array([ True, False,  True, False])
    """
    _, codes = _codes_and_classes(y)
    check_parameters("random_pairs", {"n_pairs": n_pairs}, {"n_pairs": at_least(1)})
    n_rows = len(codes)
    if n_rows < 2:
        raise ValueError(f"y has length {n_rows}, but a pair needs at least 2 labels.")
    random = check_random_state(random_state)
    counts = np.bincount(codes)
    same = np.arange(n_pairs) % 2 == 0
    if counts.max() == 1:
        same[:] = False
    if len(counts) == 1:
        same[:] = True

    # The first row of a pair is drawn with weight = number of its possible partners, which makes
    # all pairs equally likely; the partner's place is then counted off, skipping the forbidden.
    # Places are in class order, where a row's own class is one contiguous stretch.
    order = np.argsort(codes, kind="stable")
    place_of = np.empty(n_rows, dtype=np.int64)
    place_of[order] = np.arange(n_rows)
    own_start = (np.cumsum(counts) - counts)[codes]
    own_count = counts[codes]
    index = np.empty((n_pairs, 2), dtype=np.int64)
    for is_same, n_partners in ((True, own_count - 1), (False, n_rows - own_count)):
        drawn = np.flatnonzero(same == is_same)
        if not len(drawn):
            continue
        first = random.choice(n_rows, size=len(drawn), p=n_partners / n_partners.sum())
        place = (random.random_sample(len(drawn)) * n_partners[first]).astype(np.int64)
        if is_same:
            place += own_start[first]
            place += place >= place_of[first]
        else:
            place += np.where(place >= own_start[first], own_count[first], 0)
        index[drawn, 0], index[drawn, 1] = first, order[place]
    return Pairs(index, same)


def nearest_and_farthest_pairs(
    X: TableLike, y: ArrayLike, n_neighbors: int = 1, *, n_jobs: int | None = None
) -> Pairs:
    """Pair each row with its nearest rows of its class and its farthest of the other classes.

    The constraint set of PCML and NCML: row by row, first `n_neighbors` *same* pairs, then as many
    different ones.

    Examples
    --------
    >>> pairs = nearest_and_farthest_pairs([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    >>> pairs.index[:2].tolist()
    [[0, 1], [0, 3]]
    """
    data = _Labelled.checked(X, y)
    same = _nearest_of_own_class(data, n_neighbors, "n_neighbors", n_jobs)
    different = _of_other_classes(data, n_neighbors, "n_neighbors", neighbors.farthest, n_jobs)
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
    `n_different` different ones.

    Examples
    --------
    >>> pairs = doublets([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1], 1, 1)
    >>> pairs.index[:2].tolist()
    [[0, 1], [0, 2]]
    """
    data = _Labelled.checked(X, y)
    same = _nearest_of_own_class(data, n_same, "n_same", n_jobs)
    different = _of_other_classes(data, n_different, "n_different", neighbors.nearest, n_jobs)
    return _pairs_of(same, different)


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
    data = _Labelled.checked(X, y)
    same = _nearest_of_own_class(data, n_same, "n_same", n_jobs)
    different = _of_other_classes(data, n_different, "n_different", neighbors.nearest, n_jobs)
    n_rows = len(same)
    index = np.empty((n_rows, n_same, n_different, 3), dtype=np.int64)
    index[..., 0] = np.arange(n_rows)[:, None, None]
    index[..., 1] = same[:, :, None]
    index[..., 2] = different[:, None, :]
    return Triplets(index.reshape(-1, 3))


def _pairs_of(same: IndexArray, different: IndexArray) -> Pairs:
    """Return the pairs row by row: first the *same* pairs, then the *different* ones."""
    partners = np.concatenate([same, different], axis=1)
    anchors = np.repeat(np.arange(len(partners)), partners.shape[1])
    is_same = np.arange(partners.shape[1]) < same.shape[1]
    return Pairs(np.column_stack([anchors, partners.ravel()]), np.tile(is_same, len(partners)))


@dataclass(frozen=True, eq=False)
class _Labelled:
    """Rows and their classes, checked once."""

    X: Array
    codes: IndexArray
    classes: Array

    @classmethod
    def checked(cls, X: Any, y: Any) -> _Labelled:
        """Take what a user gave, or say what is wrong with it."""
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
        classes, codes = _codes_and_classes(y)
        if len(codes) != len(X):
            raise ValueError(f"X has {len(X)} rows but y has {len(codes)} labels; they must match.")
        return cls(X, codes, classes)

    def sizes(self) -> IndexArray:
        """Return the number of rows of each class."""
        return np.bincount(self.codes)

    def members(self) -> list[IndexArray]:
        """Return the rows of each class."""
        return split_by(self.codes, np.arange(len(self.codes)))


def _codes_and_classes(y: Any) -> tuple[Array, IndexArray]:
    """Return the different labels, and the place of each row's label among them."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y has shape {labels.shape}, but one label a row is needed.")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("y contains NaN, but every row needs a label.")
    return encode_labels(labels)


def _nearest_of_own_class(
    data: _Labelled, count: int, name: str, n_jobs: int | None, algorithm: Algorithm = "auto"
) -> IndexArray:
    """Return for each row the `count` nearest of its class; `name` is what the user calls it."""
    check_parameters("a search", {name: count}, {name: at_least(1)})
    check_class_sizes(data.codes, data.classes, count, name)
    found = np.empty((len(data.X), count), dtype=np.int64)
    waiting: list[IndexArray] = []
    n_pairs = 0
    for members in data.members():
        if len(members) > _SMALL_CLASS:
            rows = data.X[members]
            _, index = neighbors.nearest(
                rows, rows, count, exclude_self=True, algorithm=algorithm, n_jobs=n_jobs
            )
            found[members] = members[index]
            continue
        waiting.append(members)
        n_pairs += len(members) ** 2
        if n_pairs > _PAIRS_AT_ONCE:
            _search_small_classes(data.X, waiting, found, n_jobs)
            waiting, n_pairs = [], 0
    if waiting:
        _search_small_classes(data.X, waiting, found, n_jobs)
    return found


def _search_small_classes(
    X: Array, classes: list[IndexArray], found: IndexArray, n_jobs: int | None
) -> None:
    """Rank all pairs within each of many small classes at once."""
    first = np.concatenate([np.repeat(members, len(members)) for members in classes])
    second = np.concatenate([np.tile(members, len(members)) for members in classes])
    first, second = first[first != second], second[first != second]
    distance = _loops.pair_sqdist(X, first, second, n_jobs=n_jobs)
    order = np.lexsort((second, distance, first))
    rows, begin = np.unique(first[order], return_index=True)
    found[rows] = second[order][begin[:, None] + np.arange(found.shape[1])]


def _of_other_classes(
    data: _Labelled,
    count: int,
    name: str,
    search: Callable[..., tuple[Array, IndexArray]],
    n_jobs: int | None,
) -> IndexArray:
    """Return for each row `count` rows of other classes, the first that `search` finds."""
    check_parameters("a search", {name: count}, {name: at_least(1)})
    sizes = data.sizes()
    if len(sizes) < 2:
        raise ValueError(
            f"y has one class ({format_value(data.classes[0])}), but at least 2 are needed."
        )
    others = len(data.X) - sizes
    if others.min() < count:
        code = int(others.argmin())
        raise ValueError(
            f"There are {others[code]} rows outside class {format_value(data.classes[code])}, but "
            f"{name}={count} were asked for."
        )
    found = np.empty((len(data.X), count), dtype=np.int64)
    for code in np.flatnonzero(sizes > _SMALL_CLASS).tolist():
        own, other = np.flatnonzero(data.codes == code), np.flatnonzero(data.codes != code)
        found[own] = other[search(data.X[own], data.X[other], count, n_jobs=n_jobs)[1]]
    own = np.flatnonzero(sizes[data.codes] <= _SMALL_CLASS)
    if len(own):
        # At most one small class belongs to the row itself: the others are enough.
        enough = count + int(sizes[data.codes[own]].max())
        _, index = search(data.X[own], data.X, enough, n_jobs=n_jobs)
        of_own_class = data.codes[index] == data.codes[own][:, None]
        others_first = np.argsort(of_own_class, axis=1, kind="stable")[:, :count]
        found[own] = np.take_along_axis(index, others_first, axis=1)
    return found
