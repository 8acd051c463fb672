"""Verification: same or different, decided by a threshold on a distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise._runtime.arrays import BoolArray, FloatArray
from likewise._runtime.text import quote
from likewise._runtime.validation import check_same_flags


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
    """

    thresholds: FloatArray
    fmr: FloatArray
    fnmr: FloatArray
    n_same: int
    n_different: int

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


def verification_curve(distance: ArrayLike, same: ArrayLike) -> VerificationCurve:
    """Return the error rates of verifying pairs by a threshold on the distance.

    Exact, ties included, in O(m log m) for m pairs.

    Parameters
    ----------
    distance : array-like of shape (n_pairs,)
        Large means different; `pair_distance` of any metric.
    same : array-like of bool of shape (n_pairs,)
        True for pairs that belong together. Both kinds are needed.

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
    """
    distances, is_same = _check_pairs(distance, same)
    thresholds, kind = np.unique(distances, return_inverse=True)
    n_same = int(is_same.sum())
    n_different = len(is_same) - n_same
    accepted_same = _counts_up_to(kind[is_same], len(thresholds))
    accepted_different = _counts_up_to(kind[~is_same], len(thresholds))
    return VerificationCurve(
        thresholds=np.concatenate([[-np.inf], thresholds]),
        fmr=accepted_different / n_different,
        fnmr=(n_same - accepted_same) / n_same,
        n_same=n_same,
        n_different=n_different,
    )


def _counts_up_to(kind: NDArray[np.intp], n_kinds: int) -> NDArray[np.intp]:
    counts = np.bincount(kind, minlength=n_kinds)
    return np.concatenate([[0], np.cumsum(counts)])


def _check_pairs(distance: ArrayLike, same: ArrayLike) -> tuple[FloatArray, BoolArray]:
    distances = np.asarray(distance, dtype=np.float64)
    if distances.ndim != 1:
        raise ValueError(
            f"distance has shape {distances.shape}, but one distance a pair is needed."
        )
    if not np.isfinite(distances).all():
        raise ValueError("distance must be finite, but it has NaN or infinite values.")
    flags = check_same_flags(same, len(distances))
    if flags.all() or not flags.any():
        raise ValueError(
            f"same has {flags.sum()} same and {(~flags).sum()} different pairs, "
            "but at least one of each is needed."
        )
    return distances, flags
