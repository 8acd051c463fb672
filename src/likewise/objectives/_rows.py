"""The two dense products of every objective in L: rows through L, and slopes back to L.

Both run over fixed blocks of rows in a fixed order, so that the bits do not depend on threads, and
about a row of the data: differences are all that counts, and far from the origin they would drown.
"""

from __future__ import annotations

from collections.abc import Callable
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

    def product(start: int, stop: int) -> Array:
        return np.asarray(spread[start:stop].T @ _about_first(X, start, stop, spread.dtype))

    return 2 * _sum_over_slices(product, len(X), (spread.shape[1], X.shape[1]), n_jobs)


def product_over_rows(left: Array, right: Array, n_jobs: int | None) -> Array:
    """Return ``leftᵀ right``."""

    def product(start: int, stop: int) -> Array:
        return np.asarray(left[start:stop].T @ right[start:stop])

    return _sum_over_slices(product, len(left), (left.shape[1], right.shape[1]), n_jobs)


def _sum_over_slices(
    product: Callable[[int, int], Array], n_rows: int, shape: tuple[int, int], n_jobs: int | None
) -> Array:
    def block(start: int, stop: int) -> Array:
        total = np.zeros(shape)
        for first in range(start, stop, _SLICE):
            total += product(first, min(first + _SLICE, stop))
        return total

    # Few sums, each over many slices: together they are no larger than a part of X.
    enough = _BLOCK_PRODUCTS // max(1, shape[0] * shape[1])
    block_rows = max(_SLICE, -(-n_rows // _SUMS), enough)
    total = np.zeros(shape)
    for partial in run_blocks(block, n_rows, block_rows, n_jobs):
        total += partial
    return total


def _about_first(X: Array, start: int, stop: int, dtype: Any) -> Array:
    if X.dtype == dtype and not X[0].any():  # nothing to take away: no copy
        return X[start:stop]
    return np.asarray(np.subtract(X[start:stop], X[0], dtype=dtype, casting="same_kind"))
