"""All points of another class within a radius, by a kernel of Triton.

`_torch_radius` defines the result: the kernel only proposes candidates, with a proven bound, and
exact distances decide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
import triton
import triton.language as tl

from likewise._numerics.torch_pairs import tensor_pair_sqdist
from likewise._runtime.configuration import max_working_bytes
from likewise._runtime.kernel_check import KernelCheck
from likewise._runtime.tensors import Tensor, free_device_memory
from likewise.neighbors import _torch_radius
from likewise.neighbors._torch_radius import PairLimit

_BLOCK_ROWS, _BLOCK_COLS = 128, 64
_CHUNK = 4096  # columns of one program
_MAX_DEPTH = 128  # features that are kept at once; more are added up in steps of _DEPTH_STEP
_DEPTH_STEP = 64
_PROGRAMS = 1 << 16  # of one launch: some milliseconds, after which the host reads the count
_MAX_CANDIDATES = 1 << 25
_SETTLED = 1 << 22  # candidates settled at a time
_PREPARED = 1 << 24  # elements rounded at a time
# Bytes per candidate (its key, and while it is settled rows, distance and keys of both orders), and
# per pair found, while they are sorted.
_BYTES_PER_CANDIDATE, _BYTES_PER_FOUND = 64, 56
# Errors of float16, relative to radii, beyond which most pairs would be candidates.
_MAX_ERROR_SHARE = 0.5
_SMALLEST_BUFFER = _BLOCK_ROWS * _CHUNK  # more than one tile can hold
_TILE_PARTS, _CANDIDATE_WARPS = 2, 8  # small programs: many run at a time, as they wait a lot
_SCREEN_SLACK = 2.0**-20


def within_radius_of_other_class(
    Z: Tensor, labels: Tensor, radius2: Tensor, *, max_pairs: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Do what `_torch_radius.within_radius_of_other_class` does, with the same result.

    Notes
    -----
    Rows are sorted by class, so that a pair of two classes is visited once, from the row of the
    lower class, and both radii are tested. Candidates are appended in any order, into a buffer that
    is settled when it is half full; the launch that overflows it is repeated with fewer programs.
    The pairs found are sorted at the end.
    """
    if not len(Z) or not bool((radius2 > 0).any()):
        return _nothing(Z)
    scan = _Scan.of(Z, labels, radius2)
    if scan is None:
        return _torch_radius.within_radius_of_other_class(Z, labels, radius2, max_pairs=max_pairs)
    return _search(scan, Z, radius2, max_pairs)


