"""Splits of pairs that have no item on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.validation import (
    at_least,
    check_parameters,
    either,
    none,
    pluralize,
    strictly_between,
    warn_user,
)
from likewise.statistics._pair_units import units_of_pairs

# Components of the pairs stay whole if the largest holds less than this share of them.
LARGEST_COMPONENT = 0.2


@dataclass(frozen=True)
class PairSplit:
    """Cross-validation of pairs in which no item is on both sides of a split.

    Items are split, and pairs that straddle the split belong to neither side. Connected items stay
    together, so that no pair straddles, if the largest connected component holds less than 20 % of
    the pairs. It is a splitter as scikit-learn's `cross_validate` and `GridSearchCV` take it.

    Parameters
    ----------
    n_splits : int, default=5
        Number of splits.
    test_size : float, optional
        The share of the items to test on (of the pairs, where components stay whole), drawn anew
        for each split. By default the items are divided into `n_splits` folds, and each is tested
        on once.
    random_state : int, default=0
        Decides the splits.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.statistics import PairSplit
    >>> pairs = np.stack(np.triu_indices(100, 1), axis=1)
    >>> for train, test in PairSplit(n_splits=3).split(pairs):
    ...     print(len(train), len(test), len(np.intersect1d(pairs[train], pairs[test])))
    2211 528 0
    2145 561 0
    2211 528 0
    """

    n_splits: int = 5
    test_size: float | None = field(default=None, kw_only=True)
    random_state: int = field(default=0, kw_only=True)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X, y, groups : ignored

        Returns
        -------
        int
        """
        return self.n_splits

    def split(
        self, X: ArrayLike, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[IndexArray, IndexArray]]:
        """Return the positions of the pairs on each side, split by split.

        Parameters
        ----------
        X : array-like of shape (n_pairs, 2)
            The ids of the two items of each pair, integers or text.
        y : ignored
        groups : ignored
            Use `GroupPairSplit` for subjects.

        Returns
        -------
        iterator of (train, test)
            Arrays of positions.
        """
        self._check()
        if groups is not None:
            warn_user("PairSplit ignores groups; GroupPairSplit keeps subjects together.")
        return self._splits(units_of_pairs(X, name="X"), "items")

    def _check(self) -> None:
        check_parameters(
            type(self).__name__,
            {
                "n_splits": self.n_splits,
                "test_size": self.test_size,
                "random_state": self.random_state,
            },
            {
                "n_splits": at_least(1 if self.test_size is not None else 2),
                "test_size": either(none(), strictly_between(0, 1)),
                "random_state": at_least(0),
            },
        )

    def _splits(self, units: IndexArray, what: str) -> Iterator[tuple[IndexArray, IndexArray]]:
        rng = np.random.default_rng(self.random_state)
        sides: Iterator[tuple[IndexArray, int]]
        if self.test_size is None:
            folds = assign_units(units, np.full(self.n_splits, 1 / self.n_splits), rng, what)
            sides = ((folds, fold) for fold in range(self.n_splits))
        else:
            sizes = np.array([1 - self.test_size, self.test_size])
            sides = ((assign_units(units, sizes, rng, what), 1) for _ in range(self.n_splits))
        for folds, tested in sides:
            in_test = folds[units] == tested
            train, test = np.flatnonzero(~in_test.any(axis=1)), np.flatnonzero(in_test.all(axis=1))
            if not len(train) or not len(test):
                raise ValueError(
                    f"X has too few pairs to split: of {len(units)} pairs, {len(train)} have both "
                    f"{what} in the training part and {len(test)} in the test part, but one or "
                    "more are needed in each."
                )
            yield train, test


@dataclass(frozen=True, eq=False)
class GroupPairSplit(PairSplit):
    """Cross-validation of pairs in which no subject is on both sides of a split.

    As `PairSplit`, with subjects in place of items: all items of a subject are on one side.

    Parameters
    ----------
    n_splits : int, default=5
        Number of splits.
    groups : array-like of shape (n_items,)
        The subject of each item. Here and not in `split`, where scikit-learn expects one group for
        each pair.
    test_size : float, optional
        The share of the subjects to test on (of the pairs, where components stay whole), drawn
        anew for each split. By default the subjects are divided into `n_splits` folds, and each is
        tested on once.
    random_state : int, default=0
        Decides the splits.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.statistics import GroupPairSplit
    >>> person = np.arange(60) // 5
    >>> pairs = np.stack(np.triu_indices(60, 1), axis=1)
    >>> for train, test in GroupPairSplit(3, groups=person).split(pairs):
    ...     print(len(train), len(test), len(np.intersect1d(person[pairs[train]],
    ...                                                     person[pairs[test]])))
    780 190 0
    780 190 0
    780 190 0
    """

    groups: ArrayLike = field(kw_only=True, repr=False)

    def split(
        self, X: ArrayLike, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[IndexArray, IndexArray]]:
        """Return the positions of the pairs on each side, split by split.

        Parameters
        ----------
        X : array-like of int of shape (n_pairs, 2)
            The items of each pair, as positions in the groups of the constructor.
        y : ignored
        groups : ignored

        Returns
        -------
        iterator of (train, test)
            Arrays of positions.
        """
        self._check()
        if groups is not None:
            warn_user("GroupPairSplit.split ignores groups; give them to the constructor.")
        return self._splits(units_of_pairs(X, self.groups, name="X"), "subjects")


def assign_units(
    units: IndexArray, sizes: FloatArray, rng: np.random.Generator, what: str = "items"
) -> IndexArray:
    """Return the part to which each unit belongs, as positions in `sizes`, their shares.

    Connected components stay whole if the largest holds less than `LARGEST_COMPONENT` of the pairs.
    Units that no pair touches belong to part 0.
    """
    present, codes = np.unique(units, return_inverse=True)
    codes = codes.reshape(units.shape)
    if len(present) < 2 * len(sizes):
        raise ValueError(
            f"The pairs are of {pluralize(len(present), what[:-1])}, too few to split into "
            f"{len(sizes)} parts: at least {2 * len(sizes)} are needed."
        )
    graph = sp.coo_matrix((np.ones(len(codes)), codes.T), shape=(len(present), len(present)))
    n_components, component = connected_components(graph, directed=False)
    n_pairs = np.bincount(component[codes[:, 0]], minlength=n_components)
    parts = np.zeros(int(units.max()) + 1, dtype=np.int64)
    if n_pairs.max() < LARGEST_COMPONENT * len(units):
        parts[present] = _fill(n_pairs, sizes, rng)[component]
    else:
        # As many units as the sizes say, in random order.
        ends = np.rint(np.cumsum(sizes) * len(present))
        ends[-1] = len(present)
        parts[present] = np.searchsorted(ends, rng.permutation(len(present)), side="right")
    return parts


def _fill(n_pairs: IndexArray, sizes: FloatArray, rng: np.random.Generator) -> IndexArray:
    """Assign components to parts: the large ones first, each where most is missing."""
    order = rng.permutation(len(n_pairs))
    order = order[np.argsort(-n_pairs[order], kind="stable")]
    missing = sizes * n_pairs.sum()
    assigned = np.empty(len(n_pairs), dtype=np.int64)
    for component in order:
        part = int(np.argmax(missing))
        assigned[component] = part
        missing[part] -= n_pairs[component]
    return assigned
