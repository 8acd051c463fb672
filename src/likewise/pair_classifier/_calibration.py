"""From a distance to the probability that a pair is same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from likewise import _files
from likewise._runtime.arrays import BoolArray, FloatArray
from likewise._runtime.invariants import require, require_array, require_number

# With fewer pairs of either kind, an isotonic regression would follow single pairs.
MIN_ISOTONIC_PAIRS = 500


@_files.record
@dataclass(frozen=True, eq=False)
class Calibration:
    """The probability of *same* by distance, where half of the pairs are same.

    Attributes
    ----------
    slope, intercept : float
        Of the log odds as a function of the distance (Platt); 0 if there are knots.
    distances, probabilities : array of shape (n_knots,)
        Knots of a falling piecewise linear function (isotonic regression), or none.
    """

    slope: float
    intercept: float
    distances: FloatArray
    probabilities: FloatArray

    def log_odds(self, distances: FloatArray) -> FloatArray:
        """Return the logarithm of the odds of *same*."""
        if len(self.distances):
            share = np.interp(distances, self.distances, self.probabilities)
            return np.asarray(scipy.special.logit(share))
        return self.intercept + self.slope * np.asarray(distances, dtype=np.float64)

    def probability(self, distances: FloatArray, prevalence: float) -> FloatArray:
        """Return the probability of *same* where the share `prevalence` of the pairs is."""
        shift = scipy.special.logit(prevalence)
        return np.asarray(scipy.special.expit(self.log_odds(distances) + shift))

    def check(self) -> None:
        """Raise a ValueError if the fields, which come from a file, are not valid."""
        require_number(self.slope)
        require_number(self.intercept)
        require_array(self.distances, None)
        require_array(self.probabilities, len(self.distances))
        require(bool((np.diff(self.distances) >= 0).all()))
        require(bool(((self.probabilities > 0) & (self.probabilities < 1)).all()))


def calibrate(distances: FloatArray, same: BoolArray) -> Calibration:
    """Learn the probability of *same* from pairs that the metric was not learned from.

    Both kinds have the same weight. Isotonic regression where there are enough pairs, else Platt's
    logistic regression on the distance, with his smoothed targets.
    """
    n_same = int(same.sum())
    n_different = len(same) - n_same
    weights = np.where(same, 0.5 / n_same, 0.5 / n_different) * len(same)
    fewest = min(n_same, n_different)
    # An observed share of 0 or 1 is only known to be that far away from it.
    margin = 1 / (fewest + 2)
    if fewest < MIN_ISOTONIC_PAIRS:
        return _platt(distances, same, weights, n_same, n_different)
    isotonic = IsotonicRegression(y_min=margin, y_max=1 - margin, increasing=False)
    isotonic.fit(distances, same.astype(np.float64), weights)
    return Calibration(
        0.0,
        0.0,
        np.asarray(isotonic.X_thresholds_, dtype=np.float64),
        np.clip(np.asarray(isotonic.y_thresholds_, dtype=np.float64), margin, 1 - margin),
    )


def _platt(
    distances: FloatArray, same: BoolArray, weights: FloatArray, n_same: int, n_different: int
) -> Calibration:
    target = np.where(same, (n_same + 1) / (n_same + 2), 1 / (n_different + 2))
    # Every pair counts as same with the weight of its target, and as different with the rest.
    scale = float(np.abs(distances).max()) or 1.0
    regression: Any = LogisticRegression(C=1e10, max_iter=1000)
    regression.fit(
        np.concatenate([distances, distances])[:, None] / scale,
        np.repeat([1, 0], len(distances)),
        sample_weight=np.concatenate([weights * target, weights * (1 - target)]),
    )
    # A distance that is larger for same pairs says nothing, rather than the opposite.
    slope = min(float(regression.coef_[0, 0]), 0.0)
    intercept = float(regression.intercept_[0]) if slope else 0.0
    return Calibration(slope / scale, intercept, np.empty(0), np.empty(0))
