"""Validation of the input of `compare_pairs`, its splits, and one method on one of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.preprocessing import StandardScaler

from likewise._runtime.arrays import Array, BoolArray, FloatArray, IndexArray
from likewise._runtime.validation import (
    TableLike,
    at_least,
    boolean,
    check_finite,
    check_parameters,
)
from likewise.constraints import Pairs
from likewise.constraints._tuples import as_pairs
from likewise.evaluation._checks import (
    column_names,
    count_copies,
    dense_rows,
    id_columns,
)
from likewise.evaluation._pair_distances import pair_distances
from likewise.evaluation._trials import linear_rank, one_line
from likewise.statistics import GroupPairSplit, PairSplit
from likewise.statistics._pair_units import check_groups, require_both_kinds, units_of_pairs

N_FOLDS = 3


@dataclass(frozen=True, eq=False)
class PairProblem:
    """Data that can be split: items, pairs with both kinds in every part, and the splits.

    Attributes
    ----------
    X : array
        The items.
    pairs : Pairs
    groups : array of int or None
        The subject of each item.
    units : array of int of shape (n_pairs, 2)
        The items of each pair, or their subjects.
    splits : tuple of (train, test)
        Positions of pairs, repeat by repeat.
    id_columns, n_copies
        As in `Comparison`.
    """

    X: Array
    pairs: Pairs
    groups: IndexArray | None
    units: IndexArray
    splits: tuple[tuple[IndexArray, IndexArray], ...]
    id_columns: tuple[str, ...]
    n_copies: int


@dataclass(frozen=True, eq=False)
class PairFold:
    """Training items and pairs, and test pairs, of one split."""

    repeat: int
    number: int
    X_train: Array
    pairs_train: Pairs
    left: Array
    right: Array


@dataclass(frozen=True, eq=False)
class PairTrial:
    """What one fit gave: the distances of the test pairs, and the columns of the table."""

    distances: FloatArray
    fit_seconds: float
    rank: int | None
    warned: str | None


def check_pair_problem(
    X: TableLike,
    pairs: ArrayLike,
    same: ArrayLike,
    groups: ArrayLike | None,
    feature_names: Sequence[str] | None,
    *,
    n_repeats: int,
    standardize: bool,
    random_state: int,
) -> PairProblem:
    """Return the data with their splits, or raise a ValueError that says why not."""
    check_parameters(
        "compare_pairs",
        {"n_repeats": n_repeats, "standardize": standardize, "random_state": random_state},
        {"n_repeats": at_least(1), "standardize": boolean(), "random_state": at_least(0)},
    )
    names = column_names(X, feature_names)
    rows = dense_rows(X)
    judged = as_pairs(pairs, same, len(rows))
    require_both_kinds(judged.same)
    subjects = None if groups is None else check_groups(groups, len(rows))
    splits = tuple(_splits(judged, subjects, n_repeats, random_state))
    return PairProblem(
        rows,
        judged,
        subjects,
        units_of_pairs(judged.index, subjects),
        splits,
        id_columns(rows, names),
        count_copies(rows, subjects),
    )


def _splits(
    pairs: Pairs, groups: IndexArray | None, n_repeats: int, random_state: int
) -> Iterator[tuple[IndexArray, IndexArray]]:
    for repeat in range(n_repeats):
        seed = random_state + repeat
        splitter = PairSplit(N_FOLDS, random_state=seed)
        if groups is not None:
            splitter = GroupPairSplit(N_FOLDS, groups=groups, random_state=seed)
        for train, test in splitter.split(pairs.index):
            for part, positions in (("training", train), ("test", test)):
                flags = pairs.same[positions]
                if flags.all() or not flags.any():
                    raise ValueError(
                        f"pairs are too few to compare: a {part} part has {flags.sum()} same and "
                        f"{(~flags).sum()} different pairs whose items are all in it, but at least "
                        "one of each is needed."
                    )
            yield train, test


def make_pair_folds(problem: PairProblem, *, standardize: bool) -> Iterator[PairFold]:
    """Yield the splits, with features scaled by their training items."""
    for position, (train, test) in enumerate(problem.splits):
        items, index = np.unique(problem.pairs.index[train], return_inverse=True)
        X_train, tested = problem.X[items], problem.pairs.index[test]
        left, right = problem.X[tested[:, 0]], problem.X[tested[:, 1]]
        if standardize:
            scaler = StandardScaler().fit(X_train)
            X_train, left, right = (scaler.transform(part) for part in (X_train, left, right))
        same: BoolArray = problem.pairs.same[train]
        yield PairFold(
            *divmod(position, N_FOLDS),
            X_train,
            Pairs(index.reshape(-1, 2).astype(np.int64), same),
            left,
            right,
        )


def try_on_pairs(estimator: Any, fold: PairFold) -> PairTrial:
    """Learn a metric from the training pairs, and measure the distances of the test pairs.

    An estimator without `fit_pairs` is fitted to the training items.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        if hasattr(estimator, "fit_pairs"):
            estimator.fit_pairs(fold.X_train, *fold.pairs_train)
        else:
            estimator.fit(fold.X_train)
        fit_seconds = time.perf_counter() - start
        distances = pair_distances(estimator, fold.left, fold.right)
    check_finite(distances[:, None], "distances")
    return PairTrial(
        distances=distances,
        fit_seconds=fit_seconds,
        rank=linear_rank(estimator) if fold.repeat == fold.number == 0 else None,
        warned=one_line(str(caught[0].message)) if caught else None,
    )
