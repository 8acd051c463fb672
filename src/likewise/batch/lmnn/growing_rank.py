"""L with as many rows as the metric needs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh, svd

from likewise._runtime.arrays import Array

_MIN_FEATURES = 128  # with fewer, all rows of L cost little
_VARIANCE_SHARE = 0.95  # of the transformed samples, kept by the first rows of L


def leading_rows(L: Array, scatter: Callable[[Array], Array]) -> Array:
    """Rotate L and keep the rows with 95 % of the variance of the transformed samples.

    `scatter` returns ``ZᵀZ`` of samples Z that are transformed by an L, minus their mean. All rows
    are kept, and not rotated, if these are more than half of them or if L is small.
    """
    if len(L) <= _MIN_FEATURES:
        return L
    variances, axes = eigh(scatter(L))
    share = np.cumsum(variances[::-1]) / variances.sum()
    n_rows = int(np.searchsorted(share, _VARIANCE_SHARE)) + 1
    return L if n_rows > len(L) / 2 else np.asarray(axes[:, ::-1][:, :n_rows].T @ L)


def with_added_rows(L: Array, rows: Array) -> Array:
    """Return L with further rows, or an L with as many rows as columns and the same M."""
    stacked = np.vstack([L, rows])
    if len(stacked) <= L.shape[1]:
        return stacked
    _, lengths, axes = svd(stacked, full_matrices=False)
    return np.asarray(lengths[:, None] * axes)
