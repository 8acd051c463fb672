"""Vector width and argument checks that several families share."""

import numpy as np

from likewise._runtime.arrays import Array

LANES = 8  # doubles per vector in the compiled loops


def padded(width: int) -> int:
    """Return `width` rounded up to a multiple of `LANES`."""
    return -(-width // LANES) * LANES


def check_vector(name: str, values: Array, dtype: type) -> None:
    """Raise unless `values` is a contiguous vector of the given type."""
    if not isinstance(values, np.ndarray) or values.dtype != dtype:
        found = getattr(values, "dtype", type(values).__name__)
        raise TypeError(f"{name} must be an array of {np.dtype(dtype)}, but it is {found}.")
    if values.ndim != 1 or not values.flags.c_contiguous:
        raise TypeError(f"{name} must be a contiguous vector, but its shape is {values.shape}.")
