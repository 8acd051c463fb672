"""Test pairs of several splits, by their places among the pairs of the other kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import BoolArray, FloatArray, IndexArray
from likewise.statistics._disjoint_pairs import disjoint_pairs
from likewise.statistics._pair_units import check_scored_pairs
from likewise.statistics._rate_bounds import BinomialBounds
from likewise.statistics.dyadic import variance_over_units
from likewise.statistics.verification import VerificationCurve, verification_curve


class Estimate(NamedTuple):
    """A measure of test pairs, and the influence that each pair has on it."""

    value: float
    influence: FloatArray


@dataclass(frozen=True, eq=False)
class PlacedPairs:
    """What a metric, learned anew for each split, says about the pairs that it is tested on.

    Distances under different metrics cannot be compared, but places can: with `fmr`, the false
    match rate at which a pair would just be accepted, in place of the distance, the pairs of all
    splits are pooled. Each split counts by the number of its same pairs.

    Attributes
    ----------
    pair : array of int of shape (n_tested,)
        Which pair was tested; one may be tested in several splits.
    same : array of bool of shape (n_tested,)
    split : array of int of shape (n_tested,)
    fmr : array of shape (n_tested,)
        The share of the different pairs of the split that are at most as far apart.
    placement : array of shape (n_tested,)
        The share of the pairs of the other kind, in the split, on the right side of the pair: a
        same pair should be closer than different ones. Ties count one half.
    n_pairs : int
        Pairs in all, tested or not.
    """

    pair: IndexArray
    same: BoolArray
    split: IndexArray
    fmr: FloatArray
    placement: FloatArray
    n_pairs: int

    @cached_property
    def curve(self) -> VerificationCurve:
        """The verification curve of the pooled pairs; its thresholds are false match rates."""
        return verification_curve(self.fmr, self.same)

    @property
    def least_fmr(self) -> float:
        """The smallest positive false match rate that every split can show."""
        return 1 / int(np.bincount(self.split[~self.same]).min())

    @property
    def n_splits(self) -> int:
        """The number of splits."""
        return int(self.split.max()) + 1

    @property
    def split_weights(self) -> FloatArray:
        """The share of each split in the pooled rates: its part of the same pairs."""
        n_same = np.bincount(self.split[self.same], minlength=self.n_splits)
        return np.asarray(n_same / n_same.sum())

    def in_split(self, split: int) -> PlacedPairs:
        """Return the pairs of one split."""
        here = self.split == split
        return PlacedPairs(
            self.pair[here],
            self.same[here],
            np.zeros(np.count_nonzero(here), dtype=np.int64),
            self.fmr[here],
            self.placement[here],
            self.n_pairs,
        )

    def auc(self) -> Estimate:
        """Return the area under the ROC curve, averaged over the splits."""
        value = float(self.placement[self.same].mean())
        return Estimate(value, self._per_pair(self._centred(self.placement) * self._weights))

    def fnmr_at(self, fmr: float) -> Estimate:
        """Return the false non-match rate where the false match rate is at most `fmr`."""
        value = self.curve.fnmr_at(fmr)
        return Estimate(value, self._per_pair(self._rejection_influence(fmr)))

    def eer(self) -> Estimate:
        """Return the equal error rate."""
        value = self.curve.eer
        # At the rate e with FNMR(e) = e, a change of the curve by δ moves e by δ / (1 + slope).
        influence = self._rejection_influence(value) / (1 + self._slope(value))
        return Estimate(value, self._per_pair(influence))

    def _rejection_influence(self, fmr: float) -> FloatArray:
        accepted = self._centred((self.fmr <= fmr).astype(np.float64)) * self._weights
        # A different pair that is accepted makes the threshold stricter: fewer same ones pass.
        return np.where(self.same, -accepted, self._slope(fmr) * accepted)

    def _slope(self, fmr: float) -> float:
        """Return the slope of the ROC curve at `fmr`: true matches gained per false match."""
        passed = self.fmr[self.same]
        gained = np.count_nonzero((passed > fmr / 2) & (passed <= 3 * fmr / 2)) / len(passed)
        return gained / fmr if fmr > 0 else 0.0

    @cached_property
    def _weights(self) -> FloatArray:
        n_same = np.bincount(self.split[self.same], minlength=self.split.max() + 1)
        n_different = np.bincount(self.split[~self.same], minlength=len(n_same))
        ratio = n_same / np.maximum(n_different, 1)
        return np.asarray(np.where(self.same, 1.0, ratio[self.split]) / n_same.sum())

    def _centred(self, values: FloatArray) -> FloatArray:
        """Subtract the mean of each kind in each split."""
        kind = 2 * self.split + self.same
        sums = np.bincount(kind, values)
        return np.asarray(values - (sums / np.maximum(np.bincount(kind), 1))[kind])

    def _per_pair(self, influence: FloatArray) -> FloatArray:
        return np.bincount(self.pair, influence, minlength=self.n_pairs).astype(np.float64)


def place_pairs(
    distances: Sequence[ArrayLike], positions: Sequence[ArrayLike], same: BoolArray
) -> PlacedPairs:
    """Return the places of the pairs at `positions`, split by split.

    Parameters
    ----------
    distances : sequence of arrays
        For each split, the distances of its test pairs.
    positions : sequence of arrays of int
        Which pairs these are.
    same : array of bool of shape (n_pairs,)
        Of all pairs. Each split needs both kinds.

    Returns
    -------
    PlacedPairs

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.statistics import place_pairs
    >>> same = np.array([True, False, True, False, False])
    >>> placed = place_pairs([[0.1, 0.3], [70.0, 50.0, 90.0]], [[0, 1], [2, 3, 4]], same)
    >>> placed.placement
    array([1. , 1. , 0.5, 0. , 1. ])
    >>> placed.auc().value
    0.75
    """
    fmr, placement = [], []
    for given, position in zip(distances, positions, strict=True):
        values, flags = check_scored_pairs(given, same[np.asarray(position)])
        below, up_to = _shares(np.sort(values[~flags]), values)
        closer, closer_or_equal = _shares(np.sort(values[flags]), values)
        fmr.append(up_to)
        placement.append(np.where(flags, 1 - (below + up_to) / 2, (closer + closer_or_equal) / 2))
    pair = np.concatenate([np.asarray(position, dtype=np.int64) for position in positions])
    split = np.repeat(np.arange(len(fmr)), [len(rates) for rates in fmr])
    return PlacedPairs(
        pair, same[pair], split, np.concatenate(fmr), np.concatenate(placement), len(same)
    )


def _shares(ordered: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the shares of `ordered` that are below, and at most, each value."""
    below = np.searchsorted(ordered, values, side="left") / len(ordered)
    return below, np.searchsorted(ordered, values, side="right") / len(ordered)


