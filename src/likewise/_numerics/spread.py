"""How far features spread, and what of it may be rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.tensors import is_tensor, numpy_dtype, to_numpy


def magnitudes(X: Any) -> Array:
    """Return the largest absolute value of each feature, in float64."""
    if isinstance(X, BlockedRows):
        return np.asarray(np.max(X.map(lambda rows, members: magnitudes(rows)), axis=0))
    if is_tensor(X):
        return np.asarray(to_numpy(abs(X).amax(dim=0)), dtype=np.float64)
    return np.asarray(np.abs(X).max(axis=0, initial=0.0), dtype=np.float64)


def rounding_errors(X: Array | BlockedRows) -> Array:
    """Return a bound per feature on the rounding error of its values in the precision of X."""
    return np.asarray(magnitudes(X) * np.finfo(numpy_dtype(X)).eps)


def standard_deviations(X: Array) -> Array:
    """Return those of the features, 0 where they are within the rounding error."""
    means = X.mean(axis=0, dtype=np.float64)
    squares = np.einsum("ij,ij->j", X, X, dtype=np.float64) / max(1, len(X))
    stds = np.sqrt(np.maximum(squares - means**2, 0))
    stds[stds <= rounding_errors(X)] = 0.0
    return np.asarray(stds)
