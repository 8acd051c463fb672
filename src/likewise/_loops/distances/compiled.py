"""The loops over distances in C++: the functions of `reference`, in blocks of rows."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import likewise._loops._native as _native
from likewise._loops.distances.types import (
    PairLimit,
    bounds,
    check_pair_arrays,
    check_pairs,
    check_points,
    check_rows,
    check_scan,
    check_weights,
)
from likewise._runtime.arrays import FloatArray, FloatingArray, IndexArray
from likewise._runtime.memory import require_memory
from likewise._runtime.threads import run_blocks, single_threaded_blas

# The instruction sets that this processor has, fastest first; the scan uses the first.
instruction_sets: list[str] = _native.instruction_sets()

# From this many features on, a BLAS product is faster than the tiles (measured).
product_features = {"avx512bf16": 500, "avx512": 500, "avx2": 300, "portable": 16}

# From this many features, and rows per feature, on, rows are rotated so that tiles can be dropped
# after some of the directions (measured).
screen_features = 48
screen_rows_per_feature = 32
screen_stops = (16, 32, 64)

_PAIR_BLOCK = 1 << 14
_ROW_BLOCK = 512
_BLOCK_PRODUCTS = 1 << 20
_MANY_PAIRS = 1 << 18
_PANEL = int(_native.PANEL)
_PANEL_BLOCK = 4
_PRODUCT_COLUMNS = 40 * _PANEL
_AXES_ROWS = 4096
_AXES_ERROR = 2.0**-27  # with the rounding of its computation, at most 2^-26
_AXES_FEATURES = 1 << 12
_KD_AXES = 8


def pair_sqdist(
    Z: FloatingArray,
    rows: IndexArray,
    cols: IndexArray,
    *,
    points: FloatingArray | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """See `likewise._loops.distances.reference.pair_sqdist`."""
    points = check_points(Z, points)
    check_pair_arrays(rows, cols)
    out = np.empty(len(rows))

    def block(start: int, stop: int) -> None:
        part = slice(start, stop)
        _native.pair_sqdist(Z, points, rows[part], cols[part], out[part])

    try:
        run_blocks(block, len(rows), _PAIR_BLOCK, n_jobs)
    except IndexError:  # found by all threads; this says what and where
        check_pairs(rows, cols, len(Z), len(points))
        raise
    return out


def laplacian_apply(
    Z: FloatingArray,
    rows: IndexArray,
    cols: IndexArray,
    weights: FloatArray,
    *,
    n_jobs: int | None = None,
) -> FloatingArray:
    """See `likewise._loops.distances.reference.laplacian_apply`."""
    check_rows("Z", Z)
    parts = [(incidence(rows, cols, len(Z)), weights)]
    return laplacian_product(Z, parts, n_jobs=n_jobs)


def incidence(rows: IndexArray, cols: IndexArray, n_rows: int) -> Any:
    """See `likewise._loops.distances.reference.incidence`."""
    check_pairs(rows, cols, n_rows, n_rows)
    if len(rows) > _MANY_PAIRS:  # for few pairs the check would cost more than the product
        require_memory(16.0 * len(rows), f"The Laplacian of {len(rows)} pairs")
    return _native.Incidence(rows, cols, n_rows)


def laplacian_product(
    Z: FloatingArray, parts: Sequence[tuple[Any, FloatArray]], *, n_jobs: int | None = None
) -> FloatingArray:
    """See `likewise._loops.distances.reference.laplacian_product`."""
    check_rows("Z", Z)
    for pairs, weights in parts:
        check_weights(weights, pairs.n_pairs)
    lists, of_lists = [pairs for pairs, _ in parts], [weights for _, weights in parts]
    n_pairs = sum(len(weights) for weights in of_lists)
    out = np.empty_like(Z)
    run_blocks(
        lambda start, stop: _native.laplacian_rows(Z, lists, of_lists, start, stop, out),
        len(Z),
        # About a million products per block, so that a block is worth a thread.
        max(_ROW_BLOCK, _BLOCK_PRODUCTS * len(Z) // max(1, 2 * n_pairs * Z.shape[1])),
        n_jobs,
    )
    return out


def radius_scan(
    Z: FloatingArray,
    labels: IndexArray,
    radius2: FloatArray,
    *,
    n_classes: int = 0,
    max_pairs: int | None = None,
    n_jobs: int | None = None,
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """See `likewise._loops.distances.reference.radius_scan`."""
    check_scan(Z, labels, radius2, max_pairs)
    limit = PairLimit(max_pairs, len(Z))
    n = len(Z)
    if n == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    scan = _pack(Z, labels, radius2, limit.pairs, n_jobs, n_classes)

    def tiles(start: int, stop: int) -> _native.Found:
        found = _native.Found()
        scan.scan_tiles(start, stop, found)
        return found

    def products(start: int, stop: int) -> _native.Found:
        found = _native.Found()
        packed = scan.rows()
        first, last = start * _PANEL, min(stop * _PANEL, n)
        for column in range(scan.first_column_panel(start) * _PANEL, n, _PRODUCT_COLUMNS):
            product = packed[first:last] @ packed[column : column + _PRODUCT_COLUMNS].T
            scan.scan_products(product, first, column, found)
        return found

    found = run_blocks(tiles if scan.panelled else products, scan.panels, _PANEL_BLOCK, n_jobs)
    limit.check(scan.found)
    row_start = np.empty(n + 1, np.int64)
    rows, cols = np.empty(scan.found, np.int64), np.empty(scan.found, np.int64)
    sqdist = np.empty(scan.found)
    _native.gather_found(found, row_start, rows, cols, sqdist)
    run_blocks(
        lambda start, stop: _native.sort_found(row_start, start, stop, cols, sqdist),
        n,
        _ROW_BLOCK,
        n_jobs,
    )
    return rows, cols, sqdist


def _pack(
    Z: FloatingArray,
    labels: IndexArray,
    radius2: FloatArray,
    limit: int,
    n_jobs: int | None,
    n_classes: int = 0,
) -> Any:
    """Return the scan with its rows packed: rotated where that lets it drop tiles early."""
    n, d = Z.shape
    centre, scale = _centre_and_scale(Z)
    make = _native.RadiusScanFloat32 if Z.dtype == np.float32 else _native.RadiusScanFloat64

    def scan(order: IndexArray, tiled: bool, stops: list[int]) -> Any:
        search = (Z, order, labels[order], radius2, centre, scale, limit)
        return make(*search, tiled, stops, instruction_sets[0], n_classes)

    stops = [stop for stop in screen_stops if stop < d]
    if stops and d >= screen_features and n >= screen_rows_per_feature * d:
        axes = _principal_axes(Z, centre, scale)
        if axes is not None:
            order = _kd_order(Z, labels, centre, scale, axes, n_jobs)
            screened = scan(order, True, stops)

            def pack_rotated(start: int, stop: int) -> None:
                rows = _centred(Z[order[start * _PANEL : stop * _PANEL]], centre, scale)
                screened.pack_rotated(start, stop, rows @ axes)

            run_blocks(pack_rotated, screened.panels, _ROW_BLOCK // _PANEL, n_jobs)
            return screened
    complete = scan(np.lexsort((radius2, labels)), d < product_features[instruction_sets[0]], [])
    run_blocks(complete.pack, complete.panels, _ROW_BLOCK // _PANEL, n_jobs)
    return complete


def _principal_axes(Z: FloatingArray, centre: FloatArray, scale: float) -> FloatArray | None:
    """Return the principal axes of the rows as columns, by descending variance.

    Those of some rows are near enough: any orthogonal matrix is correct. None if rounding made it
    less orthogonal than the proof in `radius.hpp` needs.
    """
    rows = _centred(Z[:: max(1, len(Z) // _AXES_ROWS)], centre, scale)
    with single_threaded_blas():
        _, vectors = np.linalg.eigh(rows.T @ rows)
        axes = np.ascontiguousarray(vectors[:, ::-1])
        error = float(np.linalg.norm(axes.T @ axes - np.eye(len(axes))))
    return axes if error <= _AXES_ERROR and len(axes) <= _AXES_FEATURES else None


def _kd_order(
    Z: FloatingArray,
    labels: IndexArray,
    centre: FloatArray,
    scale: float,
    axes: FloatArray,
    n_jobs: int | None,
) -> IndexArray:
    """Return the rows sorted by label, and within a label such that near rows are together."""
    leading = np.ascontiguousarray(axes[:, :_KD_AXES])
    points = np.empty((len(Z), leading.shape[1]), dtype=np.float32)

    def project(start: int, stop: int) -> None:
        points[start:stop] = _centred(Z[start:stop], centre, scale) @ leading

    run_blocks(project, len(Z), _ROW_BLOCK, n_jobs)
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=labels[order[0]] - 1))
    ends = np.append(starts[1:], len(order))

    def sort_classes(start: int, stop: int) -> None:
        for begin, end in zip(starts[start:stop], ends[start:stop], strict=True):
            _native.kd_order(points, order, begin, end)

    run_blocks(sort_classes, len(starts), 1, n_jobs)
    return order


def _centred(rows: FloatingArray, centre: FloatArray, scale: float) -> FloatArray:
    """Return rows less their centre, scaled, in double."""
    difference: FloatArray = np.subtract(rows, centre, dtype=np.float64)
    difference *= scale
    return difference


def _centre_and_scale(Z: FloatingArray) -> tuple[FloatArray, float]:
    """Return the centre, and the power of two that scales every norm to at most 1.

    Any centre is correct; the mean makes the rounding errors of the filter small. Scaling by a
    power of two is exact, and prevents float32 overflow.
    """
    low, high = bounds(Z)
    with np.errstate(over="ignore"):
        centre = np.clip(Z.mean(axis=0, dtype=np.float64), low, high)  # the sum may overflow
    widest = float(np.maximum(high - centre, centre - low).max(initial=0.0))
    if widest == 0:
        return centre, 1.0
    exponent = math.frexp(widest)[1] + math.ceil(math.log2(Z.shape[1]) / 2)
    return centre, 2.0 ** -max(exponent, -1000)
