"""The loops over distances in C++: the functions of `reference`, in blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np

import likewise._loops._native as _native
from likewise._loops.distances.frames import SearchFrame, frame_of
from likewise._loops.distances.types import (
    Packed,
    PairLimit,
    PairsFound,
    bounds,
    check_groups,
    check_pair_arrays,
    check_pairs,
    check_points,
    check_rows,
    check_scan,
    check_weights,
)
from likewise._runtime.arrays import FloatArray, FloatingArray, IndexArray
from likewise._runtime.memory import require_memory
from likewise._runtime.threads import run_blocks

# The instruction sets that this processor has, fastest first; the scan uses the first.
instruction_sets: list[str] = _native.instruction_sets()

# From this many features on, a BLAS product is faster than the tiles (measured).
product_features = {"avx512bf16": 500, "avx512": 500, "avx2": 300, "portable": 16}

# The numbers of principal directions after which tiles can be dropped (measured).
screen_stops = (16, 32, 64)

_PAIR_BLOCK = 1 << 14
_ROW_BLOCK = 512
_BLOCK_PRODUCTS = 1 << 20
_MANY_PAIRS = 1 << 18
_PANEL = int(_native.PANEL)
_PANEL_BLOCK = 4
_PRODUCT_COLUMNS = 40 * _PANEL
_KD_AXES = 8


def pair_sqdist(
    Z: FloatingArray,
    rows: IndexArray,
    cols: IndexArray,
    *,
    points: FloatingArray | None = None,
    out: FloatArray | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """See `likewise._loops.distances.reference.pair_sqdist`."""
    points = check_points(Z, points)
    check_pair_arrays(rows, cols)
    out = np.empty(len(rows)) if out is None else out

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
    rows_of, out = laplacian_slices(Z, [(incidence(rows, cols, len(Z)), weights)]), np.empty_like(Z)
    run_blocks(
        lambda start, stop: rows_of(start, stop, out[start:stop]),
        len(Z),
        # About a million products per block, so that a block is worth a thread.
        max(_ROW_BLOCK, _BLOCK_PRODUCTS * len(Z) // max(1, 2 * len(rows) * Z.shape[1])),
        n_jobs,
    )
    return out


def incidence(rows: IndexArray, cols: IndexArray, n_rows: int) -> Any:
    """See `likewise._loops.distances.reference.incidence`."""
    check_pairs(rows, cols, n_rows, n_rows)
    if len(rows) > _MANY_PAIRS:  # for few pairs the check would cost more than the product
        require_memory(16.0 * len(rows), f"The Laplacian of {len(rows)} pairs")
    return _native.Incidence(rows, cols, n_rows)


def laplacian_slices(
    Z: FloatingArray, parts: Sequence[tuple[Any, FloatArray]]
) -> Callable[[int, int, FloatingArray], FloatingArray]:
    """See `likewise._loops.distances.reference.laplacian_slices`."""
    check_rows("Z", Z)
    for pairs, weights in parts:
        check_weights(weights, pairs.n_pairs)
    lists, of_lists = [pairs for pairs, _ in parts], [weights for _, weights in parts]

    def rows_of(start: int, stop: int, out: FloatingArray) -> FloatingArray:
        _native.laplacian_rows(Z, lists, of_lists, start, stop, out)
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
    """See `likewise._loops.distances.reference.radius_scan`."""
    check_scan(Z, labels, radius2, max_pairs)
    limit = PairLimit(max_pairs, len(Z) * (len(Z) - 1))
    if len(Z) == 0:
        return PairsFound.none()
    rows = PackedRows(Z, labels, radius2, frame_of(Z), n_jobs)
    return _scan(rows, rows, False, limit, n_jobs)[0]


def pack_rows(
    Z: FloatingArray,
    labels: IndexArray,
    radius2: FloatArray,
    frame: SearchFrame,
    *,
    n_jobs: int | None = None,
) -> Packed:
    """See `likewise._loops.distances.reference.pack_rows`."""
    check_scan(Z, labels, radius2, None)
    if len(Z):
        bounds(Z)  # raises for rows that are not finite
    return PackedRows(Z, labels, radius2, frame, n_jobs)


def scan_packed(
    first: Packed,
    second: Packed,
    *,
    same_class: bool = False,
    max_pairs: int | None = None,
    n_jobs: int | None = None,
) -> tuple[PairsFound, PairsFound]:
    """See `likewise._loops.distances.reference.scan_packed`."""
    limit = PairLimit(max_pairs, 2 * len(first.Z) * len(second.Z))
    if not (len(first.Z) and len(second.Z)):
        return PairsFound.none(), PairsFound.none()
    return _scan(first, second, same_class, limit, n_jobs)


def _scan(
    first: Any, second: Any, same_class: bool, limit: PairLimit, n_jobs: int | None
) -> tuple[PairsFound, PairsFound]:
    """Return the pairs within the radius of a row of `first`, and of one of `second`.

    If they are the same, the first result has all pairs, and the second has none.
    """
    rows, columns = first.native, second.native
    of_type = (
        _native.RadiusScanFloat32 if first.Z.dtype == np.float32 else _native.RadiusScanFloat64
    )
    scan = of_type(rows, columns, same_class, limit.pairs)

    def tiles(start: int, stop: int) -> tuple[Any, Any]:
        found = _native.Found()
        reverse = found if first is second else _native.Found()
        scan.scan_tiles(start, stop, found, reverse)
        return found, reverse

    def products(start: int, stop: int) -> tuple[Any, Any]:
        found = _native.Found()
        reverse = found if first is second else _native.Found()
        packed, others = rows.rows(), columns.rows()
        begin, end = start * _PANEL, min(stop * _PANEL, len(packed))
        for column in range(scan.first_column_panel(start) * _PANEL, len(others), _PRODUCT_COLUMNS):
            product = packed[begin:end] @ others[column : column + _PRODUCT_COLUMNS].T
            scan.scan_products(product, begin, column, found, reverse)
        return found, reverse

    found = run_blocks(tiles if rows.panelled else products, rows.panels, _PANEL_BLOCK, n_jobs)
    limit.check(scan.found)
    pairs = _gathered([part for part, _ in found], len(first.Z), n_jobs)
    if first is second:
        return pairs, PairsFound.none()
    return pairs, _gathered([part for _, part in found], len(second.Z), n_jobs)


def _gathered(found: list[Any], n: int, n_jobs: int | None) -> PairsFound:
    """Return pairs by row and column, and free what was found."""
    m = sum(map(len, found))
    row_start = np.empty(n + 1, np.int64)
    rows, cols, sqdist = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m)
    _native.gather_found(found, row_start, rows, cols, sqdist)
    run_blocks(
        lambda start, stop: _native.sort_found(row_start, start, stop, cols, sqdist),
        n,
        _ROW_BLOCK,
        n_jobs,
    )
    return PairsFound(rows, cols, sqdist)


def smallest_of_groups(
    values: FloatArray, start: IndexArray, k: int, *, n_jobs: int | None = None
) -> IndexArray:
    """See `likewise._loops.distances.reference.smallest_of_groups`."""
    check_groups(values, start, k)
    out = np.empty((len(start) - 1, k), dtype=np.int64)
    run_blocks(
        lambda begin, end: _native.smallest_of_groups(values, start, begin, end, out),
        len(out),
        _ROW_BLOCK,
        n_jobs,
    )
    return out


class PackedRows:
    """Rows that are prepared for scans against others, or among themselves.

    They are packed when they are scanned first, and so is a copy in another process, for its
    processor.

    Parameters
    ----------
    Z, labels, radius2, frame, n_jobs
        As for `pack_rows`.
    """

    def __init__(
        self,
        Z: FloatingArray,
        labels: IndexArray,
        radius2: FloatArray,
        frame: SearchFrame,
        n_jobs: int | None,
    ) -> None:
        self.Z, self.labels, self.radius2 = Z, labels, radius2
        self.frame, self.n_jobs = frame, n_jobs
        rotated = frame.axes is not None
        self.stops = [stop for stop in screen_stops if rotated and stop < Z.shape[1]]
        self.order = self._kd_order() if self.stops else np.lexsort((radius2, labels))
        self._native: Any = None
        self._lock = Lock()

    @property
    def native(self) -> Any:
        """The packed rows, of the compiled loops."""
        with self._lock:  # threads of a worker scan the same rows: one of them packs
            if self._native is None:
                self._native = self._packed()
            return self._native

    def _packed(self) -> Any:
        frame: Any = self.frame
        instructions = instruction_sets[0]
        single = self.Z.dtype == np.float32
        make = _native.PackedRowsFloat32 if single else _native.PackedRowsFloat64
        packed = make(
            *(self.Z, self.order, self.labels[self.order], self.radius2),
            *(frame.centre, frame.scale),
            bool(self.stops) or self.Z.shape[1] < product_features[instructions],
            *(self.stops, instructions),
        )

        def pack_rotated(start: int, stop: int) -> None:
            rows = frame.centred(self.Z[self.order[start * _PANEL : stop * _PANEL]])
            packed.pack_rotated(start, stop, rows @ frame.axes)

        pack = pack_rotated if self.stops else packed.pack
        run_blocks(pack, packed.panels, _ROW_BLOCK // _PANEL, self.n_jobs)
        return packed

    def with_radius2(self, radius2: FloatArray) -> PackedRows:
        """Return the same rows, in the same order, with other radii."""
        other = PackedRows.__new__(PackedRows)
        other.__setstate__({**self.__getstate__(), "radius2": radius2})
        return other

    def __getstate__(self) -> dict[str, Any]:
        state = vars(self).copy()
        del state["_native"], state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _native=None, _lock=Lock())

    def __sizeof__(self) -> int:
        """Return the bytes of the rows and of those that are packed, also before they are."""
        copies = 2 if self.stops else 1  # in single precision, in panels and row by row
        packed = copies * np.dtype(np.float32).itemsize * self.Z.size
        return int(self.Z.nbytes + packed + 2 * self.order.nbytes)

    def _kd_order(self) -> IndexArray:
        """Return the rows sorted by label, and within a label such that near rows are together."""
        Z, frame = self.Z, self.frame
        assert frame.axes is not None
        leading = np.ascontiguousarray(frame.axes[:, :_KD_AXES])
        points = np.empty((len(Z), leading.shape[1]), dtype=np.float32)

        def project(start: int, stop: int) -> None:
            points[start:stop] = frame.centred(Z[start:stop]) @ leading

        run_blocks(project, len(Z), _ROW_BLOCK, self.n_jobs)
        order = np.argsort(self.labels, kind="stable")
        labels = self.labels[order]
        starts = np.flatnonzero(np.diff(labels, prepend=labels[:1] - 1))
        ends = np.append(starts[1:], len(order))

        def sort_classes(start: int, stop: int) -> None:
            for begin, end in zip(starts[start:stop], ends[start:stop], strict=True):
                _native.kd_order(points, order, begin, end)

        run_blocks(sort_classes, len(starts), 1, self.n_jobs)
        return order
