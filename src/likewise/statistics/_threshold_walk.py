"""Thresholds whose error rate, or precision, is on the right side of a target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.special

from likewise._runtime.arrays import BoolArray, FloatArray, IndexArray
from likewise.statistics._error_order import ErrorOrder
from likewise.statistics._rate_bounds import Guarantee, independent_bounds, rate_bounds
from likewise.statistics._scored_pairs import ScoredPairs

MIN_ERRORS = 10
# How the risk of a wrong promise of precision is divided: to the two rates that it consists of.
FMR_RISK, TMR_RISK = 0.8, 0.2


@dataclass(frozen=True)
class Passed:
    """The most lenient threshold that passed all tests up to it.

    Attributes
    ----------
    threshold : float
    rule : {"approximate", "exact", "bootstrap"}
        By which bounds.
    degrees_of_freedom : float
        Of the last bound.
    """

    threshold: float
    rule: Guarantee
    degrees_of_freedom: float = np.inf


def walk_rate(
    kind: ErrorOrder, pairs: ScoredPairs, rate: float, level: float, guarantee: Guarantee, seed: int
) -> Passed | None:
    """Return the last threshold before the bound of an error rate first exceeds `rate`.

    None if not even the strictest passes.
    """
    if guarantee != "exact":
        thresholds, n_errors = kind.grid(MIN_ERRORS, int(rate * len(kind)))
        # A share of errors above the rate fails without a bound, and there the walk has ended.
        tested = (n_errors >= MIN_ERRORS) & (n_errors <= rate * len(kind))
        thresholds, n_errors = thresholds[tested], n_errors[tested]
        if len(thresholds):
            bounds = rate_bounds(kind.variances, len(kind), n_errors, guarantee, seed)
            last = _last_before_failure(bounds.upper(level) <= rate)
            if last is not None:
                freedom = float(bounds.degrees_of_freedom[last])
                return Passed(float(thresholds[last]), guarantee, freedom)
    return _exact_rate(kind, pairs.distances, rate, level, seed)


def walk_precision(
    pairs: ScoredPairs,
    precision: float,
    prevalence: float,
    confidence: float,
    guarantee: Guarantee,
    seed: int,
) -> Passed | None:
    """Return the last threshold before the bound of the precision first is below the target.

    The precision need not fall with the threshold, but the order of the tests is fixed before the
    distances are known, by numbers of errors, and the first failure ends them: that is enough for
    the promise to hold for the last threshold that passed.
    """
    different, same = pairs.different_pairs, pairs.same_pairs
    odds = (1 - prevalence) / prevalence
    risk = 1 - confidence
    fmr_level, tmr_level = 1 - FMR_RISK * risk, 1 - TMR_RISK * risk
    if guarantee != "exact":
        thresholds, n_errors = different.grid(MIN_ERRORS, len(different))
        thresholds, n_errors = thresholds[n_errors >= MIN_ERRORS], n_errors[n_errors >= MIN_ERRORS]
        rejected = same.count(thresholds)
        seen = precision_at(n_errors / len(different), rejected / len(same), odds)
        stop = len(seen) if (seen >= precision).all() else int(np.argmin(seen >= precision))
        if stop:
            thresholds, n_errors, rejected = thresholds[:stop], n_errors[:stop], rejected[:stop]
            fmr = rate_bounds(different.variances, len(different), n_errors, guarantee, seed)
            fnmr = rate_bounds(same.variances, len(same), rejected, guarantee, seed)
            bound = precision_at(fmr.upper(fmr_level), fnmr.upper(tmr_level), odds)
            last = _last_before_failure(bound >= precision)
            if last is not None:
                freedom = min(fmr.degrees_of_freedom[last], fnmr.degrees_of_freedom[last])
                return Passed(float(thresholds[last]), guarantee, float(freedom))
    first, second = (kind.distances[_independent_pairs(kind, seed)] for kind in (different, same))
    thresholds, n_errors = _just_below(first, pairs.distances)
    rejected = len(second) - np.searchsorted(np.sort(second), thresholds, side="right")
    bound = precision_at(
        independent_bounds(n_errors, len(first)).upper(fmr_level),
        independent_bounds(rejected, len(second)).upper(tmr_level),
        odds,
    )
    last = _last_before_failure(bound >= precision)
    return None if last is None else Passed(float(thresholds[last]), "exact")


def _exact_rate(
    kind: ErrorOrder, distances: FloatArray, rate: float, level: float, seed: int
) -> Passed | None:
    """Return the threshold of independent pairs, of which a number fixed beforehand are errors."""
    disjoint = kind.distances[_independent_pairs(kind, seed)]
    chances = scipy.special.bdtr(np.arange(len(disjoint)), len(disjoint), rate)
    n_allowed = int(np.searchsorted(chances, 1 - level, side="right")) - 1
    if n_allowed < 0:
        return None
    limit = disjoint[n_allowed]  # the first that would be one error too many
    if not kind.rising:
        return Passed(float(limit), "exact")
    below = distances[distances < limit]
    return Passed(float(below.max()), "exact") if len(below) else None


def _just_below(limits: FloatArray, distances: FloatArray) -> tuple[FloatArray, IndexArray]:
    """Return the largest of the distances below each limit, and the number of limits below it."""
    ordered = np.sort(distances)
    places = np.searchsorted(ordered, limits, side="left") - 1
    return ordered[places[places >= 0]], np.flatnonzero(places >= 0)


def _independent_pairs(kind: ErrorOrder, seed: int) -> BoolArray:
    if kind.variances is None:
        return np.ones(len(kind), dtype=np.bool_)
    return kind.variances.disjoint(seed)


def precision_at(fmr: FloatArray, fnmr: FloatArray, odds: float) -> FloatArray:
    """Return the precision at the odds of a different pair; 0 where nothing is accepted."""
    accepted = (1 - fnmr) + odds * fmr
    return np.where(accepted > 0, (1 - fnmr) / np.where(accepted > 0, accepted, 1.0), 0.0)


def _last_before_failure(passed: BoolArray) -> int | None:
    """Return the position of the last test before the first that failed."""
    n_passed = len(passed) if passed.all() else int(np.argmin(passed))
    return n_passed - 1 if n_passed else None
