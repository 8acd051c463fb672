"""How far the errors on the held-out rows can be trusted: these rows are few."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import binomtest

from likewise._runtime.arrays import BoolArray, IndexArray
from likewise.statistics._rate_bounds import BinomialBounds

_CONFIDENCE = 0.95


def held_out_errors(
    before: BoolArray, after: BoolArray, groups: IndexArray | None
) -> dict[str, Any]:
    """Return both errors with their intervals, and whether their difference may be chance.

    Intervals are those of Clopper and Pearson, and the difference is tested by the signs of its
    changes; with groups, a group counts as one row.

    Parameters
    ----------
    before, after : array of bool
        Which rows are predicted wrongly without and with the metric.
    groups : array of int or None
        The group of each row.
    """
    units = np.arange(len(before)) if groups is None else np.unique(groups, return_inverse=True)[1]
    n_units = int(units.max()) + 1
    changes = np.bincount(units, before.astype(float) - after.astype(float))
    n_better, n_worse = int((changes > 0).sum()), int((changes < 0).sum())
    p_value = 1.0
    if n_better + n_worse:
        p_value = float(binomtest(n_better, n_better + n_worse).pvalue)
    return {
        "before": float(before.mean()),
        "after": float(after.mean()),
        "before_interval": _interval(float(before.mean()), n_units),
        "after_interval": _interval(float(after.mean()), n_units),
        "confidence": _CONFIDENCE,
        "p_value": p_value,
    }


def within_chance(errors: dict[str, Any]) -> bool:
    """Return whether a difference of the two errors may be chance."""
    return bool(errors["p_value"] > 1 - errors["confidence"])


def _interval(rate: float, n: int) -> tuple[float, float]:
    bounds = BinomialBounds(np.array(rate), np.array(float(n)), np.array(np.inf))
    level = (1 + _CONFIDENCE) / 2
    return float(bounds.lower(level)), float(bounds.upper(level))
