"""Stochastic neighbours of all samples by two fused kernels of Triton, in single precision.

No product leaves the chip: the first kernel sums the softmax of a row while its products are made,
as flash attention does, and the second one makes them again for the gradient.
`torch_softmax_neighbours` defines the results, and uses this for rows of float32.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl

from likewise._runtime.kernel_check import KernelCheck
from likewise._runtime.tensors import Tensor, tile_elements

_MAX_DEPTH = 256
# Exponents are off by some 2⁻²² of it: in the worst case by a hundredth, mostly by 10⁻⁴.
_MAX_SQNORM = 4096.0
_LARGEST = 14  # entries are below two to this power
_WEIGHT_SCALE = 2.0**14  # weights are at most 2, and small ones are not lost in float16
_CHUNK = 2048  # columns whose sums are kept in float32; rows are padded to a multiple of it
# Tiles of both kernels, the fastest first: rows, columns, warps, and tiles loaded ahead.
_PROBABILITY_TILES = ((64, 128, 4, 1), (128, 64, 8, 2), (128, 32, 8, 2), (64, 32, 4, 2))
_SUM_TILES = ((128, 64, 8, 2), (128, 32, 8, 2), (64, 32, 4, 2), (64, 16, 4, 1))
_STATIC_SHARED = 2048  # bytes of shared memory that a program may need beside its tiles
_INTERPRETED_SHARED = 1 << 17
_LEAST_SHARED = 99 << 10  # of the GPUs that have kernels; PyTorch tells only from 2.7 on
_PARTIAL_SUMS = 1 << 27  # sums of chunks at a time, 512 MiB


class _Halves(NamedTuple):
    """Rows z as sums of two float16 numbers, multiplied by `scale`.

    With h the nearest float16 number and l the nearest to the rest, h + l differs from the entry by
    at most ``2⁻²²`` of it, or ``2⁻³⁷`` of the largest entry. Products h·h + h·l + l·h so have the
    precision of float32 products, from tensor cores. `scale` is a power of two times
    ``√(2 log₂ e)``: products times `unit`, another power of two, minus both squared norms are
    ``-‖z_i - z_j‖² log₂ e``.
    """

    high: Tensor
    low: Tensor
    sqnorms: Tensor
    scale: float
    unit: float

    @classmethod
    def of(cls, Z: Tensor) -> _Halves:
        n, n_features = Z.shape
        shape = (-(-n // _CHUNK) * _CHUNK, sum(depths(n_features)))
        largest = float(Z.abs().max())
        exponent = min(_LARGEST - 1 - math.frexp(largest)[1], 500) if largest > 0 else 0
        scale = math.ldexp(math.sqrt(2 * math.log2(math.e)), exponent)
        unit = math.ldexp(1.0, -2 * exponent)
        rows = Z.double() * scale
        high, low = torch.zeros((2, *shape), dtype=torch.float16, device=Z.device)
        high[:n, :n_features] = rows.half()
        low[:n, :n_features] = (rows - high[:n, :n_features].double()).half()
        rounded = high[:n, :n_features].double() + low[:n, :n_features].double()
        # Samples that only fill a tile are infinitely far away.
        sqnorms = torch.full(shape[:1], torch.inf, dtype=torch.float32, device=Z.device)
        sqnorms[:n] = rounded.square_().sum(dim=1) * (unit / 2)
        return cls(high, low, sqnorms, scale, unit)


def depths(n_features: int) -> tuple[int, int]:
    """Return the sizes of the one or two blocks that hold the features; the second may be 0."""
    if n_features <= 128:
        return max(16, triton.next_power_of_2(n_features)), 0
    return 128, max(16, triton.next_power_of_2(n_features - 128))


def fitting_tile(
    tiles: tuple[tuple[int, int, int, int], ...], depth: int, device: torch.device
) -> dict[str, int]:
    """Return the first tile whose rows and columns the shared memory of the device holds."""
    shared = _INTERPRETED_SHARED
    if device.type == "cuda":
        shared = getattr(
            torch.cuda.get_device_properties(device), "shared_memory_per_block_optin", _LEAST_SHARED
        )
    for tile in tiles:
        rows, cols, _, n_stages = tile
        if 4 * depth * (rows + n_stages * cols) + _STATIC_SHARED <= shared:
            break
    return dict(zip(("BLOCK_ROWS", "BLOCK_COLS", "num_warps", "num_stages"), tile, strict=True))


def fits(Z: Tensor) -> bool:
    """Return whether the kernels take so many features, and are accurate for such norms."""
    return 0 < Z.shape[1] <= _MAX_DEPTH and float(Z.square().sum(dim=1).max()) <= _MAX_SQNORM


def probability_and_product(Z: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
    """Return ``p_i`` and the rows ``Σ_j (w_ij + w_ji)(z_i - z_j)``, in float64.

    Parameters
    ----------
    Z : tensor of shape (n_samples, n_components)
    classes : int64 tensor of shape (n_samples,)

    Notes
    -----
    ``w_ij = p_ij ([y_i = y_j] - p_i)``. Both directions of a pair have the same product, so that
    one tile of ``w + wᵀ`` and one product with Z serve both sums of the gradient. A weight rounded
    to two float16 numbers multiplies z_i and z_j alike, but for ``2⁻²²`` of it, so that little is
    lost to cancellation. Tensor cores cut off the sums, so that they are added to float64 after
    every few thousand columns.
    """
    n, n_features = Z.shape
    halves = _Halves.of(Z)
    n_padded, depth = halves.high.shape
    first, second = depths(n_features)
    codes = torch.full((n_padded,), -1, dtype=torch.int32, device=Z.device)
    codes[:n] = classes
    single = {"dtype": torch.float32, "device": Z.device}
    logsumexp = torch.full((n_padded,), torch.inf, **single)
    probability = torch.zeros((n_padded,), **single)
    given = (halves.high, halves.low, halves.sqnorms, codes, logsumexp, probability)
    sizes = {"FIRST": first, "SECOND": second}
    n_chunks = n_padded // _CHUNK
    # Chunks of one launch, whose sums are held together.
    most = min(_PARTIAL_SUMS, tile_elements(Z.device))
    together = max(1, min(n_chunks, most // (n_padded * depth)))
    partial = torch.empty((together, n_padded, depth), **single)
    partial_totals = torch.empty((together, n_padded), **single)
    sums = torch.zeros((n_padded, depth), dtype=torch.float64, device=Z.device)
    totals = torch.zeros((n_padded,), dtype=torch.float64, device=Z.device)
    with torch.cuda.device_of(Z):
        tile = fitting_tile(_PROBABILITY_TILES, depth, Z.device)
        _probability_kernel[(n_padded // tile["BLOCK_ROWS"],)](
            *given, n, n_padded, halves.unit, CHUNK=_CHUNK, **sizes, **tile
        )
        tile = fitting_tile(_SUM_TILES, depth, Z.device)
        for first_chunk in range(0, n_chunks, together):
            launched = min(together, n_chunks - first_chunk)
            _sums_kernel[(n_padded // tile["BLOCK_ROWS"], launched)](
                *given, partial, partial_totals, first_chunk, n_padded, halves.unit,
                CHUNK=_CHUNK, WEIGHT_SCALE=_WEIGHT_SCALE, **sizes, **tile,
            )  # fmt: skip
            sums += partial[:launched].sum(dim=0, dtype=torch.float64)
            totals += partial_totals[:launched].sum(dim=0, dtype=torch.float64)
    product = totals[:n, None] * (halves.high[:n].double() + halves.low[:n].double()) - sums[:n]
    product *= 1 / (_WEIGHT_SCALE * halves.scale)
    return probability[:n].double(), product[:, :n_features]


@triton.jit
def _load(ptr, rows, START: tl.constexpr, WIDTH: tl.constexpr, DEPTH: tl.constexpr):
    features = START + tl.arange(0, WIDTH)
    return tl.load(ptr + rows.to(tl.int64)[:, None] * DEPTH + features[None, :])


@triton.jit
def _products(high, low, other_high, other_low, products):
    """Add the products of two blocks of rows, the small terms first."""
    other_high, other_low = tl.trans(other_high), tl.trans(other_low)
    products = tl.dot(low, other_high, products)
    products = tl.dot(high, other_low, products)
    return tl.dot(high, other_high, products)


@triton.jit(do_not_specialize=["n_samples"])
def _probability_kernel(
    high_ptr, low_ptr, sqnorms_ptr, codes_ptr, logsumexp_ptr, probability_ptr,
    n_samples, n_padded, unit,
    CHUNK: tl.constexpr, FIRST: tl.constexpr, SECOND: tl.constexpr,
    BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr,
):  # fmt: skip
    """Store ``log₂ Σ_j 2^(-d_ij)`` plus the own squared norm, and p, of a block of rows."""
    DEPTH: tl.constexpr = FIRST + SECOND
    top = tl.program_id(0) * BLOCK_ROWS
    rows = top + tl.arange(0, BLOCK_ROWS)
    high = _load(high_ptr, rows, 0, FIRST, DEPTH)
    low = _load(low_ptr, rows, 0, FIRST, DEPTH)
    if SECOND:
        high_2 = _load(high_ptr, rows, FIRST, SECOND, DEPTH)
        low_2 = _load(low_ptr, rows, FIRST, SECOND, DEPTH)
    own = tl.load(codes_ptr + rows)
    # No maximum is below it, so that differences are never those of two infinities.
    largest = tl.full((BLOCK_ROWS,), -1.0e30, dtype=tl.float32)
    total = tl.zeros((BLOCK_ROWS,), dtype=tl.float32)
    same = tl.zeros((BLOCK_ROWS,), dtype=tl.float32)
    start = 0
    while start < n_padded:
        for step in range(0, CHUNK, BLOCK_COLS):
            left = start + step
            cols = left + tl.arange(0, BLOCK_COLS)
            products = tl.zeros((BLOCK_ROWS, BLOCK_COLS), dtype=tl.float32)
            if SECOND:
                col_high_2 = _load(high_ptr, cols, FIRST, SECOND, DEPTH)
                col_low_2 = _load(low_ptr, cols, FIRST, SECOND, DEPTH)
                products = _products(high_2, low_2, col_high_2, col_low_2, products)
            col_high = _load(high_ptr, cols, 0, FIRST, DEPTH)
            col_low = _load(low_ptr, cols, 0, FIRST, DEPTH)
            products = _products(high, low, col_high, col_low, products)
            exponent = products * unit - tl.load(sqnorms_ptr + cols)[None, :]
            if (left < top + BLOCK_ROWS) & (left + BLOCK_COLS > top):
                exponent = tl.where(rows[:, None] == cols[None, :], float("-inf"), exponent)
            higher = tl.maximum(largest, tl.max(exponent, axis=1))
            weight = tl.exp2(exponent - higher[:, None])
            shrink = tl.exp2(largest - higher)
            same_class = own[:, None] == tl.load(codes_ptr + cols)[None, :]
            total = total * shrink + tl.sum(weight, axis=1)
            same = same * shrink + tl.sum(tl.where(same_class, weight, 0.0), axis=1)
            largest = higher
        start += CHUNK
    inside = rows < n_samples
    tl.store(logsumexp_ptr + rows, largest + tl.log2(total), mask=inside)
    tl.store(probability_ptr + rows, same / total, mask=inside)


@triton.jit(do_not_specialize=["first_chunk"])
def _sums_kernel(
    high_ptr, low_ptr, sqnorms_ptr, codes_ptr, logsumexp_ptr, probability_ptr, sums_ptr, totals_ptr,
    first_chunk, n_padded, unit,
    CHUNK: tl.constexpr, WEIGHT_SCALE: tl.constexpr, FIRST: tl.constexpr, SECOND: tl.constexpr,
    BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr,
):  # fmt: skip
    """Store ``Σ_j (w_ij + w_ji) z_j`` and ``Σ_j (w_ij + w_ji)`` of rows over a chunk of columns."""
    DEPTH: tl.constexpr = FIRST + SECOND
    top = tl.program_id(0) * BLOCK_ROWS
    rows = top + tl.arange(0, BLOCK_ROWS)
    high = _load(high_ptr, rows, 0, FIRST, DEPTH)
    low = _load(low_ptr, rows, 0, FIRST, DEPTH)
    if SECOND:
        high_2 = _load(high_ptr, rows, FIRST, SECOND, DEPTH)
        low_2 = _load(low_ptr, rows, FIRST, SECOND, DEPTH)
    own = tl.load(codes_ptr + rows)
    sqnorm, logsumexp = tl.load(sqnorms_ptr + rows), tl.load(logsumexp_ptr + rows)
    probability = tl.load(probability_ptr + rows)
    start = (first_chunk + tl.program_id(1)) * CHUNK
    sums = tl.zeros((BLOCK_ROWS, FIRST), dtype=tl.float32)
    if SECOND:
        sums_2 = tl.zeros((BLOCK_ROWS, SECOND), dtype=tl.float32)
    total = tl.zeros((BLOCK_ROWS,), dtype=tl.float32)
    for step in range(0, CHUNK, BLOCK_COLS):
        left = start + step
        cols = left + tl.arange(0, BLOCK_COLS)
        products = tl.zeros((BLOCK_ROWS, BLOCK_COLS), dtype=tl.float32)
        if SECOND:
            col_high_2 = _load(high_ptr, cols, FIRST, SECOND, DEPTH)
            col_low_2 = _load(low_ptr, cols, FIRST, SECOND, DEPTH)
            products = _products(high_2, low_2, col_high_2, col_low_2, products)
        col_high = _load(high_ptr, cols, 0, FIRST, DEPTH)
        col_low = _load(low_ptr, cols, 0, FIRST, DEPTH)
        products = _products(high, low, col_high, col_low, products) * unit
        col_sqnorm, col_logsumexp = tl.load(sqnorms_ptr + cols), tl.load(logsumexp_ptr + cols)
        col_probability = tl.load(probability_ptr + cols)
        of_row = tl.exp2(products - col_sqnorm[None, :] - logsumexp[:, None])
        of_column = tl.exp2(products - sqnorm[:, None] - col_logsumexp[None, :])
        same_class = own[:, None] == tl.load(codes_ptr + cols)[None, :]
        weight = tl.where(same_class, of_row + of_column, 0.0)
        weight -= of_row * probability[:, None] + of_column * col_probability[None, :]
        if (left < top + BLOCK_ROWS) & (left + BLOCK_COLS > top):
            weight = tl.where(rows[:, None] == cols[None, :], 0.0, weight)
        weight *= WEIGHT_SCALE
        weight_high = weight.to(tl.float16)
        weight_low = (weight - weight_high.to(tl.float32)).to(tl.float16)
        total += tl.sum(weight_high.to(tl.float32) + weight_low.to(tl.float32), axis=1)
        sums = tl.dot(weight_low, col_high, sums)
        sums = tl.dot(weight_high, col_low, sums)
        sums = tl.dot(weight_high, col_high, sums)
        if SECOND:
            sums_2 = tl.dot(weight_low, col_high_2, sums_2)
            sums_2 = tl.dot(weight_high, col_low_2, sums_2)
            sums_2 = tl.dot(weight_high, col_high_2, sums_2)
    place = tl.program_id(1).to(tl.int64) * n_padded + rows
    tl.store(totals_ptr + place, total)
    place = sums_ptr + place[:, None] * DEPTH
    tl.store(place + tl.arange(0, FIRST)[None, :], sums)
    if SECOND:
        tl.store(place + FIRST + tl.arange(0, SECOND)[None, :], sums_2)


def _agrees(device: torch.device, first: int, second: int) -> bool:
    from likewise.objectives.torch_softmax_neighbours import TorchSoftmaxNeighbours

    generator = torch.Generator().manual_seed(0)
    n_features = first + second
    for n_samples, size in ((5, 1.0), (_CHUNK + 300, 3.0)):
        Z = torch.randn((n_samples, n_features), generator=generator, dtype=torch.float64)
        Z *= size / math.sqrt(n_features)
        Z[: n_samples // 3] = Z[-(n_samples // 3) :] + 0.1
        classes = torch.randint(0, 3, (n_samples,), generator=generator).to(device)
        Z = Z.to(device)
        expected = TorchSoftmaxNeighbours(Z, classes).sums_in_tiles(Z)
        for ours, theirs in zip(probability_and_product(Z, classes), expected, strict=True):
            if not torch.allclose(ours, theirs, rtol=1e-4, atol=1e-5 * float(theirs.abs().max())):
                return False
    return True


CHECK = KernelCheck("stochastic neighbours", _agrees)
