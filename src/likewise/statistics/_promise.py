"""What a threshold promises, or why none can, in sentences."""

from __future__ import annotations

import numpy as np

from likewise._runtime.text import quote
from likewise.exceptions import GuaranteeError
from likewise.statistics._needed_pairs import growth_for_precision, growth_for_rate, round_up
from likewise.statistics._rate_bounds import Guarantee
from likewise.statistics._scored_pairs import ScoredPairs
from likewise.statistics._target import Target
from likewise.statistics._threshold_walk import precision_at
from likewise.statistics.dyadic import FEW_DEGREES_OF_FREEDOM

_RULES = {
    "approximate": "approximate",
    "exact": "exact, from disjoint pairs",
    "bootstrap": "bootstrap of {unit}",
}


def promise(
    target: Target,
    prevalence: float | None,
    confidence: float,
    rule: Guarantee,
    unit: str,
    degrees_of_freedom: float,
) -> str:
    """Return what holds at the threshold, and whether it rests on few units."""
    claim = {
        "fmr": f"FMR at this threshold is at most {percent(target.rate)}",
        "fnmr": f"FNMR at this threshold is at most {percent(target.rate)}",
        "precision": f"precision at this threshold is at least {percent(target.rate)} where "
        f"{percent(prevalence or 0)} of the pairs are same",
    }[target.name]
    how = _RULES[rule].format(unit=unit)
    sentence = f"With {percent(confidence)} confidence over draws of {unit}, {claim} ({how})."
    if degrees_of_freedom < FEW_DEGREES_OF_FREEDOM:
        sentence += (
            f" Few {unit} cause most of the errors (about {degrees_of_freedom:.1f} degrees of "
            "freedom): the confidence may be lower."
        )
    return sentence


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
    guarantee: Guarantee,
    seed: int,
) -> GuaranteeError:
    """Return the error that says how many pairs and items would do, or that none would."""
    kind = pairs.same_pairs if target.name == "fnmr" else pairs.different_pairs
    refused = (
        f"target={quote(target.text)} cannot be promised with {percent(confidence)} confidence "
        f"from {len(kind)} {'different' if kind.rising else 'same'} pairs of {pairs.n_items} items"
    )
    if pairs.unit == "subjects":
        refused += f" of {pairs.n_units} subjects"
    reason = _out_of_reach(target, pairs, prevalence)
    if reason is not None:
        return GuaranteeError(f"{refused}: {reason}.", None, None)
    rate, growth = target.rate, None
    if target.name == "precision" and prevalence is not None:
        growth = growth_for_precision(pairs, rate, prevalence, confidence, guarantee, seed)
        # The false match rate of the target if half of the same pairs are accepted.
        rate = min(0.5, 0.5 * prevalence / (1 - prevalence) * (1 / rate - 1))
    if growth is None:
        growth = growth_for_rate(kind, rate, confidence, guarantee, seed)
    needed_pairs, needed_items = (round_up(growth * n) for n in (len(kind), pairs.n_items))
    needed = f"about {needed_pairs} such pairs of {needed_items} items"
    if pairs.unit == "subjects":
        needed += f" of about {round_up(growth * pairs.n_units)} subjects"
    return GuaranteeError(f"{refused}: {needed} would do.", needed_pairs, needed_items)


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


def percent(rate: float) -> str:
    """Write a rate in percent, without trailing zeros."""
    return f"{100 * rate:.6g}%"
