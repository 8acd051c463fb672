"""``scale="auto"`` of an online metric learner."""

from __future__ import annotations

from likewise._runtime.arrays import BoolArray, FloatArray
from likewise.constraints import unit_sqdist

_MIN_UNIT = 1e-290  # of squared distance: the squared scale must not overflow


def auto_scale(squared_lengths: FloatArray, same: BoolArray) -> float:
    """Return the factor that makes the median squared length of the similar pairs 1."""
    unit = unit_sqdist(squared_lengths[same], squared_lengths)
    if unit == float("inf"):
        raise ValueError(
            "Samples of X differ by more than 1e150, but only smaller differences can be "
            "learned from."
        )
    if unit < _MIN_UNIT:
        raise ValueError(
            f"Similar samples of X differ by {unit**0.5:.3g}, but only differences of at least "
            f"{_MIN_UNIT**0.5:.0e} can be learned from."
        )
    return float(unit**-0.5)
