"""Directions of any metric learner."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from likewise._runtime.arrays import FloatArray
from likewise._runtime.tensors import to_numpy
from likewise.adapter._directions import scaled
from likewise.base import Learner
from likewise.base.metric_learner import linear_components


def learned_directions(
    metric: Any, method: str, judgements: tuple[Any, ...], covariance: FloatArray
) -> FloatArray | None:
    """Return L of a metric, learned by its `method`, as directions; None if it is 0."""
    fit = getattr(clone(metric), method, None)
    if fit is None:
        raise ValueError(
            f"metric={type(metric).__name__} has no {method}, but it must learn from the same "
            "judgements."
        )
    if not isinstance(metric, Learner):  # of another library, which may not take tensors
        judgements = tuple(map(to_numpy, judgements))
    L = linear_components(fit(*judgements))
    if L is None:
        raise ValueError(
            f"metric={type(metric).__name__} is not a linear metric, but only those can be "
            "interpolated with the identity."
        )
    return scaled(np.asarray(L, dtype=np.float64), covariance)
