"""The parts of the data: items for the metric, and pairs of other items for the threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likewise._runtime.arrays import BoolArray, IndexArray
from likewise._runtime.memory import require_memory
from likewise._runtime.validation import pluralize
from likewise.constraints import Pairs, random_pairs
from likewise.statistics.pair_split import assign_units

_BYTES_PER_PAIR = 170  # of a fit: numbers, distances and what sorts them (measured)


@dataclass(frozen=True, eq=False)
class Parts:
    """Which rows the metric is learned from, and which pairs of others the threshold.

    Attributes
    ----------
    metric_rows : array of int
        Row numbers.
    metric_pairs : Pairs or None
        Pairs of them, numbered within them; None where they have labels.
    threshold_pairs : Pairs
        Pairs of rows of X.
    n_dropped : int
        Pairs that belong to neither part.
    """

    metric_rows: IndexArray
    metric_pairs: Pairs | None
    threshold_pairs: Pairs
    n_dropped: int


def split_labelled(
    codes: IndexArray,
    groups: IndexArray | None,
    share: float,
    max_pairs: int,
    seed: int,
) -> Parts:
    """Split labelled rows: subjects at random, or the rows of every class in proportion.

    The share of the rows (or subjects) for the threshold may be 1, if there is nothing to learn.
    """
    if share == 1:
        everything = np.ones(len(codes), dtype=np.bool_)
        return _labelled_parts(codes, everything, groups, max_pairs, seed)
    rng = np.random.default_rng(seed)
    units = np.arange(len(codes)) if groups is None else groups
    order = rng.permutation(int(units.max()) + 1)
    if len(order) < 4:
        what = "rows" if groups is None else "subjects"
        raise ValueError(
            f"X has {pluralize(len(order), what[:-1])}, but at least 4 are needed to learn the "
            "metric from some and the threshold from others."
        )
    if groups is None:
        order = order[np.argsort(codes[order], kind="stable")]
    # In this order, evenly spread.
    edges = np.floor(np.arange(len(order) + 1) * share + rng.random())
    held = np.empty(len(order), dtype=np.bool_)
    held[order] = np.diff(edges) > 0
    return _labelled_parts(codes, held[units], groups, max_pairs, seed)


def split_pairs(
    pairs: Pairs, groups: IndexArray | None, n_rows: int, share: float, seed: int
) -> Parts:
    """Split the rows of given pairs, or their subjects; pairs that straddle are dropped."""
    if share == 1:
        return Parts(np.arange(n_rows), pairs, pairs, 0)
    units = np.arange(n_rows) if groups is None else groups
    what = "items" if groups is None else "subjects"
    assigned = assign_units(
        units[pairs.index], np.array([1 - share, share]), np.random.default_rng(seed), what
    )
    part_of_unit = np.zeros(int(units.max()) + 1, dtype=np.int64)
    part_of_unit[: len(assigned)] = assigned
    part = part_of_unit[units]
    sides = part[pairs.index]
    learned, held = (sides == 0).all(axis=1), (sides == 1).all(axis=1)
    for kept, purpose in ((learned, "metric"), (held, "threshold")):
        _require_both_kinds(pairs.same[kept], f"the {purpose}", "pairs straddle the split")
    rows = np.flatnonzero(part == 0)
    renumbered = np.empty(n_rows, dtype=np.int64)
    renumbered[rows] = np.arange(len(rows))
    return Parts(
        rows,
        Pairs(renumbered[pairs.index[learned]], pairs.same[learned]),
        Pairs(pairs.index[held], pairs.same[held]),
        int(len(pairs) - learned.sum() - held.sum()),
    )


def _labelled_parts(
    codes: IndexArray, held: BoolArray, groups: IndexArray | None, max_pairs: int, seed: int
) -> Parts:
    rows = np.flatnonzero(held)
    learned = np.arange(len(codes)) if held.all() else np.flatnonzero(~held)
    if len(np.unique(codes[learned])) < 2:
        raise ValueError(
            f"y has too few rows to split: the {len(learned)} rows for the metric are of one class."
        )
    pairs = pairs_of_rows(codes[rows], max_pairs, seed)
    why = "y has too few rows of each class; groups=y splits classes as a whole"
    if groups is not None:
        why = "their subjects have no two rows of the same class, or rows of one class only"
    _require_both_kinds(pairs.same, "the threshold", why)
    return Parts(learned, None, Pairs(rows[pairs.index], pairs.same), 0)


def pairs_of_rows(codes: IndexArray, max_pairs: int, seed: int) -> Pairs:
    """Return all pairs of labelled rows, or as many random ones, half of them same if possible."""
    n = len(codes)
    n_existing = n * (n - 1) // 2
    n_pairs = min(n_existing, max_pairs)
    # Of a hundredth of all pairs or more, the draw permutes the numbers of all.
    permuted = n_existing if max_pairs < n_existing <= 100 * max_pairs else 0
    require_memory(
        max(_BYTES_PER_PAIR * n_pairs, 8 * permuted),
        f"PairClassifier with {n_pairs} pairs of {n} rows",
        "set a smaller max_pairs",
    )
    if n_existing > max_pairs:
        return random_pairs(codes, max_pairs, distinct=True, random_state=seed)
    first, second = np.triu_indices(n, 1)
    return Pairs(np.column_stack([first, second]), codes[first] == codes[second])


def _require_both_kinds(same: BoolArray, purpose: str, why: str) -> None:
    n_same = int(same.sum())
    if not 0 < n_same < len(same):
        raise ValueError(
            f"There are {n_same} same and {len(same) - n_same} different pairs for {purpose}, but "
            f"at least one of each is needed: {why}."
        )
