"""Items that the pairs of two parts share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from likewise.statistics._pair_units import check_items


@dataclass(frozen=True)
class Leakage:
    """How much of a test was seen in training; printed as a sentence.

    Attributes
    ----------
    n_test_items, n_shared_items : int
        Items in the test pairs, and those of them that are in training pairs, too.
    n_test_pairs : int
    n_pairs_with_shared : int
        Test pairs of which at least one item is in a training pair.
    n_pairs_all_shared : int
        Test pairs of which both are.
    n_repeated_pairs : int
        Test pairs that are training pairs.
    """

    n_test_items: int
    n_shared_items: int
    n_test_pairs: int
    n_pairs_with_shared: int
    n_pairs_all_shared: int
    n_repeated_pairs: int

    @property
    def shared_items(self) -> float:
        """The share of the test items that are in training pairs."""
        return self.n_shared_items / self.n_test_items

    @property
    def affected_pairs(self) -> float:
        """The share of the test pairs with at least one item in a training pair."""
        return self.n_pairs_with_shared / self.n_test_pairs

    def __str__(self) -> str:
        if not self.n_shared_items:
            return "No item of the test pairs is in a training pair."
        return (
            f"{self.n_shared_items} of {self.n_test_items} test items are in training pairs, too: "
            f"{self.affected_pairs:.1%} of the test pairs have such an item, "
            f"{self.n_pairs_all_shared / self.n_test_pairs:.1%} have two."
        )


def leakage(train: ArrayLike, test: ArrayLike) -> Leakage:
    """Measure which items of the test pairs were seen in training pairs.

    Rates on pairs of items that were learned from say little about new items. `PairSplit` makes
    splits without shared items.

    Parameters
    ----------
    train, test : array-like of shape (n_pairs, 2)
        The ids of the two items of each pair, integers or text.

    Returns
    -------
    Leakage

    Examples
    --------
    >>> from likewise.statistics import leakage
    >>> found = leakage(train=[[0, 1], [2, 3]], test=[[0, 4], [5, 6]])
    >>> print(found)
    1 of 4 test items are in training pairs, too: 50.0% of the test pairs have such an item, 0.0%
    have two.
    >>> found.affected_pairs
    0.5
    """
    learned, tested = check_items(train, name="train"), check_items(test, name="test")
    if (learned.dtype.kind in "iu") != (tested.dtype.kind in "iu"):
        raise ValueError(
            f"train holds {learned.dtype} and test {tested.dtype} ids, but both must be integers "
            "or both text."
        )
    seen = np.isin(tested, learned)
    items = np.unique(tested)
    ids = np.concatenate([learned, tested])
    codes = np.unique(np.sort(ids, axis=1), axis=0, return_inverse=True)[1].ravel()
    return Leakage(
        n_test_items=len(items),
        n_shared_items=int(np.isin(items, learned).sum()),
        n_test_pairs=len(tested),
        n_pairs_with_shared=int(seen.any(axis=1).sum()),
        n_pairs_all_shared=int(seen.all(axis=1).sum()),
        n_repeated_pairs=int(np.isin(codes[len(learned) :], codes[: len(learned)]).sum()),
    )