def rate_interval(
    placed: PlacedPairs, estimate: Estimate, units: IndexArray, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the interval of a rate: Korn and Graubard's, by the dyadic variance.

    A rate of 0 or 1, which shows no variance, has the interval of disjoint same pairs.

    Parameters
    ----------
    placed : PlacedPairs
    estimate : Estimate
        What a method of `placed` returned.
    units : array of int of shape (n_pairs, 2)
        The items, or subjects, of each pair.
    confidence : float, default=0.95
        Of the two-sided interval.

    Returns
    -------
    tuple of two floats

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.statistics import place_pairs, rate_interval
    >>> units = np.stack(np.triu_indices(40, 1), axis=1)
    >>> rng = np.random.default_rng(0)
    >>> same = rng.random(len(units)) < 0.5
    >>> placed = place_pairs([rng.normal(size=len(units)) - same], [np.arange(len(units))], same)
    >>> low, high = rate_interval(placed, placed.auc(), units)
    >>> low < placed.auc().value < high
    True
    """
    level = (1 + confidence) / 2
    rate, varying = np.array([estimate.value]), estimate.influence != 0
    if varying.any() and 0 < estimate.value < 1:
        found = variance_over_units(estimate.influence[varying], units[varying])
        effective, freedom = rate * (1 - rate) / found.variance, found.degrees_of_freedom
    else:
        matching = units[np.unique(placed.pair[placed.same])]
        chosen = disjoint_pairs(matching, np.random.default_rng(0))
        effective, freedom = np.array([float(chosen.sum())]), np.inf
    bounds = BinomialBounds(rate, effective, np.array([freedom]))
    return float(bounds.lower(level)[0]), float(bounds.upper(level)[0])
