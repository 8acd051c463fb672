"""Confidence bounds of an error rate of pairs that share items, at many thresholds at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
import scipy.special

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.validation import at_least, check_parameters, one_of, strictly_between
from likewise.statistics._item_bootstrap import bootstrap_rates
from likewise.statistics._rate_variances import RateVariances

Guarantee: TypeAlias = Literal["approximate", "exact", "bootstrap"]
GUARANTEES = ("approximate", "exact", "bootstrap")


def check_confidence(owner: str, confidence: float, guarantee: str, random_state: int) -> None:
    """Raise an error if a parameter that all intervals have is not valid."""
    check_parameters(
        owner,
        {"confidence": confidence, "guarantee": guarantee, "random_state": random_state},
        {
            "confidence": strictly_between(0.5, 1),
            "guarantee": one_of(*GUARANTEES),
            "random_state": at_least(0),
        },
    )


class RateBounds(Protocol):
    """One-sided bounds of the error rate at each of several thresholds."""

    @property
    def effective_pairs(self) -> FloatArray:
        """Independent pairs that would say as much."""

    @property
    def degrees_of_freedom(self) -> FloatArray:
        """Units that the variance rests on; infinite where it does not rest on an estimate."""

    def upper(self, level: float) -> FloatArray:
        """Return what the rate does not exceed with confidence `level`."""

    def lower(self, level: float) -> FloatArray:
        """Return what the rate is not below with confidence `level`."""


@dataclass(frozen=True)
class BinomialBounds:
    """Clopper and Pearson's bounds, or Korn and Graubard's: those of the effective pairs.

    Attributes
    ----------
    rate : array
        Share of errors.
    effective_pairs : array
        For independent pairs, their number.
    degrees_of_freedom : array
        Of the variance that the effective pairs come from; infinite for independent pairs.
    """

    rate: FloatArray
    effective_pairs: FloatArray
    degrees_of_freedom: FloatArray

    def upper(self, level: float) -> FloatArray:
        """Return what the rate does not exceed with confidence `level`."""
        errors, trials = self._binomial(level)
        correct = trials - errors
        bound = scipy.special.betaincinv(errors + 1, np.maximum(correct, 1e-300), level)
        return np.where(correct > 0, bound, 1.0)

    def lower(self, level: float) -> FloatArray:
        """Return what the rate is not below with confidence `level`."""
        errors, trials = self._binomial(level)
        bound = scipy.special.betaincinv(np.maximum(errors, 1e-300), trials - errors + 1, 1 - level)
        return np.where(errors > 0, bound, 0.0)

    def _binomial(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return errors and pairs, fewer where the variance is uncertain: t in place of z."""
        estimated = np.isfinite(self.degrees_of_freedom)
        t = scipy.special.stdtrit(np.where(estimated, self.degrees_of_freedom, 1.0), level)
        shrinkage = np.where(estimated, (scipy.special.ndtri(level) / t) ** 2, 1.0)
        trials = self.effective_pairs * shrinkage
        return self.rate * trials, trials


@dataclass(frozen=True)
class DisjointBounds:
    """Clopper and Pearson's bounds of disjoint pairs, or the rate of all pairs where it is outside.

    An item is in one disjoint pair, however many pairs it has: where items with many pairs cause
    most of the errors, disjoint pairs have fewer than all.
    """

    rate: FloatArray
    disjoint: BinomialBounds

    @property
    def effective_pairs(self) -> FloatArray:
        """The number of disjoint pairs."""
        return self.disjoint.effective_pairs

    @property
    def degrees_of_freedom(self) -> FloatArray:
        """Infinite."""
        return self.disjoint.degrees_of_freedom

    def upper(self, level: float) -> FloatArray:
        """Return what the rate does not exceed with confidence `level`."""
        return np.maximum(self.disjoint.upper(level), self.rate)

    def lower(self, level: float) -> FloatArray:
        """Return what the rate is not below with confidence `level`."""
        return np.minimum(self.disjoint.lower(level), self.rate)


