"""What the learner is told: pairs and triplets of rows, and how labels become them.

Everything is a row number into X, never a copy of rows. All builders are deterministic: equal
distances are ordered by row number, and a row is never its own neighbour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from likewise import neighbors
from likewise._validation import TableLike, warn_user

Array = NDArray[Any]
Index = NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows that are alike or not; unpacks as ``index, same``.

    Attributes
    ----------
    index : int array of shape (n_pairs, 2)
        Row numbers.
    same : bool array of shape (n_pairs,)
        True where the two rows are alike.
    """

    index: Index
    same: NDArray[np.bool_]

    def __iter__(self) -> Iterator[Array]:
        yield self.index
        yield self.same

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True)
class Triplets:
    """Rows (anchor, positive, negative): the anchor is more like the second than the third.

    Attributes
    ----------
    index : int array of shape (n_triplets, 3)
        Row numbers.
    """

    index: Index

    def __len__(self) -> int:
        return len(self.index)


def as_pairs(pairs: ArrayLike, same: ArrayLike, n_rows: int) -> Pairs:
    """Check a user's pairs once, so that nothing below has to.

    `same` may be boolean, or ±1 as the papers write it. Pairs given both as alike and as
    different cause a warning with their number.

    Examples
    --------
    >>> as_pairs([[0, 1], [0, 2]], [True, False], n_rows=3).same
    array([ True, False])
    """
    index = _row_numbers(pairs, "pairs", 2, n_rows)
    answers = np.asarray(same)
    if answers.shape != (len(index),):
        raise ValueError(
            f"same has shape {answers.shape}, but {len(index)} pairs need shape ({len(index)},)."
        )
    if answers.dtype != np.bool_:
        known = np.isin(answers, (-1, 1)) if answers.dtype.kind in "iuf" else np.array([False])
        if not known.all():
            raise ValueError(
                f"same holds {answers[~known][0] if known.shape == answers.shape else answers[0]!r}"
                ", but only True/False or 1/-1 are allowed."
            )
        answers = answers > 0
    _warn_of_contradictions(index, answers)
    return Pairs(index, answers)


def as_triplets(triplets: ArrayLike | Triplets, n_rows: int) -> Triplets:
    """Check a user's triplets once, so that nothing below has to.

    Examples
    --------
    >>> len(as_triplets([[0, 1, 2]], n_rows=3))
    1
    """
    if isinstance(triplets, Triplets):
        triplets = triplets.index
    return Triplets(_row_numbers(triplets, "triplets", 3, n_rows))


def target_neighbors(
    X: TableLike, y: ArrayLike, n_neighbors: int = 3, *, n_jobs: int | None = None
) -> Index:
    """Return for each row its `n_neighbors` nearest rows of the same class, nearest first.

    Examples
    --------
    >>> target_neighbors([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"], 1).ravel()
    array([1, 0, 3, 2])
    """
    X, codes, classes = _labelled(X, y)
    _require_class_sizes(codes, classes, n_neighbors, "n_neighbors")
    found = np.empty((len(X), n_neighbors), dtype=np.int64)
    for code in range(len(classes)):
        members = np.flatnonzero(codes == code)
        rows = X[members]
        _, index = neighbors.nearest(rows, rows, n_neighbors, exclude_self=True, n_jobs=n_jobs)
        found[members] = members[index]
    return found


