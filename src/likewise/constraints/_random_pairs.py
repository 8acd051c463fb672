"""Random pairs of labelled rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import IndexArray
from likewise._runtime.validation import at_least, boolean, check_parameters, warn_user
from likewise.constraints._row_labels import encode_row_labels
from likewise.constraints._tuples import Pairs

MAX_DEFAULT_PAIRS = 100_000
"""Pairs that a learner draws at most where the user gives no number, however many classes."""


def random_pairs(
    y: ArrayLike,
    n_pairs: int,
    *,
    balanced: bool = True,
    distinct: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> Pairs:
    """Draw random pairs of rows.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    n_pairs : int
        Number of pairs.
    balanced : bool, default=True
        Whether half of the pairs are *same* pairs. Where no two rows share a class (or all do),
        every pair is a *different* (or *same*) pair. If False, all pairs of rows are equally
        likely.
    distinct : bool, default=False
        Whether no two rows are paired twice. Where there are fewer than n_pairs / 2 *same* (or
        *different*) pairs, all of them are drawn, and more of the other kind; where there are fewer
        than n_pairs in all, all are drawn, with a warning.
    random_state : int, RandomState or None
        Decides the draw.

    Returns
    -------
    Pairs
        *same* and *different* pairs alternate if `balanced` and not `distinct`; else the order is
        random.

    Examples
    --------
    >>> random_pairs(["a", "a", "b", "b"], 4, random_state=0).same
    array([ True, False,  True, False])
    >>> len(random_pairs(["a", "a", "b", "b"], 6, distinct=True, random_state=0))
    6
    """
    _, codes = encode_row_labels(y)
    check_parameters(
        "random_pairs",
        {"n_pairs": n_pairs, "balanced": balanced, "distinct": distinct},
        {"n_pairs": at_least(1), "balanced": boolean(), "distinct": boolean()},
    )
    if len(codes) < 2:
        raise ValueError(f"y has length {len(codes)}, but a pair needs at least 2 labels.")
    from sklearn.utils import check_random_state  # which workers of a cluster do not import

    random = check_random_state(random_state)
    if distinct:
        return _distinct_pairs(codes, n_pairs, balanced, random)
    if balanced:
        return _alternating_pairs(codes, n_pairs, random)
    first = random.randint(len(codes), size=n_pairs)
    second = random.randint(len(codes) - 1, size=n_pairs)
    second += second >= first
    return Pairs(np.column_stack([first, second]), codes[first] == codes[second])


def _alternating_pairs(codes: IndexArray, n_pairs: int, random: np.random.RandomState) -> Pairs:
    """Draw *same* and *different* pairs in turn, with replacement."""
    n_rows, counts = len(codes), np.bincount(codes)
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


def _distinct_pairs(
    codes: IndexArray, n_pairs: int, balanced: bool, random: np.random.RandomState
) -> Pairs:
    """Draw pairs without replacement, in random order."""
    n_rows, counts = len(codes), np.bincount(codes)
    n_existing = n_rows * (n_rows - 1) // 2
    if n_pairs > n_existing:
        warn_user(
            f"n_pairs={n_pairs}, but {n_rows} labels have {n_existing} distinct pairs: "
            "all of them are drawn."
        )
        n_pairs = n_existing
    # In class order a row's partners of its own class follow it, then those of the others.
    order = np.argsort(codes, kind="stable")
    places = np.arange(n_rows)
    own_end = np.cumsum(counts)[codes[order]]
    if balanced:
        n_same_pairs = int((counts * (counts - 1) // 2).sum())
        n_same = min((n_pairs + 1) // 2, n_same_pairs)
        n_same = max(n_same, n_pairs - (n_existing - n_same_pairs))
        drawn = [
            _draw(places + 1, own_end, n_same, random),
            _draw(own_end, np.full(n_rows, n_rows), n_pairs - n_same, random),
        ]
    else:
        drawn = [_draw(places + 1, np.full(n_rows, n_rows), n_pairs, random)]
    index = order[np.concatenate(drawn)]
    random.shuffle(index)
    swapped = random.random_sample(n_pairs) < 0.5
    index[swapped] = index[swapped, ::-1]
    return Pairs(index, codes[index[:, 0]] == codes[index[:, 1]])


def _draw(
    start: IndexArray, stop: IndexArray, n_pairs: int, random: np.random.RandomState
) -> IndexArray:
    """Draw distinct pairs of a place p and one of the places ``start[p]`` to ``stop[p]``."""
    # All possible pairs are numbered place by place.
    last_number = np.cumsum(stop - start)
    from sklearn.utils.random import sample_without_replacement

    number = sample_without_replacement(int(last_number[-1]), n_pairs, random_state=random)
    place = np.searchsorted(last_number, number, side="right")
    return np.column_stack([place, stop[place] - (last_number[place] - number)])
