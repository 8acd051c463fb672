"""``scale="auto"`` of an online metric learner."""

from __future__ import annotations

from likewise._runtime.arrays import BoolArray, FloatArray
from likewise.constraints import unit_sqdist


def auto_scale(squared_lengths: FloatArray, same: BoolArray) -> float:
    """Return the factor that makes the median squared length of the similar pairs 1."""
    unit = unit_sqdist(squared_lengths[same], squared_lengths)
    if unit == float("inf"):
        raise ValueError(
            "Samples of X differ by more than 1e150, but only smaller differences can be "
            "learned from."
        )
    return float(unit**-0.5)