def random_pairs(
    y: ArrayLike, n_pairs: int, *, random_state: int | np.random.RandomState | None = None
) -> Pairs:
    """Draw pairs of rows: every other one alike, the rest different, each uniformly at random.

    Pairs are drawn independently, so that one may come twice. Where no two rows are alike (or
    all are), every pair is different (or alike).

    Examples
    --------
    >>> random_pairs(["a", "a", "b", "b"], 4, random_state=0).same
    array([ True, False,  True, False])
    """
    codes = _codes(y)
    if n_pairs < 1:
        raise ValueError(f"n_pairs={n_pairs} is not allowed: at least 1 pair is needed.")
    n_rows = len(codes)
    if n_rows < 2:
        raise ValueError(f"y has {n_rows} label, but a pair needs at least 2.")
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
    for alike, n_partners in ((True, own_count - 1), (False, n_rows - own_count)):
        drawn = np.flatnonzero(same == alike)
        if not len(drawn):
            continue
        first = random.choice(n_rows, size=len(drawn), p=n_partners / n_partners.sum())
        place = (random.random_sample(len(drawn)) * n_partners[first]).astype(np.int64)
        if alike:
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

    The constraint set of PCML and NCML: row by row, first the `n_neighbors` alike, then as many
    different ones.

    Examples
    --------
    >>> pairs = nearest_and_farthest_pairs([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    >>> pairs.index[:2].tolist()
    [[0, 1], [0, 3]]
    """
    same = target_neighbors(X, y, n_neighbors, n_jobs=n_jobs)
    different = _of_other_classes(X, y, n_neighbors, neighbors.farthest, n_jobs)
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

    The constraint set of doublet-SVM: row by row, first the `n_same` alike, then the
    `n_different` different ones.

    Examples
    --------
    >>> pairs = doublets([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1], 1, 1)
    >>> pairs.index[:2].tolist()
    [[0, 1], [0, 2]]
    """
    same = target_neighbors(X, y, n_same, n_jobs=n_jobs)
    different = _of_other_classes(X, y, n_different, neighbors.nearest, n_jobs)
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
    same = target_neighbors(X, y, n_same, n_jobs=n_jobs)
    different = _of_other_classes(X, y, n_different, neighbors.nearest, n_jobs)
    n_rows = len(same)
    index = np.empty((n_rows, n_same, n_different, 3), dtype=np.int64)
    index[..., 0] = np.arange(n_rows)[:, None, None]
    index[..., 1] = same[:, :, None]
    index[..., 2] = different[:, None, :]
    return Triplets(index.reshape(-1, 3))


def pairs_from_chunks(chunks: ArrayLike | Sequence[Sequence[int]]) -> Pairs:
    """Turn groups of rows known to be alike into a chain of *same* pairs.

    Parameters
    ----------
    chunks : list of lists of row numbers, or int array of shape (n_rows,)
        Either the groups themselves, or the group number of each row with -1 for none. Rows of
        one group are joined one to the next, which is enough to connect the group.

    Examples
    --------
    >>> pairs_from_chunks([[0, 1, 2], [5, 4]]).index.tolist()
    [[0, 1], [1, 2], [5, 4]]
    >>> pairs_from_chunks([0, 0, -1, 0]).index.tolist()
    [[0, 1], [1, 3]]
    """
    links = [
        np.column_stack([group[:-1], group[1:]]) for group in _groups(chunks) if len(group) > 1
    ]
    if not links:
        raise ValueError("chunks has no group of two or more rows, so that nothing is alike.")
    index = np.concatenate(links)
    return Pairs(index, np.ones(len(index), dtype=bool))


def chunks_from_pairs(pairs: Pairs, n_rows: int) -> Index:
    """Return the group number of each row joined by *same* pairs, -1 for rows in none.

    Examples
    --------
    >>> chunks_from_pairs(pairs_from_chunks([[3, 1], [4, 0]]), n_rows=5)
    array([ 0,  1, -1,  1,  0])
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    joined = pairs.index[pairs.same]
    graph = coo_array((np.ones(len(joined)), (joined[:, 0], joined[:, 1])), (n_rows, n_rows))
    _, component = connected_components(graph, directed=False)
    grouped = np.bincount(component)[component] > 1
    numbers = np.full(n_rows, -1, dtype=np.int64)
    numbers[grouped] = _codes_by_first_row(component[grouped])
    return numbers


def _groups(chunks: Any) -> list[Index]:
    flat = not any(np.ndim(item) for item in chunks)
    if not flat:
        return [_whole_numbers(group, "chunks") for group in chunks]
    numbers = _whole_numbers(chunks, "chunks")
    return [np.flatnonzero(numbers == number) for number in np.unique(numbers[numbers >= 0])]


def _pairs_of(same: Index, different: Index) -> Pairs:
    """Row by row: first its alike partners, then its different ones."""
    partners = np.concatenate([same, different], axis=1)
    anchors = np.repeat(np.arange(len(partners)), partners.shape[1])
    alike = np.arange(partners.shape[1]) < same.shape[1]
    return Pairs(np.column_stack([anchors, partners.ravel()]), np.tile(alike, len(partners)))


def _of_other_classes(X: Any, y: Any, count: int, search: Any, n_jobs: int | None) -> Index:
    X, codes, classes = _labelled(X, y)
    if len(classes) < 2:
        raise ValueError(f"y has one class ({classes[0]!r}), but at least 2 are needed.")
    others = len(X) - np.bincount(codes)
    if others.min() < count:
        code = int(others.argmin())
        raise ValueError(
            f"There are {others[code]} rows outside class {classes[code]!r}, but {count} "
            "different-class neighbours were asked for."
        )
    found = np.empty((len(X), count), dtype=np.int64)
    for code in range(len(classes)):
        own, other = np.flatnonzero(codes == code), np.flatnonzero(codes != code)
        found[own] = other[search(X[own], X[other], count, n_jobs=n_jobs)[1]]
    return found


def _require_class_sizes(codes: Index, classes: Array, count: int, name: str) -> None:
    if count < 1:
        raise ValueError(f"{name}={count} is not allowed: a whole number of at least 1 is needed.")
    sizes = np.bincount(codes)
    smallest = int(sizes.argmin())
    if sizes[smallest] < count + 1:
        raise ValueError(
            f"Class {classes[smallest]!r} has {sizes[smallest]} "
            f"row{'s' * (sizes[smallest] != 1)}, but {name}={count} needs at least {count + 1} "
            "in every class (a row is not its own neighbour)."
        )


def _labelled(X: Any, y: Any) -> tuple[Array, Index, Array]:
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions, but a table of rows is needed.")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if len(codes) != len(X):
        raise ValueError(f"X has {len(X)} rows but y has {len(codes)} labels; they must match.")
    return X, codes.astype(np.int64), classes


def _codes(y: Any) -> Index:
    return np.unique(np.asarray(y), return_inverse=True)[1].astype(np.int64)


def _codes_by_first_row(labels: Array) -> Index:
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[codes]


def _row_numbers(given: Any, name: str, width: int, n_rows: int) -> Index:
    index = _whole_numbers(given, name)
    if index.ndim != 2 or index.shape[1] != width:
        raise ValueError(f"{name} has shape {index.shape}, but (n, {width}) is needed.")
    if not len(index):
        raise ValueError(f"{name} is empty, but at least one row of {width} numbers is needed.")
    outside = (index < 0) | (index >= n_rows)
    if outside.any():
        raise ValueError(
            f"{name} holds row number {index[outside][0]}, but X has rows 0 to {n_rows - 1}."
        )
    for left in range(width):
        for right in range(left + 1, width):
            twice = np.flatnonzero(index[:, left] == index[:, right])
            if len(twice):
                raise ValueError(
                    f"{name}[{twice[0]}] names row {index[twice[0], left]} twice, but its rows "
                    "must be different."
                )
    return index


def _whole_numbers(given: Any, name: str) -> Index:
    numbers = np.asarray(given)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise ValueError(f"{name} holds {numbers.dtype} values, but row numbers must be integers.")
    return np.ascontiguousarray(numbers, dtype=np.int64)


def _warn_of_contradictions(index: Index, same: NDArray[np.bool_]) -> None:
    ordered = np.sort(index, axis=1)
    _, pair = np.unique(ordered, axis=0, return_inverse=True)
    said_same = np.bincount(pair, weights=same) > 0
    said_different = np.bincount(pair, weights=~same) > 0
    contradictory = int((said_same & said_different).sum())
    if contradictory:
        warn_user(
            f"{contradictory} pair{'s' * (contradictory != 1)} of rows are given both as alike "
            "and as different."
        )
