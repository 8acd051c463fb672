"""The loops over distances in NumPy: the definition of what the compiled ones compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from likewise._loops.checks import LANES
from likewise._loops.distances.frames import SearchFrame
from likewise._loops.distances.types import (
    Packed,
    PairLimit,
    PairsFound,
    bounds,
    check_groups,
    check_pairs,
    check_points,
    check_rows,
    check_scan,
    check_weights,
)
from likewise._numerics.centring import robust_centre
from likewise._runtime.arrays import FloatArray, FloatingArray, IndexArray
from likewise._runtime.threads import count_threads, run_blocks

_BLOCK_VALUES = 1 << 20


def pair_sqdist(
    Z: FloatingArray,
    rows: IndexArray,
    cols: IndexArray,
    *,
    points: FloatingArray | None = None,
    out: FloatArray | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return ``‖Z[rows] − points[cols]‖²`` for each pair, accumulated in float64.

    Parameters
    ----------
    Z : array of shape (n, d), float32 or float64, C-contiguous
    rows, cols : int64 arrays of shape (m,)
    points : array of shape (p, d), of Z's type, C-contiguous
        The matrix that ``cols`` index; Z itself by default.
    out : float64 array of shape (m,), optional
        Memory for the result.
    n_jobs : int or None

    Returns
    -------
    float64 array of shape (m,)
    """
    points = check_points(Z, points)
    check_pairs(rows, cols, len(Z), len(points))
    out = np.empty(len(rows)) if out is None else out

    def block(start: int, stop: int) -> None:
        out[start:stop] = _sqdist(Z[rows[start:stop]], points[cols[start:stop]])

    run_blocks(block, len(rows), max(1, _BLOCK_VALUES // max(1, Z.shape[1])), n_jobs)
    return out


def laplacian_apply(
    Z: FloatingArray,
    rows: IndexArray,
    cols: IndexArray,
    weights: FloatArray,
    *,
    n_jobs: int | None = None,
) -> FloatingArray:
    """Return ``ΛZ`` with ``Λ = diag((W + Wᵀ)1) − (W + Wᵀ)`` for the weighted pairs W.

    Pair p = (a, b) adds ``weights[p] (z_a − z_b)`` to row a and subtracts it from row b.

    Parameters
    ----------
    Z : array of shape (n, d), float32 or float64, C-contiguous
    rows, cols : int64 arrays of shape (m,)
    weights : float64 array of shape (m,)
    n_jobs : int or None

    Returns
    -------
    array of shape (n, d), of Z's type; summed in float64
    """
    check_rows("Z", Z)
    count_threads(n_jobs)
    rows_of = laplacian_slices(Z, [(incidence(rows, cols, len(Z)), weights)])
    return rows_of(0, len(Z), np.empty_like(Z))


class _Incidence(NamedTuple):
    rows: IndexArray
    cols: IndexArray
    n_rows: int


def incidence(rows: IndexArray, cols: IndexArray, n_rows: int) -> Any:
    """Return the pairs of each of `n_rows` rows, for `laplacian_slices` with several weights."""
    check_pairs(rows, cols, n_rows, n_rows)
    return _Incidence(rows, cols, n_rows)


def laplacian_slices(
    Z: FloatingArray, parts: Sequence[tuple[Any, FloatArray]]
) -> Callable[[int, int, FloatingArray], FloatingArray]:
    """Return a function that returns some rows of ``ΛZ``, which need not be in memory as a whole.

    Λ is that of `laplacian_apply` for the pairs of all parts: their incidence and weights. Pairs of
    weight 0 cost little. The function has the arguments

    start, stop : int
        Which rows.
    out : array of shape (stop - start, d), of Z's type, C-contiguous
        Memory for them.
    """
    check_rows("Z", Z)
    W = sp.csr_array((len(Z), len(Z)))
    for pairs, weights in parts:
        check_weights(weights, len(pairs.rows))
        if pairs.n_rows != len(Z):
            raise ValueError("pairs must index the rows of Z.")
        W = W + sp.coo_array((weights, (pairs.rows, pairs.cols)), shape=W.shape).tocsr()
    W = W + W.T
    values = Z.astype(np.float64)
    values -= robust_centre(values) if len(Z) else 0.0  # Λ1 = 0: only rounding changes
    product = W.sum(axis=1)[:, None] * values - W @ values

    def rows_of(start: int, stop: int, out: FloatingArray) -> FloatingArray:
        out[:] = product[start:stop]
        return out

    return rows_of


def radius_scan(
    Z: FloatingArray,
    labels: IndexArray,
    radius2: FloatArray,
    *,
    max_pairs: int | None = None,
    n_jobs: int | None = None,
) -> PairsFound:
    """Return the pairs of differing labels with ``‖z_row − z_col‖² < radius2[row]``.

    Parameters
    ----------
    Z : array of shape (n, d), float32 or float64, C-contiguous
    labels : int64 array of shape (n,)
    radius2 : float64 array of shape (n,)
        Squared radius of each row; infinity finds every row of another label.
    max_pairs : int or None
        The search stops at more pairs than this.
    n_jobs : int or None

    Returns
    -------
    PairsFound
        rows, cols : int64 arrays of shape (m,), sorted by (row, col);
        sqdist : float64 array of shape (m,), accumulated in float64

    Raises
    ------
    TooManyPairs
        If there are more than ``max_pairs``; their memory is never allocated.
    MemoryError
        If there are more than fit in the free memory.
    """
    check_scan(Z, labels, radius2, max_pairs)
    limit = PairLimit(max_pairs, len(Z) * (len(Z) - 1))
    if len(Z) == 0:
        return PairsFound.none()
    bounds(Z)
    rows = PackedRows(Z, labels, radius2)
    return _scan(rows, rows, False, limit, 0, n_jobs)


def pack_rows(
    Z: FloatingArray,
    labels: IndexArray,
    radius2: FloatArray,
    frame: SearchFrame,
    *,
    n_jobs: int | None = None,
) -> Packed:
    """Return rows that are prepared for scans with `scan_packed`, and may be pickled.

    Parameters
    ----------
    Z, labels, radius2
        As for `radius_scan`.
    frame : SearchFrame
        The same for all sets of rows that are scanned together. The pairs do not depend on it.
    n_jobs : int or None

    Returns
    -------
    Packed
    """
    check_scan(Z, labels, radius2, None)
    if len(Z):
        bounds(Z)
    count_threads(n_jobs)
    return PackedRows(Z, labels, radius2)


def scan_packed(
    first: Packed,
    second: Packed,
    *,
    same_class: bool = False,
    max_pairs: int | None = None,
    n_jobs: int | None = None,
) -> tuple[PairsFound, PairsFound]:
    """Return the pairs of a row of each set that `radius_scan` would find among all rows.

    Parameters
    ----------
    first, second : Packed
        From `pack_rows`, with the same frame. If they are the same object, pairs within it are
        found.
    same_class : bool
        Find pairs of equal labels instead of those of differing labels.
    max_pairs : int or None
        The search stops at more pairs than this.
    n_jobs : int or None

    Returns
    -------
    tuple of PairsFound
        Pairs within the radius of a row of `first`; and those within the radius of a row of
        `second`, which is their row, or none if both are the same.
    """
    limit = PairLimit(max_pairs, 2 * len(first.Z) * len(second.Z))
    forward = _scan(first, second, same_class, limit, 0, n_jobs)
    if first is second:
        return forward, PairsFound.none()
    return forward, _scan(second, first, same_class, limit, len(forward.rows), n_jobs)


def smallest_of_groups(
    values: FloatArray, start: IndexArray, k: int, *, n_jobs: int | None = None
) -> IndexArray:
    """Return the positions of the k smallest values of each group, ascending.

    Parameters
    ----------
    values : float64 array of shape (m,)
    start : int64 array of shape (n_groups + 1,)
        Group g has the values from ``start[g]`` to ``start[g + 1]``.
    k : int
    n_jobs : int or None

    Returns
    -------
    int64 array of shape (n_groups, k)
        Of equal values the first position first; -1 where there are fewer than k.
    """
    check_groups(values, start, k)
    count_threads(n_jobs)
    groups = np.repeat(np.arange(len(start) - 1), np.diff(start))
    order = np.lexsort((values, groups))
    rank = np.arange(len(order)) - start[groups]
    out = np.full((len(start) - 1, k), -1, dtype=np.int64)
    out[groups[rank < k], rank[rank < k]] = order[rank < k]
    return out


class PackedRows(NamedTuple):
    """The rows of a scan as they are."""

    Z: FloatingArray
    labels: IndexArray
    radius2: FloatArray

    @property
    def order(self) -> IndexArray:
        """The rows sorted by label."""
        return np.argsort(self.labels, kind="stable")

    def with_radius2(self, radius2: FloatArray) -> PackedRows:
        """Return the same rows with other radii."""
        return self._replace(radius2=radius2)


def _scan(
    first: Any, second: Any, same_class: bool, limit: PairLimit, found: int, n_jobs: int | None
) -> PairsFound:
    """Return the pairs within the radius of a row of `first`, after `found` others."""

    def block(start: int, stop: int) -> PairsFound:
        nonlocal found
        parts: list[PairsFound] = []
        for row in range(start, stop):
            allowed = (second.labels == first.labels[row]) == same_class
            if first is second:
                allowed[row] = False
            cols = np.flatnonzero(allowed)
            sqdist = _sqdist(first.Z[row], second.Z[cols])
            near = sqdist < first.radius2[row]
            parts.append(PairsFound(np.full(near.sum(), row), cols[near], sqdist[near]))
            found += len(parts[-1].rows)
            limit.check(found)
        return PairsFound.joined(parts)

    # One thread: the count must be exact, and a reference need not be fast.
    count_threads(n_jobs)
    return PairsFound.joined(run_blocks(block, len(first.Z), 256, 1))


def _sqdist(a: FloatingArray, b: FloatingArray) -> FloatArray:
    """Return the squared distances of rows, summed in the order of the compiled loop."""
    with np.errstate(over="ignore", under="ignore"):
        diff = np.subtract(a, b, dtype=np.float64)
        lanes = np.zeros((len(diff), LANES))
        for k in range(0, diff.shape[1], LANES):
            part = diff[:, k : k + LANES]
            lanes[:, : part.shape[1]] += part * part
        half = lanes[:, :4] + lanes[:, 4:]
        quarter = half[:, :2] + half[:, 2:]
        total: FloatArray = quarter[:, 0] + quarter[:, 1]
    return total
