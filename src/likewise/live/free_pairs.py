"""All pairs of rows that may be asked about, each as likely as any other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from likewise._runtime.arrays import BoolArray, IndexArray

__all__ = ["RowPair", "random_free_pair"]

RowPair = tuple[int, int]
_TRIES = 256
_ROUNDS = 8
_MAX_ENUMERATED = 200_000


def random_free_pair(
    n_items: int,
    belongs: Callable[[IndexArray], BoolArray],
    is_free: Callable[[int, int], bool],
    random: np.random.Generator,
) -> RowPair | None:
    """Return a random pair of those that belong to a population and are free.

    Parameters
    ----------
    n_items : int
    belongs : callable
        Which pairs, an array of shape (n_pairs, 2), belong to the population.
    is_free : callable
        Whether a pair of the population may be asked about.
    random : numpy.random.Generator

    Returns
    -------
    tuple of two rows or None
        None if there is no such pair, or if there are too many pairs to look through and almost
        none is free.
    """
    for _ in range(_ROUNDS):
        first = random.integers(n_items, size=_TRIES)
        second = (first + random.integers(1, n_items, size=_TRIES)) % n_items
        found = _first_free(np.stack([first, second], axis=1), belongs, is_free)
        if found is not None:
            return found
    if n_items * (n_items - 1) // 2 > _MAX_ENUMERATED:
        return None
    pairs = random.permutation(np.stack(np.triu_indices(n_items, 1), axis=1))
    return _first_free(random.permuted(pairs, axis=1), belongs, is_free)


def _first_free(
    pairs: IndexArray,
    belongs: Callable[[IndexArray], BoolArray],
    is_free: Callable[[int, int], bool],
) -> RowPair | None:
    candidates = pairs[belongs(pairs)].tolist()
    return next(((left, right) for left, right in candidates if is_free(left, right)), None)
