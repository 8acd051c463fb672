"""What an adapter accepts as rows, before and after they are checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.blocks import is_dask
from likewise._runtime.tensors import is_tensor
from likewise._runtime.validation import MAX_MAGNITUDE, TableLike
from likewise.adapter._lengths import blocks

_SMALL_BYTES = 2  # of numbers that are computed in float32
# Beyond these, sums of squares overflow.
_MAX_MAGNITUDES = {"float32": 1e15, "float64": MAX_MAGNITUDE}


def as_floats(X: TableLike) -> TableLike:
    """Return half-precision numbers and small integers as float32, and all else as it is."""
    if is_tensor(X):
        return X.float() if X.element_size() <= _SMALL_BYTES else X
    is_array = isinstance(X, np.ndarray) or (is_dask(X) and hasattr(X, "dtype"))
    types = [X.dtype] if is_array else list(getattr(X, "dtypes", ()))
    if types and all(_is_small(dtype) for dtype in types):
        return X.astype(np.float32)
    return X


def is_empty(rows: TableLike) -> bool:
    """Return whether there are no rows, as far as is known before they are checked."""
    if is_dask(rows) and not isinstance(rows.shape[0], int):
        return False
    if isinstance(rows, list | tuple):
        return not rows
    return getattr(rows, "shape", (1,))[:1] == (0,)


def largest_value(rows: Any) -> float:
    """Return the largest absolute value."""
    if is_tensor(rows):
        return float(max(rows.max(), -rows.min())) if rows.numel() else 0.0
    return max(float(np.abs(block).max(initial=0.0)) for block in blocks(rows))


def check_squares(largest: float, dtype: Any, name: str) -> None:
    """Raise an error if squares of values up to `largest` overflow in the precision `dtype`."""
    limit = _MAX_MAGNITUDES[np.dtype(dtype).name]
    if largest > limit:
        raise ValueError(
            f"{name} holds values up to {largest:.3g}, but only values within ±{limit:.0e} can be "
            f"learned from in {np.dtype(dtype).name}: scale {name}."
        )


def _is_small(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf" and dtype.itemsize <= _SMALL_BYTES
