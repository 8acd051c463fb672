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


def map_rows(X: Array, L: Array, n_jobs: int | None) -> Array:
    """Return ``(X - x₀) Lᵀ`` in float64, with x₀ the first row of X."""
    mapped = np.empty((len(X), len(L)))

    def block(start: int, stop: int) -> None:
        mapped[start:stop] = _about_first(X, start, stop) @ L.T

    run_blocks(block, len(X), _SLICE, n_jobs)
    return mapped


def slope_in_components(spread: Array, X: Array, n_jobs: int | None) -> Array:
    """Return ``2 spreadᵀX``, for slopes `spread` of the mapped rows that sum to zero over rows."""

    def block(start: int, stop: int) -> Array:
        total = np.zeros((spread.shape[1], X.shape[1]))
        for first in range(start, stop, _SLICE):
            last = min(first + _SLICE, stop)
            total += spread[first:last].T @ _about_first(X, first, last)
        return total

    # Few sums, each over many slices: together they are no larger than a part of X.
    block_rows = max(_SLICE, -(-len(X) // _SUMS))
    total = np.zeros((spread.shape[1], X.shape[1]))
    for partial in run_blocks(block, len(X), block_rows, n_jobs):
        total += partial
    return 2 * total


def _about_first(X: Array, start: int, stop: int) -> Array:
    return np.asarray(np.subtract(X[start:stop], X[0], dtype=np.float64))
