"""The two dense products of every objective in L: rows through L, and slopes back to L.

Both run over fixed blocks of rows in a fixed order, so that the bits do not depend on threads, and
about a row of the data: differences are all that counts, and far from the origin they would drown.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._threads import run_blocks

Array = NDArray[Any]

_SLICE = 1024
_SUMS = 16
_BLOCK_PRODUCTS = 1 << 23


def map_rows(X: Array, L: Array, n_jobs: int | None, dtype: Any = np.float64) -> Array:
    """Return ``(X - x₀) Lᵀ`` in the precision asked for, with x₀ the first row of X."""
    mapped = np.empty((len(X), len(L)), dtype=dtype)
    across = L.T.astype(dtype)

    def block(start: int, stop: int) -> None:
        np.matmul(_about_first(X, start, stop, dtype), across, out=mapped[start:stop])

    # A block should be worth a thread.
    run_blocks(block, len(X), max(_SLICE, _BLOCK_PRODUCTS // max(1, L.size)), n_jobs)
    return mapped


def slope_in_components(spread: Array, X: Array, n_jobs: int | None) -> Array:
    """Return ``2 spreadᵀX``, for slopes `spread` of the mapped rows that sum to zero over rows.

    Slices are multiplied in the precision of `spread` and added in float64.
    """

    def block(start: int, stop: int) -> Array:
        total = np.zeros((spread.shape[1], X.shape[1]))
        for first in range(start, stop, _SLICE):
            last = min(first + _SLICE, stop)
            total += spread[first:last].T @ _about_first(X, first, last, spread.dtype)
        return total

    # Few sums, each over many slices: together they are no larger than a part of X.
    enough = _BLOCK_PRODUCTS // max(1, spread.shape[1] * X.shape[1])
    block_rows = max(_SLICE, -(-len(X) // _SUMS), enough)
    total = np.zeros((spread.shape[1], X.shape[1]))
    for partial in run_blocks(block, len(X), block_rows, n_jobs):
        total += partial
    return 2 * total


def _about_first(X: Array, start: int, stop: int, dtype: Any) -> Array:
    return np.asarray(np.subtract(X[start:stop], X[0], dtype=dtype, casting="same_kind"))
