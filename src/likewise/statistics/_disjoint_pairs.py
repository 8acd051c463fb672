"""Pairs that share no unit with each other, and so are independent."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import BoolArray, IndexArray


def disjoint_pairs(units: IndexArray, rng: np.random.Generator) -> BoolArray:
    """Choose pairs no two of which share a unit, until no other pair can be added.

    The result is that of going through the pairs in random order and taking each whose units are
    still free. Each round takes all pairs that come first at both their units, which such a loop
    takes, too; the number of rounds grows with the logarithm of the number of pairs.
    """
    chosen = np.zeros(len(units), dtype=np.bool_)
    free = np.ones(int(units.max()) + 1, dtype=np.bool_)
    first = np.empty(len(free), dtype=np.int64)
    left = rng.permutation(len(units))
    while len(left):
        first_unit, second_unit = units[left].T
        places = np.arange(len(left))
        # Of repeated positions the last assignment counts: the smallest place.
        first[units[left].ravel()[::-1]] = np.repeat(places, 2)[::-1]
        taken = (first[first_unit] == places) & (first[second_unit] == places)
        chosen[left[taken]] = True
        free[first_unit[taken]] = False
        free[second_unit[taken]] = False
        left = left[free[first_unit] & free[second_unit]]
    return chosen
