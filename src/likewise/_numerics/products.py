"""Blocked matrix products with the same bits for any number of threads.

Every objective in L has two dense products: the samples mapped by L, and the gradient in L from
that in the mapped samples. Both run over fixed blocks of samples, and partial sums are added in a
fixed order. X should be centred (`robust_centre`): only differences matter, and far from zero they
would lose digits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike

from likewise._runtime.arrays import Array
from likewise._runtime.threads import run_blocks

_SLICE = 1024
_SUMS = 16  # in memory at a time
_SMALL_SUMS, _SMALL = 64, 1 << 15  # the same of sums with few entries, and how many are few
_BLOCK_PRODUCTS = 1 << 23


def map_rows(
    X: Array,
    L: Array,
    n_jobs: int | None,
    *,
    block_rows: int | None = None,
    precision: DTypeLike | None = None,
    out: Array | None = None,
) -> Array:
    """Return ``X Lᵀ``.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    L : array of shape (n_components, n_features)
    n_jobs : int or None
    block_rows : int, optional
        Samples per block; None makes blocks that are worth a thread.
    precision : dtype, optional
        In which products are computed; None is the precision of X.
    out : array of shape (n_samples, n_components), optional
        Memory for the result.

    Returns
    -------
    array of shape (n_samples, n_components)
        In the precision of X.
    """
    mapped = np.empty((len(X), len(L)), dtype=X.dtype) if out is None else out
    across = L.T.astype(precision or X.dtype, copy=False)
    if block_rows is None:
        block_rows = max(_SLICE, _BLOCK_PRODUCTS // max(1, L.size))

    def block(start: int, stop: int) -> None:
        np.matmul(X[start:stop], across, out=mapped[start:stop], casting="same_kind")

    run_blocks(block, len(X), block_rows, n_jobs)
    return mapped


def gradient_in_components(gradient: Array, X: Array, n_jobs: int | None) -> Array:
    """Return ``2 GᵀX`` for the gradient G in the mapped samples, whose columns sum to zero."""
    return 2 * product_over_rows(gradient, X, n_jobs)


def product_over_rows(left: Array, right: Array, n_jobs: int | None) -> Array:
    """Return ``leftᵀ right``: slices are multiplied in their precision and added in float64."""
    return product_over_slices(
        lambda start, stop, _: left[start:stop], left.shape[1], right, n_jobs
    )


def product_over_slices(
    rows_of: Callable[[int, int, Array], Array],
    n_columns: int,
    right: Array,
    n_jobs: int | None,
    *,
    row_products: int = 0,
) -> Array:
    """Return ``leftᵀ right`` for a matrix that need not be in memory.

    Parameters
    ----------
    rows_of : callable
        Returns rows ``start`` to ``stop`` of `left`, for which its third argument is memory.
    n_columns : int
        Columns of `left`.
    right : array of shape (n_rows, n_right)
    n_jobs : int or None
    row_products : int
        About how many dense products take as long as `rows_of` does for one row.
    """
    n_rows, shape = len(right), (n_columns, right.shape[1])

    def block(start: int, stop: int) -> Array:
        total = np.zeros(shape)
        memory = np.empty((min(_SLICE, stop - start), n_columns), dtype=right.dtype)
        for first in range(start, stop, _SLICE):
            last = min(first + _SLICE, stop)
            total += rows_of(first, last, memory[: last - first]).T @ right[first:last]
        return total

    total = np.zeros(shape)
    for partial in run_blocks(block, n_rows, _summed_rows(n_rows, shape, row_products), n_jobs):
        total += partial
    return total


def count_sums(n_rows: int, shape: tuple[int, int]) -> int:
    """Return how many sums of this shape a product over rows has in memory at most."""
    return -(-n_rows // _least_rows(n_rows, shape))


def _summed_rows(n_rows: int, shape: tuple[int, int], row_products: int) -> int:
    """Return how many rows a sum runs over, so that a block is worth a thread."""
    enough = _BLOCK_PRODUCTS // max(1, shape[0] * shape[1] + row_products)
    return max(_least_rows(n_rows, shape), enough)


def _least_rows(n_rows: int, shape: tuple[int, int]) -> int:
    """Return the least number of rows per sum: all sums are together no larger than the rows."""
    n_sums = _SMALL_SUMS if shape[0] * shape[1] <= _SMALL else _SUMS
    return max(_SLICE, -(-n_rows // n_sums), *shape)