@dataclass(frozen=True)
class BootstrapBounds:
    """Quantiles of rates of resampled items, moved so that their mean is the rate itself.

    Where there are no errors, or nothing else, resampling shows no spread, and `otherwise` counts.
    """

    rate: FloatArray
    replicates: FloatArray
    otherwise: BinomialBounds

    @property
    def effective_pairs(self) -> FloatArray:
        """Independent pairs whose rate would vary as much."""
        variance = self.replicates.var(axis=0)
        return np.where(
            variance > 0,
            self.rate * (1 - self.rate) / np.where(variance > 0, variance, 1.0),
            self.otherwise.effective_pairs,
        )

    @property
    def degrees_of_freedom(self) -> FloatArray:
        """Those of the variance formula."""
        return self.otherwise.degrees_of_freedom

    def upper(self, level: float) -> FloatArray:
        """Return what the rate does not exceed with confidence `level`."""
        return self._quantile(level, self.otherwise.upper(level))

    def lower(self, level: float) -> FloatArray:
        """Return what the rate is not below with confidence `level`."""
        return self._quantile(1 - level, self.otherwise.lower(level))

    def _quantile(self, level: float, otherwise: FloatArray) -> FloatArray:
        quantile = np.quantile(self.replicates, level, axis=0)
        moved = np.clip(quantile - self.replicates.mean(axis=0) + self.rate, 0.0, 1.0)
        return np.where((self.rate > 0) & (self.rate < 1), moved, otherwise)


def rate_bounds(
    variances: RateVariances | None,
    n_pairs: int,
    n_errors: IndexArray,
    guarantee: Guarantee,
    random_state: int = 0,
    *,
    least_errors: int = 0,
) -> RateBounds:
    """Return the bounds of the rate when the first `n_errors` of the pairs are errors.

    Parameters
    ----------
    variances : RateVariances or None
        Of the pairs in the order in which they become errors. None if all pairs are independent.
    n_pairs : int
    n_errors : array of int
        The numbers of errors at which bounds are wanted.
    guarantee : {"approximate", "exact", "bootstrap"}
    random_state : int
        Decides the disjoint pairs and the resampling.
    least_errors : int
        Of approximate bounds with fewer errors, the effective pairs are at most those that there
        are with this number. A variance that was estimated from a few errors is often too small.
    """
    if variances is None or variances.independent:
        return independent_bounds(n_errors, n_pairs)
    if guarantee == "exact":
        disjoint = _of_disjoint_pairs(variances, n_errors, random_state)
        return DisjointBounds(n_errors / n_pairs, disjoint)
    approximate = _of_dyadic_variance(variances, n_errors, random_state, least_errors)
    if guarantee == "approximate":
        return approximate
    replicates = bootstrap_rates(variances.units, n_errors, random_state)
    return BootstrapBounds(n_errors / n_pairs, replicates, approximate)


def independent_bounds(n_errors: IndexArray, n_pairs: int) -> BinomialBounds:
    """Return Clopper and Pearson's bounds."""
    shape = n_errors.shape
    return BinomialBounds(
        n_errors / n_pairs, np.full(shape, float(n_pairs)), np.full(shape, np.inf)
    )


def _of_disjoint_pairs(
    variances: RateVariances, n_errors: IndexArray, random_state: int
) -> BinomialBounds:
    chosen = variances.disjoint(random_state)
    return independent_bounds(np.concatenate([[0], np.cumsum(chosen)])[n_errors], int(chosen.sum()))


def _of_dyadic_variance(
    variances: RateVariances, n_errors: IndexArray, random_state: int, least_errors: int
) -> BinomialBounds:
    """Return Korn and Graubard's bounds; those of disjoint pairs where nothing varies."""
    n_pairs = len(variances)
    bounds = independent_bounds(n_errors, n_pairs)
    constant = (n_errors == 0) | (n_errors == n_pairs)
    if constant.any():
        exact = _of_disjoint_pairs(variances, n_errors[constant], random_state)
        bounds.effective_pairs[constant] = exact.effective_pairs
    if not constant.all():
        effective, freedom = _effective_pairs(variances, n_errors[~constant])
        few = n_errors[~constant] < least_errors
        if few.any():
            most, _ = _effective_pairs(variances, np.array([min(least_errors, n_pairs - 1)]))
            effective[few] = np.minimum(effective[few], most)
        bounds.effective_pairs[~constant] = effective
        bounds.degrees_of_freedom[~constant] = freedom
    return bounds


def _effective_pairs(
    variances: RateVariances, n_errors: IndexArray
) -> tuple[FloatArray, FloatArray]:
    """Return the effective pairs for numbers of errors, and the degrees of freedom."""
    rate = n_errors / len(variances)
    variance, freedom = variances.at(n_errors)
    return rate * (1 - rate) / variance, freedom
