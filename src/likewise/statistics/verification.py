"""Verification: same or different, decided by a threshold on a distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise._runtime.arrays import FloatArray
from likewise._runtime.text import quote
from likewise.statistics._error_order import ErrorOrder
from likewise.statistics._rate_bounds import Guarantee, RateBounds, check_confidence, rate_bounds
from likewise.statistics._scored_pairs import ScoredPairs


@dataclass(frozen=True, eq=False)
class VerificationBand:
    """Confidence limits of both error rates, each threshold by itself.

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        Some of those of the curve, ascending; the numbers of errors grow by at most about 1 %
        from one to the next.
    fmr_lower, fmr_upper : ndarray of shape (n_thresholds,)
        Two-sided interval of the false match rate at each threshold.
    fnmr_lower, fnmr_upper : ndarray of shape (n_thresholds,)
        The same of the false non-match rate.
    confidence : float
        Of each interval. That all of them hold at once is less certain.
    """

    thresholds: FloatArray
    fmr_lower: FloatArray
    fmr_upper: FloatArray
    fnmr_lower: FloatArray
    fnmr_upper: FloatArray
    confidence: float


@dataclass(frozen=True, eq=False)
class VerificationCurve:
    """Both error rates of "same if distance <= threshold", at every threshold that matters.

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        Minus infinity, at which nothing is accepted, then each distinct distance, ascending.
    fmr : ndarray of shape (n_thresholds,)
        False match rate: the share of different pairs that are accepted; rises from 0 to 1.
    fnmr : ndarray of shape (n_thresholds,)
        False non-match rate: the share of same pairs that are rejected; falls from 1 to 0.
    n_same, n_different : int
        How many pairs of each kind the rates are shares of.
    band : VerificationBand or None
        Confidence limits of both rates, if a confidence was asked for.
    """

    thresholds: FloatArray
    fmr: FloatArray
    fnmr: FloatArray
    n_same: int
    n_different: int
    band: VerificationBand | None = None

    @cached_property
    def eer(self) -> float:
        """Equal error rate: where false match rate and false non-match rate meet.

        Let i be the first threshold with fmr >= fnmr. Both rates are taken as linear between
        thresholds i - 1 and i; the equal error rate is their common value where they cross.
        """
        gap = self.fmr - self.fnmr
        i = int(np.argmax(gap >= 0))
        share = -gap[i - 1] / (gap[i] - gap[i - 1])
        return float(self.fmr[i - 1] + share * (self.fmr[i] - self.fmr[i - 1]))

    @cached_property
    def auc(self) -> float:
        """Area under the ROC curve.

        The chance that a same pair is closer than a different one; a tie counts one half.
        """
        false_match, true_match = self.roc()
        return float(np.sum(np.diff(false_match) * (true_match[1:] + true_match[:-1])) / 2)

    def roc(self) -> tuple[FloatArray, FloatArray]:
        """Return false match rates and true match rates, ready to be drawn."""
        return self.fmr, 1 - self.fnmr

    def threshold_at(self, fmr: float) -> float:
        """Return the largest threshold whose false match rate is at most `fmr`.

        Minus infinity if even the closest pairs hold too many different ones.
        """
        return float(self.thresholds[self._last_within(fmr)])

    def fnmr_at(self, fmr: float) -> float:
        """Return the false non-match rate at `threshold_at(fmr)`: the lowest one allowed."""
        return float(self.fnmr[self._last_within(fmr)])

    def _last_within(self, fmr: float) -> int:
        if not 0 <= fmr <= 1:
            raise ValueError(f"fmr is {quote(fmr)}, but it must be a rate from 0 to 1.")
        return int(np.searchsorted(self.fmr, fmr, side="right")) - 1


def verification_curve(
    distance: ArrayLike,
    same: ArrayLike,
    *,
    items: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    confidence: float | None = None,
    guarantee: Guarantee = "approximate",
    random_state: int = 0,
) -> VerificationCurve:
    """Return the error rates of verifying pairs by a threshold on the distance.

    Exact, ties included, in O(m log m) for m pairs; the confidence limits, too.

    Parameters
    ----------
    distance : array-like of shape (n_pairs,)
        Large means different; `pair_distance` of any metric.
    same : array-like of bool of shape (n_pairs,)
        True for pairs that belong together. Both kinds are needed.
    items, groups : array-like, optional
        Which pairs share items or subjects, as for `error_rates`.
    confidence : float, optional
        Confidence of the intervals of `band`, such as 0.95. By default there is no band.
    guarantee : {"approximate", "exact", "bootstrap"}, default="approximate"
        How the band is found, as for `error_rates`.
    random_state : int, default=0
        Decides the disjoint pairs and the draws of the bootstrap.

    Returns
    -------
    VerificationCurve

    Examples
    --------
    >>> from likewise.evaluation import verification_curve
    >>> curve = verification_curve([0.1, 0.2, 0.3, 0.4], [True, False, True, False])
    >>> curve.eer, curve.auc
    (0.5, 0.75)
    >>> curve.threshold_at(fmr=0.5), curve.fnmr_at(fmr=0.5)
    (0.3, 0.0)
    >>> curve = verification_curve(
    ...     [0.1, 0.2, 0.3, 0.4], [True, False, True, False],
    ...     items=[[0, 1], [0, 2], [2, 3], [1, 3]], confidence=0.95,
    ... )
    >>> curve.band.thresholds, curve.band.fmr_upper.round(2)
    (array([0.1, 0.2, 0.3, 0.4]), array([0.84, 0.99, 0.99, 1.  ]))
    """
    pairs = ScoredPairs.check(distance, same, items, groups, "distance")
    thresholds, kind = np.unique(pairs.distances, return_inverse=True)
    accepted_same = _counts_up_to(kind[pairs.same], len(thresholds))
    accepted_different = _counts_up_to(kind[~pairs.same], len(thresholds))
    band = None
    if confidence is not None:
        check_confidence("verification_curve", confidence, guarantee, random_state)
        band = _band(pairs, confidence, guarantee, random_state)
    return VerificationCurve(
        thresholds=np.concatenate([[-np.inf], thresholds]),
        fmr=accepted_different / pairs.n_different,
        fnmr=(pairs.n_same - accepted_same) / pairs.n_same,
        n_same=pairs.n_same,
        n_different=pairs.n_different,
        band=band,
    )


def _band(
    pairs: ScoredPairs, confidence: float, guarantee: Guarantee, random_state: int
) -> VerificationBand:
    different, same = pairs.different_pairs, pairs.same_pairs
    thresholds = np.union1d(different.grid(1, len(different))[0], same.grid(0, len(same) - 1)[0])
    level = (1 + confidence) / 2
    fmr, fnmr = (_bounds(kind, thresholds, guarantee, random_state) for kind in (different, same))
    return VerificationBand(
        thresholds=thresholds,
        fmr_lower=fmr.lower(level),
        fmr_upper=fmr.upper(level),
        fnmr_lower=fnmr.lower(level),
        fnmr_upper=fnmr.upper(level),
        confidence=float(confidence),
    )


def _bounds(
    kind: ErrorOrder, thresholds: FloatArray, guarantee: Guarantee, random_state: int
) -> RateBounds:
    n_errors = kind.count(thresholds)
    return rate_bounds(kind.variances, len(kind), n_errors, guarantee, random_state)


def _counts_up_to(kind: NDArray[np.intp], n_kinds: int) -> NDArray[np.intp]:
    counts = np.bincount(kind, minlength=n_kinds)
    return np.concatenate([[0], np.cumsum(counts)])
