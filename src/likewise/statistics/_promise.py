"""What a threshold promises, or why none can, in sentences."""

from __future__ import annotations

import math

import numpy as np

from likewise._runtime.text import quote
from likewise.exceptions import GuaranteeError
from likewise.statistics._error_order import ErrorOrder
from likewise.statistics._rate_bounds import Guarantee, rate_bounds
from likewise.statistics._scored_pairs import ScoredPairs
from likewise.statistics._target import Target
from likewise.statistics._threshold_walk import MIN_ERRORS
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
    n_same = int(pairs.same.sum())
    fmr = np.mean(pairs.distances[~pairs.same] <= threshold)
    fnmr = np.mean(pairs.distances[pairs.same] > threshold)
    best = {
        "eer": "FMR and FNMR are closest to equal",
        "accuracy": "the accuracy is highest",
    }[target.name]
    return (
        f"No rate is promised: {best} at this threshold, with an FMR of {fmr:.2%} and an FNMR of "
        f"{fnmr:.2%} on {len(pairs.same) - n_same} different and {n_same} same pairs."
    )


def refusal(
    target: Target,
    pairs: ScoredPairs,
    prevalence: float | None,
    confidence: float,
) -> GuaranteeError:
    """Return the error that says how many pairs and items would be needed."""
    kind, rate = pairs.different_pairs, target.rate
    if target.name == "fnmr":
        kind = pairs.same_pairs
    if target.name == "precision" and prevalence is not None:
        # The false match rate of the target if half of the same pairs are accepted.
        rate = min(0.5, 0.5 * prevalence / (1 - prevalence) * (1 / target.rate - 1))
    needed_pairs, needed_items = _needed(kind, pairs.n_items, rate, confidence)
    return GuaranteeError(
        f"target={quote(target.text)} cannot be promised with {percent(confidence)} confidence "
        f"from {len(kind)} {'different' if kind.rising else 'same'} pairs of {pairs.n_items} "
        f"items: about {needed_pairs} such pairs of {needed_items} items would do.",
        needed_pairs,
        needed_items,
    )


def _needed(kind: ErrorOrder, n_items: int, rate: float, confidence: float) -> tuple[int, int]:
    """Return about how many pairs of how many items pass the first test of the walk.

    It takes a number of effective pairs, of which an item brings as many as here. Disjoint pairs
    without an error always do.
    """
    n_errors = np.array([min(max(MIN_ERRORS, round(rate * len(kind))), (len(kind) + 1) // 2)])
    effective = rate_bounds(kind.variances, len(kind), n_errors, "approximate").effective_pairs[0]
    wanted = pairs_needed(rate, confidence, MIN_ERRORS)
    disjoint = pairs_needed(rate, confidence)
    factor = max(wanted / max(effective, 1e-9), 1.0 + 1 / n_items)
    items = min(n_items * factor, max(2 * disjoint, n_items + 1))
    pairs = max(len(kind) * items / n_items, min(wanted, items / 2))
    return _round_up(pairs), _round_up(items)


def _round_up(number: float) -> int:
    """Round up to two digits: more would pretend to know."""
    unit: int = 10 ** max(0, math.floor(math.log10(max(number, 1))) - 1)
    return math.ceil(number / unit) * unit


def percent(rate: float) -> str:
    """Write a rate in percent, without trailing zeros."""
    return f"{100 * rate:.6g}%"
