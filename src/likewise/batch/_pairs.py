"""Pairs for the methods that learn from pairs, whatever they were given."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import Array, BoolArray, IndexArray
from likewise.constraints import Pairs, random_pairs

_PAIRS_PER_CLASSES = 20


def pairs_of_labels(
    X: Array, codes: IndexArray, n_pairs: int | None, random: np.random.RandomState
) -> Pairs:
    """Draw pairs, half of them alike; None is 20 c² for c classes.

    Two equal rows of different classes are left out: no metric can tell them apart.
    """
    drawn = random_pairs(
        codes, n_pairs or _PAIRS_PER_CLASSES * (int(codes.max()) + 1) ** 2, random_state=random
    )
    told = ~_equal_and_different(X, drawn)
    if drawn.same[told].all() and not drawn.same.all():
        raise ValueError(
            "The two rows of every pair drawn from different classes are equal, but no metric can "
            "tell equal rows apart: at least one pair must differ."
        )
    return Pairs(drawn.index[told], drawn.same[told])


def refuse_equal_different(X: Array, pairs: Pairs) -> None:
    """Complain of pairs marked different whose rows are equal."""
    wrong = np.flatnonzero(_equal_and_different(X, pairs))
    if len(wrong):
        first, second = pairs.index[wrong[0]]
        raise ValueError(
            f"pairs[{wrong[0]}] is marked different, but its rows {first} and {second} of X are "
            "equal; no metric can tell them apart."
        )


def _equal_and_different(X: Array, pairs: Pairs) -> BoolArray:
    wrong = ~pairs.same
    first, second = pairs.index[wrong].T
    wrong[wrong] = (X[first] == X[second]).all(axis=1)
    return wrong
