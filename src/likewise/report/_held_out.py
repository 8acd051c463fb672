"""Three parts of the data: to fit the metric, to choose the threshold, and to test both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from likewise._runtime.arrays import Array, BoolArray, IndexArray
from likewise.constraints import Pairs, random_pairs
from likewise.statistics import stratified_folds
from likewise.statistics.pair_split import assign_units

MAX_TEST_ROWS = 4000
N_PAIRS = 10_000
_MIN_VOTED, _MAX_DISTANCES = 1000, 60_000_000
_N_FOLDS = 5  # of which one is for tests, and one for the threshold
_SHARES = np.array([0.6, 0.2, 0.2])


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Data in three parts of different rows: with groups, of different groups.

    Attributes
    ----------
    X : array
        All rows, scaled by those of the first part if asked for.
    codes, classes : array or None
        Labels as numbers, and their names; None where there are judged pairs.
    groups : array of int or None
        The group of each row.
    fit_rows, test_rows : array of int
        Row numbers of the parts for the metric and for tests; of the latter some at random, if
        there are many.
    fit_pairs : Pairs or None
        Judged pairs of the first part, numbered within it.
    threshold_pairs, test_pairs : Pairs or None
        Pairs of rows of the other parts; None where they have no pairs of both kinds.
    n_threshold, n_test : int
        Rows of the parts for the threshold and for tests.
    n_dropped : int
        Judged pairs whose items are in different parts.
    """

    X: Array
    codes: IndexArray | None
    classes: Array | None
    groups: IndexArray | None
    fit_rows: IndexArray
    test_rows: IndexArray
    fit_pairs: Pairs | None
    threshold_pairs: Pairs | None
    test_pairs: Pairs | None
    n_threshold: int
    n_test: int
    n_dropped: int = 0

    @property
    def voted_rows(self) -> IndexArray:
        """Rows of `test_rows` whose neighbours are searched for: fewer where there are many."""
        affordable = max(_MIN_VOTED, _MAX_DISTANCES // max(1, len(self.fit_rows)))
        if affordable >= len(self.test_rows):
            return self.test_rows
        evenly = np.linspace(0, len(self.test_rows) - 1, affordable).astype(np.int64)
        return self.test_rows[evenly]

    def fitted(self, estimator: Any, kept: BoolArray | None = None) -> Any:
        """Return a copy of an estimator, fitted to the first part, or to what is kept of it.

        `kept` chooses rows where there are labels, else pairs.
        """
        learner, rows = clone(estimator), self.fit_rows
        if self.codes is not None:
            rows = rows if kept is None else rows[kept]
            return learner.fit(self.X[rows], self.codes[rows])
        if not hasattr(learner, "fit_pairs"):
            return learner.fit(self.X[rows])
        assert self.fit_pairs is not None
        index, same = self.fit_pairs
        if kept is not None:
            index, same = index[kept], same[kept]
        present, index_of = np.unique(index, return_inverse=True)
        return learner.fit_pairs(self.X[rows[present]], index_of.reshape(-1, 2), same)


def split_rows(
    X: Array,
    codes: IndexArray,
    classes: Array,
    groups: IndexArray | None,
    *,
    standardize: bool,
    random_state: int,
) -> HeldOut:
    """Split labelled rows by the first folds of the comparison with the same seed."""
    folds = stratified_folds(codes, _N_FOLDS, groups=groups, random_state=random_state)
    test, threshold = folds == 0, folds == 1
    fit_rows = np.flatnonzero(~test & ~threshold)
    rng = np.random.default_rng(random_state)
    test_rows = np.flatnonzero(test)
    shown = test_rows
    if len(shown) > MAX_TEST_ROWS:
        shown = np.sort(rng.choice(shown, MAX_TEST_ROWS, replace=False))
    return HeldOut(
        X=_scaled(X, fit_rows, standardize),
        codes=codes,
        classes=classes,
        groups=groups,
        fit_rows=fit_rows,
        test_rows=shown,
        fit_pairs=None,
        threshold_pairs=_drawn_pairs(codes, np.flatnonzero(threshold), random_state),
        test_pairs=_drawn_pairs(codes, test_rows, random_state),
        n_threshold=int(threshold.sum()),
        n_test=len(test_rows),
    )


def split_pairs(
    X: Array, pairs: Pairs, groups: IndexArray | None, *, standardize: bool, random_state: int
) -> HeldOut:
    """Split the items of judged pairs; pairs with items in different parts are dropped."""
    units = np.arange(len(X)) if groups is None else groups
    rng = np.random.default_rng(random_state)
    assigned = assign_units(units[pairs.index], _SHARES, rng)
    part_of_unit = np.zeros(int(units.max()) + 1, dtype=np.int64)
    part_of_unit[: len(assigned)] = assigned
    part = part_of_unit[units]
    sides = part[pairs.index]
    inside = [(sides == number).all(axis=1) for number in range(len(_SHARES))]
    items = [np.unique(pairs.index[chosen]) for chosen in inside]
    fit_rows, test_rows = items[0], items[2]
    for purpose, chosen in zip(("fit", "threshold", "test"), inside, strict=True):
        flags = pairs.same[chosen]
        if flags.all() or not flags.any():
            raise ValueError(
                f"pairs are too few for a report: the part for the {purpose} has {flags.sum()} "
                f"same and {(~flags).sum()} different pairs, but at least one of each is needed."
            )
    renumbered = np.zeros(len(X), dtype=np.int64)
    renumbered[fit_rows] = np.arange(len(fit_rows))
    shown = test_rows
    if len(shown) > MAX_TEST_ROWS:
        shown = np.sort(rng.choice(shown, MAX_TEST_ROWS, replace=False))
    return HeldOut(
        X=_scaled(X, fit_rows, standardize),
        codes=None,
        classes=None,
        groups=groups,
        fit_rows=fit_rows,
        test_rows=shown,
        fit_pairs=Pairs(renumbered[pairs.index[inside[0]]], pairs.same[inside[0]]),
        threshold_pairs=Pairs(pairs.index[inside[1]], pairs.same[inside[1]]),
        test_pairs=Pairs(pairs.index[inside[2]], pairs.same[inside[2]]),
        n_threshold=len(items[1]),
        n_test=len(test_rows),
        n_dropped=int(len(pairs) - sum(int(chosen.sum()) for chosen in inside)),
    )


def _scaled(X: Array, fit_rows: IndexArray, standardize: bool) -> Array:
    return np.asarray(StandardScaler().fit(X[fit_rows]).transform(X)) if standardize else X


def _drawn_pairs(codes: IndexArray, rows: IndexArray, seed: int) -> Pairs | None:
    """Draw distinct pairs of rows, half of them same; None if there are not both kinds."""
    counts = np.bincount(codes[rows])
    if counts.max(initial=0) < 2 or np.count_nonzero(counts) < 2:
        return None
    possible = len(rows) * (len(rows) - 1) // 2
    drawn = random_pairs(codes[rows], min(N_PAIRS, possible), distinct=True, random_state=seed)
    return Pairs(rows[drawn.index], drawn.same)
