"""Pairs and triplets of rows, checked once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import Array, BoolArray, IndexArray
from likewise._runtime.row_numbers import check_row_numbers, check_same_flags
from likewise._runtime.validation import pluralize, warn_user


@dataclass(frozen=True, eq=False)
class Pairs:
    """Same and different pairs of rows; unpacks as ``index, same``.

    Attributes
    ----------
    index : int array of shape (n_pairs, 2)
        Row numbers.
    same : bool array of shape (n_pairs,)
        True for *same* pairs.
    """

    index: IndexArray
    same: BoolArray

    def __iter__(self) -> Iterator[Array]:
        yield self.index
        yield self.same

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True, eq=False)
class Triplets:
    """Rows (anchor, positive, negative): the anchor is more like the second than the third.

    Attributes
    ----------
    index : int array of shape (n_triplets, 3)
        Row numbers.
    """

    index: IndexArray

    def __len__(self) -> int:
        return len(self.index)


def as_pairs(pairs: ArrayLike, same: ArrayLike, n_rows: int) -> Pairs:
    """Check a user's pairs once, so that nothing below has to.

    `same` may be boolean, 1/0, or 1/-1 as the papers write it. Pairs marked both *same* and
    different cause a warning with their number.

    Examples
    --------
    >>> as_pairs([[0, 1], [0, 2]], [True, False], n_rows=3).same
    array([ True, False])
    """
    index = check_row_numbers(pairs, "pairs", 2, n_rows)
    same = check_same_flags(same, len(index))
    _warn_of_contradictions(index, same, n_rows)
    return Pairs(index, same)


def as_triplets(triplets: ArrayLike | Triplets, n_rows: int) -> Triplets:
    """Check a user's triplets once, so that nothing below has to.

    Examples
    --------
    >>> len(as_triplets([[0, 1, 2]], n_rows=3))
    1
    """
    if isinstance(triplets, Triplets):
        triplets = triplets.index
    index = check_row_numbers(triplets, "triplets", 3, n_rows)
    _warn_of_opposite_triplets(index)
    return Triplets(index)


def as_targets(targets: ArrayLike, codes: IndexArray) -> IndexArray:
    """Check a user's pairs (row, target neighbour) of the same class; return each once, sorted.

    Examples
    --------
    >>> as_targets([[2, 0], [0, 2], [2, 0]], np.array([5, 6, 5])).tolist()
    [[0, 2], [2, 0]]
    """
    index = check_row_numbers(targets, "targets", 2, len(codes))
    different = np.flatnonzero(codes[index[:, 0]] != codes[index[:, 1]])
    if len(different):
        row, target = index[different[0]].tolist()
        raise ValueError(
            f"targets pairs row {row} with row {target}, but their labels differ, and a target "
            "neighbour has the label of its row."
        )
    return np.unique(index, axis=0)


def _warn_of_contradictions(index: IndexArray, same: BoolArray, n_rows: int) -> None:
    first, second = index.T
    key = np.minimum(first, second) * n_rows + np.maximum(first, second)
    # The flag is the last bit: contradictory pairs end up side by side.
    keys = np.sort(2 * key + same)
    contradictory = int(np.count_nonzero((np.diff(keys) == 1) & (keys[1:] % 2 == 1)))
    if contradictory:
        warn_user(
            f"{pluralize(contradictory, 'pair')} of rows "
            f"{'is' if contradictory == 1 else 'are'} marked both same and different."
        )


def _warn_of_opposite_triplets(index: IndexArray) -> None:
    anchor, positive, negative = index.T
    low, high = np.minimum(positive, negative), np.maximum(positive, negative)
    given = np.column_stack([anchor, low, high, positive > negative])
    given = given[np.lexsort(given.T[::-1])]  # opposite triplets end up side by side
    equal = (given[1:, :3] == given[:-1, :3]).all(axis=1)
    opposite = int(np.count_nonzero(equal & (given[1:, 3] != given[:-1, 3])))
    if opposite:
        warn_user(
            f"{pluralize(opposite, 'triplet')} "
            f"{'is' if opposite == 1 else 'are'} given in both orders of the rows to compare."
        )
