"""Checks of fitted state that was read from a file: an error instead of a crash later on."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np


def require(condition: bool) -> None:
    """Raise a ValueError unless an invariant holds."""
    if not condition:
        raise ValueError("The state is damaged.")


def require_array(value: Any, *shape: int | None, kind: str = "f") -> None:
    """Require a finite array of a kind of numbers; None stands for any length of an axis."""
    require(isinstance(value, np.ndarray) and value.dtype.kind in kind)
    require(value.ndim == len(shape))
    wanted = zip(value.shape, shape, strict=True)
    require(all(expected in (None, found) for found, expected in wanted))
    require(value.dtype.kind not in "fc" or bool(np.isfinite(value).all()))


def require_count(value: Any, least: int = 0, most: int = 2**62) -> None:
    """Require an integer from `least` to `most`."""
    require(isinstance(value, numbers.Integral) and not isinstance(value, bool))
    require(least <= value <= most)


def require_number(value: Any) -> None:
    """Require a finite real number."""
    require(isinstance(value, numbers.Real) and math.isfinite(value))


def require_index(value: Any, n: int | None, stop: int) -> None:
    """Require `n` integers from 0 to below `stop`."""
    require_array(value, n, kind="i")
    require(not value.size or bool(value.min() >= 0 and value.max() < stop))
