"""What a threshold promises, or why none can, in sentences."""

from __future__ import annotations

import math

import numpy as np

from likewise._runtime.text import quote
from likewise.exceptions import GuaranteeError
from likewise.statistics._error_order import ErrorOrder
from likewise.statistics._rate_bounds import BinomialBounds, Guarantee, rate_bounds
from likewise.statistics._scored_pairs import ScoredPairs
from likewise.statistics._target import Target
from likewise.statistics._threshold_walk import (
    MIN_ERRORS,
    bounds_of_walk,
    precision_at,
    precision_bound,
)
from likewise.statistics.error_rates import pairs_needed

_RULES = {
    "approximate": "approximate",
    "exact": "exact, from disjoint pairs",
    "bootstrap": "bootstrap of {unit}",
}


def promise(
    target: Target, prevalence: float | None, confidence: float, rule: Guarantee, unit: str
) -> str:
    """Return what holds at the threshold."""
    claim = {
        "fmr": f"FMR at this threshold is at most {percent(target.rate)}",
        "fnmr": f"FNMR at this threshold is at most {percent(target.rate)}",
        "precision": f"precision at this threshold is at least {percent(target.rate)} where "
        f"{percent(prevalence or 0)} of the pairs are same",
    }[target.name]
    how = _RULES[rule].format(unit=unit)
    return f"With {percent(confidence)} confidence over draws of {unit}, {claim} ({how})."


def no_promise(target: Target, pairs: ScoredPairs, threshold: float) -> str:
    """Return what was seen at a threshold for which no rate is promised."""
    fmr = np.mean(pairs.distances[~pairs.same] <= threshold)
    fnmr = np.mean(pairs.distances[pairs.same] > threshold)
    best = {
        "eer": "FMR and FNMR are closest to equal",
        "accuracy": "the accuracy is highest",
    }[target.name]
    return (
        f"No rate is promised: {best} at this threshold, with an FMR of {fmr:.2%} and an FNMR of "
        f"{fnmr:.2%} on {pairs.n_different} different and {pairs.n_same} same pairs."
    )


def refusal(
    target: Target,
    pairs: ScoredPairs,
    prevalence: float | None,
    confidence: float,
) -> GuaranteeError:
    """Return the error that says how many pairs and items would do, or that none would."""
    kind = pairs.same_pairs if target.name == "fnmr" else pairs.different_pairs
    refused = (
        f"target={quote(target.text)} cannot be promised with {percent(confidence)} confidence "
        f"from {len(kind)} {'different' if kind.rising else 'same'} pairs of {pairs.n_items} items"
    )
    reason = _out_of_reach(target, pairs, prevalence)
    if reason is not None:
        return GuaranteeError(f"{refused}: {reason}.", None, None)
    rate, growth = target.rate, None
    if target.name == "precision" and prevalence is not None:
        growth = _growth_for_precision(pairs, rate, prevalence, confidence)
        # The false match rate of the target if half of the same pairs are accepted.
        rate = min(0.5, 0.5 * prevalence / (1 - prevalence) * (1 / rate - 1))
    if growth is None:
        needed_pairs, needed_items = _needed(kind, pairs.n_items, rate, confidence)
    else:
        needed_pairs, needed_items = (_round_up(growth * n) for n in (len(kind), pairs.n_items))
    return GuaranteeError(
        f"{refused}: about {needed_pairs} such pairs of {needed_items} items would do.",
        needed_pairs,
        needed_items,
    )


def _out_of_reach(target: Target, pairs: ScoredPairs, prevalence: float | None) -> str | None:
    """Return why more pairs would not help, or None if they might.

    One of the different pairs may be close by chance, and is not held against the metric.
    """
    different, same = pairs.different_pairs, pairs.same_pairs
    if target.name == "fmr":
        n_errors = different.count(pairs.distances.min(keepdims=True))[0]
        if n_errors - 1 > target.rate * len(different):
            return (
                f"already {percent(n_errors / len(different))} of the different pairs have the "
                "smallest distance, so no threshold keeps it; more pairs would not help"
            )
    if target.name == "precision" and prevalence is not None:
        thresholds = np.unique(pairs.distances)
        n_errors, fnmr = different.count(thresholds), same.count(thresholds) / len(same)
        seen, possible = (
            precision_at(number / len(different), fnmr, prevalence).max()
            for number in (n_errors, np.maximum(n_errors - 1, 0))
        )
        if possible < target.rate:
            return (
                f"the highest precision seen at any threshold is {percent(seen)}; a better "
                "metric is needed, not more pairs"
            )
    return None


def _needed(kind: ErrorOrder, n_items: int, rate: float, confidence: float) -> tuple[int, int]:
    """Return about how many pairs of how many items pass the first test of the walk.

    It takes a number of effective pairs, of which an item brings as many as here. Disjoint pairs
    without an error always do.
    """
    n_errors = np.array([min(max(MIN_ERRORS, round(rate * len(kind))), (len(kind) + 1) // 2)])
    effective = bounds_of_walk(kind, n_errors, "approximate", 0).effective_pairs[0]
    wanted = pairs_needed(rate, confidence, MIN_ERRORS)
    disjoint = pairs_needed(rate, confidence)
    factor = max(wanted / max(effective, 1e-9), 1.0 + 1 / n_items)
    most = disjoint * _items_per_disjoint_pair(kind, n_items)
    items = min(n_items * factor, max(most, n_items + 1))
    pairs = max(len(kind) * items / n_items, min(wanted, items / 2))
    return _round_up(pairs), _round_up(items)


def _growth_for_precision(
    pairs: ScoredPairs, precision: float, prevalence: float, confidence: float
) -> float | None:
    """Return about how many times as many pairs and items would pass a test of the walk.

    The rates at each threshold are taken to stay, and the effective pairs to grow with the items.
    None if not even 10,000 times as many would.
    """
    different, same = pairs.different_pairs, pairs.same_pairs
    thresholds, n_errors = different.grid(1, len(different))
    kinds = [(different, n_errors), (same, same.count(thresholds))]
    bounds = [
        rate_bounds(kind.variances, len(kind), number, "approximate") for kind, number in kinds
    ]
    for growth in np.geomspace(1.01, 1e4, 200):
        fmr, fnmr = (
            BinomialBounds(
                number / len(kind), growth * bound.effective_pairs, bound.degrees_of_freedom
            )
            for (kind, number), bound in zip(kinds, bounds, strict=True)
        )
        passed = precision_bound(fmr, fnmr, prevalence, confidence) >= precision
        if (passed & (growth * n_errors >= MIN_ERRORS)).any():
            return float(growth)
    return None


def _items_per_disjoint_pair(kind: ErrorOrder, n_items: int) -> float:
    """Return how many items it takes for one more disjoint pair.

    A pair uses up two units, or the one subject that it lies within, with all their items.
    """
    if kind.variances is None:
        return 2.0
    within = (kind.variances.units[:, 0] == kind.variances.units[:, 1]).all()
    return (1 if within else 2) * n_items / kind.variances.n_units


def _round_up(number: float) -> int:
    """Round up to two digits: more would pretend to know."""
    unit: int = 10 ** max(0, math.floor(math.log10(max(number, 1))) - 1)
    return math.ceil(number / unit) * unit


def percent(rate: float) -> str:
    """Write a rate in percent, without trailing zeros."""
    return f"{100 * rate:.6g}%"
