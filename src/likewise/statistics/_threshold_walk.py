"""Thresholds whose error rate, or precision, is on the right side of a target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.special

from likewise._runtime.arrays import BoolArray, FloatArray, IndexArray
from likewise.statistics._error_order import ErrorOrder
from likewise.statistics._rate_bounds import (
    Guarantee,
    RateBounds,
    independent_bounds,
    rate_bounds,
)
from likewise.statistics._scored_pairs import ScoredPairs

MIN_ERRORS = 10
# The items that cause most errors need not be among those of the first few errors.
LEAST_ERRORS_FOR_VARIANCE = 100
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
    n_allowed = int(rate * len(kind))
    thresholds, n_errors = kind.grid(MIN_ERRORS, n_allowed)
    # A share of errors above the rate fails without a bound, and there the walk has ended.
    tested = (n_errors >= MIN_ERRORS) & (n_errors <= n_allowed)
    thresholds, n_errors = thresholds[tested], n_errors[tested]
    if guarantee == "exact" or not len(thresholds):
        return _exact_rate(kind, pairs.distances, rate, level, seed, n_allowed)
    bounds = bounds_of_walk(kind, n_errors, guarantee, seed)
    last = _last_before_failure(bounds.upper(level) <= rate)
    if last is None:
        stricter = _exact_rate(kind, pairs.distances, rate, level, seed, MIN_ERRORS - 1)
        if stricter is not None:
            return stricter
        # The last resort: the variance at the first threshold itself.
        bounds = rate_bounds(kind.variances, len(kind), n_errors[:1], guarantee, seed)
        if bounds.upper(level)[0] > rate:
            return None
        last = 0
    return Passed(float(thresholds[last]), guarantee, float(bounds.degrees_of_freedom[last]))


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
    n_allowed = len(different)
    if guarantee != "exact":
        thresholds, n_errors = different.grid(MIN_ERRORS, len(different))
        thresholds, n_errors = thresholds[n_errors >= MIN_ERRORS], n_errors[n_errors >= MIN_ERRORS]
        rejected = same.count(thresholds)
        seen = precision_at(n_errors / len(different), rejected / len(same), prevalence)
        stop = len(seen) if (seen >= precision).all() else int(np.argmin(seen >= precision))
        if stop:
            thresholds, n_errors, rejected = thresholds[:stop], n_errors[:stop], rejected[:stop]
            fmr = rate_bounds(different.variances, len(different), n_errors, guarantee, seed)
            fnmr = rate_bounds(same.variances, len(same), rejected, guarantee, seed)
            bound = precision_bound(fmr, fnmr, prevalence, confidence)
            last = _last_before_failure(bound >= precision)
            if last is not None:
                freedom = min(fmr.degrees_of_freedom[last], fnmr.degrees_of_freedom[last])
                return Passed(float(thresholds[last]), guarantee, float(freedom))
            n_allowed = MIN_ERRORS - 1  # the walk has ended there
    first, second = (kind.distances[independent_pairs(kind, seed)] for kind in (different, same))
    thresholds, n_errors = _just_below(first, pairs.distances)
    rejected = len(second) - np.searchsorted(np.sort(second), thresholds, side="right")
    bound = precision_bound(
        independent_bounds(n_errors, len(first)),
        independent_bounds(rejected, len(second)),
        prevalence,
        confidence,
    )
    # As in `_exact_rate`: a promise that all pairs together contradict is not made.
    of_all, rejected_of_all = different.count(thresholds), same.count(thresholds)
    seen = precision_at(of_all / len(different), rejected_of_all / len(same), prevalence)
    passed = (bound >= precision) & (seen >= precision) & (of_all <= n_allowed)
    last = _last_before_failure(passed)
    return None if last is None else Passed(float(thresholds[last]), "exact")


def bounds_of_walk(
    kind: ErrorOrder, n_errors: IndexArray, guarantee: Guarantee, seed: int
) -> RateBounds:
    """Return the bounds of the error rate with these numbers of errors, as thresholds are tested.

    They are those of `error_rates`, but for a variance from at least `LEAST_ERRORS_FOR_VARIANCE`.
    """
    return rate_bounds(
        kind.variances,
        len(kind),
        n_errors,
        guarantee,
        seed,
        least_errors=min(LEAST_ERRORS_FOR_VARIANCE, len(kind) // 10),
    )


def _exact_rate(
    kind: ErrorOrder,
    distances: FloatArray,
    rate: float,
    level: float,
    seed: int,
    n_allowed: int,
) -> Passed | None:
    """Return the threshold of disjoint pairs, of which a number fixed beforehand are errors.

    At most `n_allowed` of all pairs are, too. An item is in one disjoint pair, however many pairs
    it has: where those with many pairs cause most of the errors, disjoint pairs have fewer.
    """
    disjoint = kind.distances[independent_pairs(kind, seed)]
    chances = scipy.special.bdtr(np.arange(len(disjoint)), len(disjoint), rate)
    n_disjoint_errors = int(np.searchsorted(chances, 1 - level, side="right")) - 1
    if n_disjoint_errors < 0:
        return None
    # The first pairs that would be one error too many.
    limits = disjoint[n_disjoint_errors], kind.distances[n_allowed]
    if not kind.rising:
        return Passed(float(max(limits)), "exact")
    below = distances[distances < min(limits)]
    return Passed(float(below.max()), "exact") if len(below) else None


def _just_below(limits: FloatArray, distances: FloatArray) -> tuple[FloatArray, IndexArray]:
    """Return the largest of the distances below each limit, and the number of limits below it."""
    ordered = np.sort(distances)
    places = np.searchsorted(ordered, limits, side="left") - 1
    return ordered[places[places >= 0]], np.flatnonzero(places >= 0)


def independent_pairs(kind: ErrorOrder, seed: int) -> BoolArray:
    """Choose disjoint pairs at random, or all if none share a unit."""
    if kind.variances is None:
        return np.ones(len(kind), dtype=np.bool_)
    return kind.variances.disjoint(seed)


def precision_at(fmr: FloatArray, fnmr: FloatArray, prevalence: float) -> FloatArray:
    """Return the precision where a share of the pairs is same; 0 where nothing is accepted."""
    right = prevalence * (1 - fnmr)
    accepted = right + (1 - prevalence) * fmr
    return np.where(accepted > 0, right / np.where(accepted > 0, accepted, 1.0), 0.0)


def precision_bound(
    fmr: RateBounds, fnmr: RateBounds, prevalence: float, confidence: float
) -> FloatArray:
    """Return what the precision is not below with that confidence."""
    risk = 1 - confidence
    return precision_at(fmr.upper(1 - FMR_RISK * risk), fnmr.upper(1 - TMR_RISK * risk), prevalence)


def _last_before_failure(passed: BoolArray) -> int | None:
    """Return the position of the last test before the first that failed."""
    n_passed = len(passed) if passed.all() else int(np.argmin(passed))
    return n_passed - 1 if n_passed else None
