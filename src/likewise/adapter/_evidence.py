"""What cross-validation says about the maps, and the rule that chooses one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from likewise._runtime.arrays import FloatArray

Key = tuple[str, float]
_NEARLY = 0.95
_MAX_NEEDED = 50  # times the judgements that there are: beyond that no number is named


@dataclass(frozen=True, eq=False)
class Evidence:
    """Gains of maps over leaving the rows as they are, on items that they were not learned from.

    Attributes
    ----------
    keys : list of (family, weight)
    criteria : tuple of str
        What was measured; the first is what `gain` reports.
    gains, standard_errors : arrays of shape (n_maps, n_criteria)
        The error is infinite where too little was seen to tell.
    caution : float
        z: a map is better if the gain exceeds z standard errors by every criterion.
    n_judgements : int
    max_weight : float
        The largest weight that is chosen, if a family has weights that are not larger.
    """

    keys: list[Key]
    criteria: tuple[str, ...]
    gains: FloatArray
    standard_errors: FloatArray
    caution: float
    n_judgements: int
    max_weight: float

    def bounds(self) -> FloatArray:
        """Return the least gain less z standard errors, over the criteria, of each map."""
        if not self.keys:
            return np.empty(0)
        return np.asarray((self.gains - self.caution * self.standard_errors).min(axis=1))

    def best(self) -> int | None:
        """Return the map to use, or None if no bound is above 0.

        It is of the family of the largest bound, with the smallest weight whose bound is nearly as
        large: held-out items are sparse and overrate large weights. A larger one than `max_weight`
        is replaced by the largest that is allowed: directions that are shown to help at one weight
        help less at a smaller one, and harm less where the evidence errs.
        """
        bounds = self.bounds()
        if not len(bounds) or not bounds.max() > 0:
            return None
        best = int(bounds.argmax())
        family = self.keys[best][0]
        weights = {weight: j for j, (name, weight) in enumerate(self.keys) if name == family}
        enough = min(w for w, j in weights.items() if bounds[j] >= _NEARLY * bounds[best])
        allowed = max(self.max_weight, min(weights))
        chosen = weights[max(w for w in weights if w <= min(enough, allowed))]
        return chosen if (self.gains[chosen] > 0).all() else None

    def margin(self, chosen: int) -> float:
        """Return z standard errors of the gain that is reported."""
        return self.caution * float(self.standard_errors[chosen, 0])

    def interval(self, chosen: int, confidence: float) -> tuple[float, float]:
        """Return an interval of the gain that holds for all maps at once (Bonferroni)."""
        level = 1 - (1 - confidence) / (2 * len(self.keys))
        margin = float(scipy.special.ndtri(level)) * float(self.standard_errors[chosen, 0])
        gain = float(self.gains[chosen, 0])
        return gain - margin, gain + margin

    def needed(self) -> int | None:
        """Return about how many judgements would show the gain that is seen; None if none is.

        Standard errors are taken to fall with the root of the number of judgements.
        """
        seen = (self.gains > 0).all(axis=1) & np.isfinite(self.standard_errors).all(axis=1)
        if not seen.any():
            return None
        ratios = (self.caution * self.standard_errors[seen] / self.gains[seen]).max(axis=1)
        factor = float(ratios.min()) ** 2
        return _rounded_up(factor * self.n_judgements) if factor < _MAX_NEEDED else None

    def table(self) -> dict[str, Any]:
        """Return the numbers of all maps, by the names of columns."""
        columns: dict[str, Any] = {
            "family": np.array([family for family, _ in self.keys], dtype=np.str_),
            "weight": np.array([weight for _, weight in self.keys], dtype=np.float64),
        }
        for j, criterion in enumerate(self.criteria):
            columns[f"gain_{criterion}"] = self.gains[:, j]
            columns[f"standard_error_{criterion}"] = self.standard_errors[:, j]
        columns["bound"] = self.bounds()
        return columns


def no_evidence(criteria: tuple[str, ...], caution: float, n_judgements: int) -> Evidence:
    """Return the evidence of too few judgements to compare maps."""
    nothing = np.empty((0, len(criteria)))
    return Evidence([], criteria, nothing, nothing, caution, n_judgements, np.inf)


def _rounded_up(number: float) -> int:
    """Round up to two digits."""
    unit = 10 ** max(0, math.floor(math.log10(max(number, 1))) - 1)
    return int(math.ceil(number / unit) * unit)
