"""Where the threshold is that has the target as its true error rate."""

from __future__ import annotations

import numpy as np
import scipy.special

from likewise._runtime.arrays import FloatArray
from likewise.statistics._error_order import ErrorOrder
from likewise.statistics._rate_bounds import Guarantee
from likewise.statistics._scored_pairs import ScoredPairs
from likewise.statistics._threshold_walk import bounds_of_walk
from likewise.statistics.dyadic import codes_of_pairs, variance_over_units


def threshold_interval(
    kind: ErrorOrder, rate: float, confidence: float, guarantee: Guarantee, seed: int
) -> tuple[float, float]:
    """Return the thresholds at which the interval of an error rate holds `rate`.

    An end is infinite where the pairs do not bound it.
    """
    level = (1 + confidence) / 2
    likely_enough = min(len(kind), int(4 * rate * len(kind)) + 200)
    for stop in (likely_enough, len(kind)):
        thresholds, n_errors = kind.grid(1, stop)
        bounds = bounds_of_walk(kind, n_errors, guarantee, seed)
        below, above = bounds.upper(level) < rate, bounds.lower(level) > rate
        if above.any():
            break
    outwards = 1 if kind.rising else -1
    strict, lenient = -outwards * np.inf, outwards * np.inf
    n_below = len(below) if below.all() else int(np.argmin(below))
    if n_below:
        strict = float(thresholds[n_below - 1])
    if above.any():
        lenient = float(thresholds[np.argmax(above)])
    return min(strict, lenient), max(strict, lenient)


def equal_error_interval(
    pairs: ScoredPairs, thresholds: FloatArray, confidence: float
) -> tuple[tuple[float, float], float]:
    """Return the thresholds at which the two error rates may be equal, and degrees of freedom.

    Those whose difference of the rates is not significant. It rises with the threshold, so that
    the ends of the interval are found by bisection. An end is infinite where there is none. The
    degrees of freedom are the fewer of those at the two ends.
    """
    pair_codes = None
    if pairs.units is not None:  # needed for every threshold, and takes the longest
        pair_codes = codes_of_pairs(pairs.units[pairs.units[:, 0] != pairs.units[:, 1]])

    def significant(position: int) -> tuple[int, float]:
        """Return -1 or 1 if the false match rate is significantly lower or higher, else 0.

        With the degrees of freedom.
        """
        threshold = thresholds[position]
        wrong = np.where(pairs.same, pairs.distances > threshold, pairs.distances <= threshold)
        influence = np.empty(len(wrong))
        rates = []
        for kind, sign in ((~pairs.same, 1), (pairs.same, -1)):
            rates.append(sign * wrong[kind].mean())
            influence[kind] = (sign * wrong[kind] - rates[-1]) / kind.sum()
        difference = sum(rates)
        level = (1 + confidence) / 2
        freedom = np.inf
        if pairs.units is None:
            margin = scipy.special.ndtri(level) * np.linalg.norm(influence)
        else:
            found = variance_over_units(influence, pairs.units, pair_codes)
            if found.variance > 0:
                freedom = found.degrees_of_freedom
            quantile = scipy.special.stdtrit(found.degrees_of_freedom, level)
            margin = quantile * np.sqrt(found.variance)
        if abs(difference) <= margin:
            return 0, freedom
        return (1 if difference > 0 else -1), freedom

    def first(least: int) -> int:
        """Return the first position at which `significant` is at least that."""
        low, high = -1, len(thresholds)
        while high - low > 1:
            middle = (low + high) // 2
            if significant(middle)[0] >= least:
                high = middle
            else:
                low = middle
        return high

    start, stop = first(0) - 1, first(1)
    ends = (
        float(thresholds[start]) if start >= 0 else -np.inf,
        float(thresholds[stop]) if stop < len(thresholds) else np.inf,
    )
    return ends, min(significant(inner)[1] for inner in (start + 1, max(stop - 1, 0)))
