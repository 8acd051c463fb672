"""How many times as many pairs a promise that was refused would need."""

from __future__ import annotations

import math

import numpy as np

from likewise._runtime.arrays import IndexArray
from likewise.statistics._error_order import ErrorOrder
from likewise.statistics._rate_bounds import (
    BinomialBounds,
    Guarantee,
    rate_bounds,
)
from likewise.statistics._scored_pairs import ScoredPairs
from likewise.statistics._threshold_walk import (
    MIN_ERRORS,
    bounds_of_walk,
    independent_pairs,
    precision_bound,
)
from likewise.statistics.error_rates import pairs_needed

_GROWTHS = np.geomspace(1.01, 1e4, 200)
# The closest of n disjoint pairs has, in 9 of 10 draws, at least this share of 1/n below it.
_CLOSEST = 0.1


def growth_for_rate(
    kind: ErrorOrder, rate: float, confidence: float, guarantee: Guarantee, seed: int
) -> float:
    """Return about how many times as many pairs and items pass the first test of the walk.

    Disjoint pairs without an error always do, and their number grows with that of the items. Other
    guarantees also pass by effective pairs, of which an item brings as many as here.
    """
    n_disjoint = int(independent_pairs(kind, seed).sum())
    growth = pairs_needed(rate, confidence) / n_disjoint
    if guarantee != "exact":
        n_errors = np.array([min(max(MIN_ERRORS, round(rate * len(kind))), (len(kind) + 1) // 2)])
        effective = bounds_of_walk(kind, n_errors, "approximate", 0).effective_pairs[0]
        growth = min(growth, pairs_needed(rate, confidence, MIN_ERRORS) / max(effective, 1e-9))
    return max(growth, 1.01)


def growth_for_precision(
    pairs: ScoredPairs,
    precision: float,
    prevalence: float,
    confidence: float,
    guarantee: Guarantee,
    seed: int,
) -> float | None:
    """Return about how many times as many pairs and items pass the first test of the walk.

    The rates at each threshold are taken to stay, and the effective or disjoint pairs to grow with
    the items. None if not even 10,000 times as many would.
    """
    find = _exact_bounds if guarantee == "exact" else _approximate_bounds
    fmr, fnmr = find(pairs, seed)
    passed = precision_bound(fmr, fnmr, prevalence, confidence) >= precision
    return float(_GROWTHS[np.argmax(passed)]) if passed.any() else None


def _approximate_bounds(pairs: ScoredPairs, seed: int) -> tuple[BinomialBounds, BinomialBounds]:
    """Return the bounds of both rates at the first test, for each growth."""
    different, same = pairs.different_pairs, pairs.same_pairs
    thresholds, n_errors = different.grid(1, len(different))
    first = np.searchsorted(n_errors, MIN_ERRORS / _GROWTHS).clip(max=len(n_errors) - 1)
    return (
        _grown_bounds(different, n_errors[first], seed),
        _grown_bounds(same, same.count(thresholds[first]), seed),
    )


def _grown_bounds(kind: ErrorOrder, n_errors: IndexArray, seed: int) -> BinomialBounds:
    """Return the bounds of the rates seen, of more effective pairs."""
    seen = rate_bounds(kind.variances, len(kind), n_errors, "approximate", seed)
    effective = _GROWTHS * seen.effective_pairs
    return BinomialBounds(n_errors / len(kind), effective, seen.degrees_of_freedom)


def _exact_bounds(pairs: ScoredPairs, seed: int) -> tuple[BinomialBounds, BinomialBounds]:
    """Return the bounds of both rates at the first test, for each growth: no disjoint error."""
    different, same = pairs.different_pairs, pairs.same_pairs
    n_different, n_same = (
        _GROWTHS * int(independent_pairs(kind, seed).sum()) for kind in (different, same)
    )
    closest = (_CLOSEST * len(different) / n_different).astype(np.int64)
    # A same pair at the distance of the closest disjoint pair is rejected.
    rejected = len(same) - np.searchsorted(
        np.sort(same.distances), different.distances[closest], side="left"
    )
    never = np.full(len(_GROWTHS), np.inf)
    return (
        BinomialBounds(np.zeros(len(_GROWTHS)), n_different, never),
        BinomialBounds(rejected / len(same), n_same, never),
    )


def round_up(number: float) -> int:
    """Round up to two digits: more would pretend to know."""
    unit: int = 10 ** max(0, math.floor(math.log10(max(number, 1))) - 1)
    return math.ceil(number / unit) * unit