def _search(
    scan: _Scan, Z: Tensor, radius2: Tensor, max_pairs: int | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Settle the candidates of a scan, and sort the pairs that remain."""
    n = len(Z)
    limit = PairLimit(max_pairs, Z, _BYTES_PER_FOUND)
    found: list[tuple[Tensor, Tensor]] = []
    for candidates in scan.run(_n_candidates(Z, max_pairs)):
        for start in range(0, len(candidates), _SETTLED):
            found.append(_settle(Z, radius2, scan.order, candidates[start : start + _SETTLED]))
            limit.add(len(found[-1][0]))
    if not found:
        return _nothing(Z)
    keys, sqdist = torch.cat([part[0] for part in found]), torch.cat([part[1] for part in found])
    found.clear()
    keys, order = torch.sort(keys)
    rows = keys // n
    return rows, keys - rows * n, sqdist[order]


class _Scan:
    """Rows rounded to float16 and the thresholds of their products: what the kernel reads.

    Let a be the rows, centred and multiplied by a power of two such that their largest entry is at
    most 2¹⁴; â the same rounded to float16, where nothing overflows; and δ_a = ‖a - â‖, computed in
    float64 from the data at hand, so that underflow is included. If ‖a - b‖² < r_a then, for any
    t > 0,

    ``‖â - b̂‖² ≤ (√r_a + δ_a + δ_b)² ≤ R_a + D_b``,

    ``R_a = (1 + t)(√r_a + δ_a)²``, ``D_b = (1 + 1/t) δ_b²``,

    which is ``âb̂ ≥ (‖â‖² - R_a)/2 + (‖b̂‖² - D_b)/2``. The choice of t changes the number of
    candidates and nothing else; the ratio of typical δ and √r makes it small.

    The product of two float16 numbers is a float32 number. Tensor cores add them to float32 sums
    some at a time: they align the addends to the largest, and cut them off after 24 or more bits
    (Fasi, Higham, Mikaitis and Pranesh 2021, "Numerical behavior of NVIDIA tensor cores").
    Every addend and every sum so loses at most 2⁻²³ of the largest, which is at most
    Σ|â_k b̂_k| ≤ (‖â‖² + ‖b̂‖²)/2. With at least four products to a sum, d of them lose less than
    ``(3d/2 + 2) 2⁻²³`` of that; rounding one by one loses less. The thresholds are rounded to
    float32, and so is their sum, which moves it by less than ``2⁻²³`` of
    (‖â‖² + ‖b̂‖² + R_a + D_b)/2. Hence squared norms are multiplied by 1 - ε and R, D by 1 + ε with
    ``ε = (d + 16) 2⁻²²``.

    A tile is screened first. With ``l = (‖â‖² - R)/2``, ``h = (‖â‖² - D)/2`` and ``w = h - l``, the
    condition implies ``âb̂ - h_b + max(w) - h_a ≥ 0``, where the maximum is over the rows and
    columns of the tile. What float32 loses in its four steps is at most ``2⁻²²`` of
    |h_a| + |h_b| + w where the sum is close to 0; for that, h is reduced and w enlarged by
    ``2⁻²⁰`` of themselves.

    In float64, centring is off by 2⁻⁵³‖a‖, the norms by d 2⁻⁵³ of themselves, and the distance that
    decides by (d + 2) 2⁻⁵³ of itself, and where squares underflow by d 2⁻¹⁰⁷⁵. The factor 1 + 2⁻²⁰
    of √r and δ, 2⁻⁵⁰‖â‖ added to δ, and d 2⁻¹⁰⁷⁴ added to r are more than that for d < 2²⁰.
    """

    def __init__(
        self, rows: Tensor, low: Tensor, high: Tensor, ends: Tensor, order: Tensor
    ) -> None:
        self.rows, self.ends, self.order = rows, ends, order
        self.low, self.high = _padded(low, len(rows)), _padded(high, len(rows))
        self.screen = _padded(high - _SCREEN_SLACK * high.abs(), len(rows))
        # Infinite thresholds are those of rows without a radius, which widen nothing.
        width = torch.where(low.isinf(), 0.0, high - low)
        width = torch.where(low.isinf(), -torch.inf, width + _SCREEN_SLACK * width.abs())
        width = _padded(width, len(rows), -torch.inf)
        self.widths = width.view(-1, _BLOCK_COLS).amax(dim=1)

    @classmethod
    def of(cls, Z: Tensor, labels: Tensor, radius2: Tensor) -> _Scan | None:
        """Round and sort rows; None if the bound, the range of numbers or the memory forbids it."""
        n, n_features = Z.shape
        depth = padded_depth(n_features)
        n_padded = -(-n // _CHUNK) * _CHUNK
        centre = Z.mean(dim=0, dtype=torch.float64)
        widest = 0.0
        if n_features:
            bounds = torch.stack(torch.aminmax(Z, dim=0)).double()
            widest = float((bounds - centre).abs().amax())
        memory = _memory(Z)
        needed = 2 * n_padded * depth + 64 * n_padded + _BYTES_PER_CANDIDATE * _SMALLEST_BUFFER
        if (
            n_features >= 1 << 20
            or n_padded >= 1 << 31
            or not math.isfinite(widest)
            or needed > memory // 2
        ):
            return None
        scale = math.ldexp(1.0, min(14 - math.frexp(widest)[1], 1000)) if widest > 0 else 1.0
        # Tiles of rows with about the same radius are screened best.
        order = torch.argsort(radius2)
        classes, by_class = torch.sort(labels[order], stable=True)
        order = order[by_class]
        rows = torch.zeros((n_padded, depth), dtype=torch.float16, device=Z.device)
        squares = torch.empty(n, dtype=torch.float64, device=Z.device)
        errors = torch.empty_like(squares)
        step = max(1, min(_PREPARED, memory // 128) // max(1, n_features))
        for start in range(0, n, step):
            part = slice(start, start + step)
            exact = (Z[order[part]].double() - centre) * scale
            rows[part, :n_features][: len(exact)] = exact.half()
            rounded = rows[part, :n_features][: len(exact)].double()
            squares[part] = rounded.square().sum(dim=1)
            errors[part] = (exact - rounded).square().sum(dim=1).sqrt()
        errors = errors * (1 + 2.0**-20) + 2.0**-50 * squares.sqrt()
        sqradius = radius2[order]
        reach = (sqradius.clamp(min=0) + n_features * 2.0**-1074).sqrt() * (scale * (1 + 2.0**-20))
        share = float(errors.median() / reach[sqradius > 0].median())
        if share > _MAX_ERROR_SHARE:
            return None
        share = min(max(share, 2.0**-20), 1.0) if math.isfinite(share) else 1.0
        epsilon = (depth + 16) * 2.0**-22
        squares *= (1 - epsilon) / 2
        low = squares - (reach + errors).square() * ((1 + share) * (1 + epsilon) / 2)
        high = squares - errors.square() * ((1 + 1 / share) * (1 + epsilon) / 2)
        # Finite, so that the sum with an infinite one is not NaN; rows without a radius find none.
        low = torch.where(sqradius > 0, low.clamp(min=-(2.0**120)), torch.inf)
        ends = torch.full((n_padded,), n_padded, dtype=torch.int32, device=Z.device)
        ends[:n] = torch.searchsorted(classes, classes, right=True)
        return cls(rows, low, high, ends, order)

    def run(self, capacity: int) -> Iterator[Tensor]:
        """Yield all candidates, each once, as ``a · 2³² + b`` for sorted rows a < b."""
        device = self.rows.device
        found = torch.empty(capacity, dtype=torch.int64, device=device)
        count = torch.zeros(1, dtype=torch.int64, device=device)
        held, at_once = 0, _PROGRAMS
        for tiles in self._screened():
            first = 0
            while first < len(tiles):
                launched = min(at_once, len(tiles) - first)
                with torch.cuda.device_of(self.rows):
                    _candidates_kernel[(launched, _TILE_PARTS)](
                        self.rows, self.low, self.high, self.ends, tiles[first:], count, found,
                        capacity, **self._sizes(_TILE_PARTS), PARTS=_TILE_PARTS,
                        num_warps=_CANDIDATE_WARPS,
                    )  # fmt: skip
                total = int(count)
                if total <= capacity:
                    first, held = first + launched, total
                    at_once = min(2 * at_once, _PROGRAMS)
                elif not held:
                    # Candidates of one tile always fit.
                    at_once = max(1, launched // 8)
                if total > capacity or held > capacity // 2:
                    if held:
                        yield found[:held]
                    held = 0
                    count.zero_()
        if held:
            yield found[:held]

    def _screened(self) -> Iterator[Tensor]:
        """Yield the tiles that may hold a candidate, as ``row block · 2³² + column block``."""
        n_padded = len(self.rows)
        n_blocks, n_chunks = n_padded // _BLOCK_ROWS, n_padded // _CHUNK
        n_programs = n_blocks * n_chunks
        per_program = _CHUNK // _BLOCK_COLS
        tiles = torch.empty(
            min(_PROGRAMS, n_programs) * per_program, dtype=torch.int64, device=self.rows.device
        )
        count = torch.zeros(1, dtype=torch.int64, device=self.rows.device)
        for first in range(0, n_programs, _PROGRAMS):
            count.zero_()
            with torch.cuda.device_of(self.rows):
                _screen_kernel[(min(_PROGRAMS, n_programs - first),)](
                    self.rows, self.screen, self.widths, self.ends, count, tiles, n_blocks, first,
                    CHUNK=_CHUNK, **self._sizes(), num_warps=4, num_stages=3,
                )  # fmt: skip
            yield tiles[: int(count)]

    def _sizes(self, n_parts: int = 1) -> dict[str, int]:
        depth = self.rows.shape[1]
        return {
            "DEPTH": depth,
            "DEPTH_STEP": depth if depth <= _MAX_DEPTH else _DEPTH_STEP,
            "BLOCK_ROWS": _BLOCK_ROWS // n_parts,
            "BLOCK_COLS": _BLOCK_COLS,
        }


@triton.jit
def _products(
    rows_ptr, block, row_ptrs, cols,
    DEPTH: tl.constexpr, DEPTH_STEP: tl.constexpr,
    BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr,
):  # fmt: skip
    """Return the products of a block of rows, which is loaded if it is one step deep."""
    inner = tl.arange(0, DEPTH_STEP)
    col_ptrs = rows_ptr + cols.to(tl.int64)[None, :] * DEPTH + inner[:, None]
    if DEPTH == DEPTH_STEP:
        products = tl.dot(block, tl.load(col_ptrs))
    else:
        products = tl.zeros((BLOCK_ROWS, BLOCK_COLS), dtype=tl.float32)
        for k in range(0, DEPTH, DEPTH_STEP):
            products = tl.dot(tl.load(row_ptrs + k), tl.load(col_ptrs + k), products)
    return products


@triton.jit(do_not_specialize=["n_blocks", "first"])
def _screen_kernel(
    rows_ptr, screen_ptr, widths_ptr, ends_ptr, count_ptr, tiles_ptr, n_blocks, first,
    DEPTH: tl.constexpr, DEPTH_STEP: tl.constexpr,
    BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """Append the tiles of one block of rows and one chunk of columns that may hold a candidate.

    The chunk changes slowest: programs that run at the same time stream the same columns.
    """
    program = first + tl.program_id(0).to(tl.int64)
    top = ((program % n_blocks) * BLOCK_ROWS).to(tl.int32)
    left = ((program // n_blocks) * CHUNK).to(tl.int32)
    # Columns of the first row's class, and all before it, have no pair with these rows.
    if tl.load(ends_ptr + top) >= left + CHUNK:
        return
    rows = top + tl.arange(0, BLOCK_ROWS)
    screen_rows = tl.load(screen_ptr + rows)
    widths = tl.load(widths_ptr + top // BLOCK_COLS + tl.arange(0, BLOCK_ROWS // BLOCK_COLS))
    widest = tl.max(widths, axis=0)
    row_ptrs = rows_ptr + rows.to(tl.int64)[:, None] * DEPTH + tl.arange(0, DEPTH_STEP)[None, :]
    block = tl.load(row_ptrs)
    for start in range(0, CHUNK, BLOCK_COLS):
        cols = left + start + tl.arange(0, BLOCK_COLS)
        products = _products(
            rows_ptr, block, row_ptrs, cols, DEPTH, DEPTH_STEP, BLOCK_ROWS, BLOCK_COLS
        )
        tile = (left + start) // BLOCK_COLS
        width = tl.maximum(widest, tl.load(widths_ptr + tile))
        most = tl.max(products - tl.load(screen_ptr + cols)[None, :], axis=1)
        if tl.max(most + (width - screen_rows), axis=0) >= 0:
            place = tl.atomic_add(count_ptr, 1)
            tl.store(tiles_ptr + place, (top // BLOCK_ROWS).to(tl.int64) << 32 | tile)


@triton.jit(do_not_specialize=["capacity"])
def _candidates_kernel(
    rows_ptr, low_ptr, high_ptr, ends_ptr, tiles_ptr, count_ptr, found_ptr, capacity,
    DEPTH: tl.constexpr, DEPTH_STEP: tl.constexpr,
    BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """Append the candidates of one part of a tile."""
    tile = tl.load(tiles_ptr + tl.program_id(0))
    block = (tile >> 32).to(tl.int32) * PARTS + tl.program_id(1)
    rows = block * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    cols = (tile & 0xFFFFFFFF).to(tl.int32) * BLOCK_COLS + tl.arange(0, BLOCK_COLS)
    row_ptrs = rows_ptr + rows.to(tl.int64)[:, None] * DEPTH + tl.arange(0, DEPTH_STEP)[None, :]
    products = _products(
        rows_ptr, tl.load(row_ptrs), row_ptrs, cols, DEPTH, DEPTH_STEP, BLOCK_ROWS, BLOCK_COLS
    )
    low_rows, high_rows = tl.load(low_ptr + rows), tl.load(high_ptr + rows)
    low_cols, high_cols = tl.load(low_ptr + cols), tl.load(high_ptr + cols)
    least = tl.minimum(
        low_rows[:, None] + high_cols[None, :], high_rows[:, None] + low_cols[None, :]
    )
    near = (products >= least) & (cols[None, :] >= tl.load(ends_ptr + rows)[:, None])
    # Few are: an atomic for each is faster than their places by sums over the tile.
    ones = near.to(tl.int32)
    place = tl.atomic_add(count_ptr + tl.zeros_like(ones), ones.to(tl.int64), mask=near)
    keys = (rows.to(tl.int64)[:, None] << 32) | cols.to(tl.int64)[None, :]
    tl.store(found_ptr + place, keys, mask=near & (place < capacity))


def _settle(Z: Tensor, radius2: Tensor, order: Tensor, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """Return the keys ``row · n + column`` of the pairs inside, in both orders, and distances."""
    n = len(Z)
    first, second = order[candidates >> 32], order[candidates & 0xFFFFFFFF]
    sqdist = tensor_pair_sqdist(Z, first, second)
    forward, backward = sqdist < radius2[first], sqdist < radius2[second]
    keys = torch.cat([(first * n + second)[forward], (second * n + first)[backward]])
    return keys, torch.cat([sqdist[forward], sqdist[backward]])


def _padded(values: Tensor, n: int, filler: float = math.inf) -> Tensor:
    """Return values in float32, followed by the filler up to length n."""
    out = torch.full((n,), filler, dtype=torch.float32, device=values.device)
    out[: len(values)] = values
    return out


def padded_depth(n_features: int) -> int:
    """Return the number of columns that the kernel reads for this many features."""
    if n_features > _MAX_DEPTH:
        return -(-n_features // _DEPTH_STEP) * _DEPTH_STEP
    return max(16, 1 << max(0, n_features - 1).bit_length())


def _n_candidates(Z: Tensor, max_pairs: int | None) -> int:
    """Return the size of the buffer: few if few pairs may be found, and within the memory."""
    wanted = _MAX_CANDIDATES if max_pairs is None else 2 * max_pairs
    wanted = min(wanted, _MAX_CANDIDATES, _memory(Z) // 4 // _BYTES_PER_CANDIDATE)
    return max(wanted, _SMALLEST_BUFFER)


def _memory(Z: Tensor) -> int:
    """Return the bytes that the search may take beside Z."""
    known = [n for n in (free_device_memory(Z.device), max_working_bytes()) if n is not None]
    return min(known, default=2**40)


def _nothing(Z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    nothing = torch.empty(0, dtype=torch.int64, device=Z.device)
    return nothing, nothing.clone(), torch.empty(0, dtype=torch.float64, device=Z.device)


def _agrees(device: torch.device, depth: int) -> bool:
    """Compare both searches for rows of `depth` features: ties, offsets, few and many pairs.

    The last radii reach the nearest row of another class, and not one bit more.
    """
    generator = torch.Generator().manual_seed(0)
    for n, dtype, offset in ((300, torch.float32, 0.0), (700, torch.float64, 1e6)):
        Z = torch.randn((n, depth), generator=generator, dtype=torch.float64)
        Z[::7] = Z[::7].round()
        Z[n // 2 : n // 2 + 20] = Z[:20]
        Z = (Z + offset).to(device, dtype)
        labels = torch.randint(0, 3, (n,), generator=generator).to(device)
        radius2 = torch.full((n,), float(depth), dtype=torch.float64, device=device)
        radius2[::11] = 0.0
        if not _same_pairs(Z, labels, radius2):
            return False
        radius2 *= 2.4
        if not _same_pairs(Z, labels, radius2):
            return False
        rows, _, sqdist = _torch_radius.within_radius_of_other_class(Z, labels, radius2)
        radius2.scatter_reduce_(0, rows, sqdist, "amin")
        if not _same_pairs(Z, labels, torch.nextafter(radius2, radius2 + 1)):
            return False
    return True


def _same_pairs(Z: Tensor, labels: Tensor, radius2: Tensor) -> bool:
    scan = _Scan.of(Z, labels, radius2)
    if scan is None:
        raise MemoryError("There is no memory for the check.")
    found = _search(scan, Z, radius2, None)
    expected = _torch_radius.within_radius_of_other_class(Z, labels, radius2)
    return all(torch.equal(*both) for both in zip(found, expected, strict=True))


CHECK = KernelCheck("the radius search", _agrees)
