"""Distances of pairs of rows and sums over the pairs of a row, by kernels of Triton.

`torch_pairs` defines the results, and uses these where they were checked.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from likewise._numerics.torch_pairs import Incidence, Parts, gathered_sqdist
from likewise._runtime.kernel_check import KernelCheck
from likewise._runtime.tensors import Tensor

_PAIRS_PER_PROGRAM = 64
_PAIRS_AT_ONCE = 4  # most rows are in few pairs
_MAX_FEATURES = 64  # features of one program of the sums


def pair_sqdist(Z: Tensor, rows: Tensor, cols: Tensor, points: Tensor) -> Tensor:
    """Return ``‖Z[rows] − points[cols]‖²`` in float64, with the bits of `tensor_pair_sqdist`."""
    out = torch.empty(len(rows), dtype=torch.float64, device=Z.device)
    if len(rows):
        with torch.cuda.device_of(Z):
            _sqdist_kernel[(triton.cdiv(len(rows), _PAIRS_PER_PROGRAM),)](
                Z.contiguous(), points.contiguous(), rows.contiguous(), cols.contiguous(), out,
                len(rows),
                FEATURES=Z.shape[1], PAIRS=_PAIRS_PER_PROGRAM,
                num_warps=4, enable_fp_fusion=False,
            )  # fmt: skip
    return out


def sums_of_parts(Z: Tensor, parts: Parts, others: Tensor, weights: Tensor) -> Tensor:
    """Return ``Σ_e weights[e] (Z[r] − Z[others[e]])`` over the entries e of each part of a row r.

    The sums are float64, and added in an order that depends on the number of entries only.
    """
    n_rows, n_features = Z.shape
    n_sums = n_rows + int(parts.offsets[-1])
    out = torch.empty((n_sums, n_features), dtype=torch.float64, device=Z.device)
    block = block_size(n_features)
    if out.numel():
        with torch.cuda.device_of(Z):
            _sums_kernel[(len(parts.rows), triton.cdiv(n_features, block))](
                Z.contiguous(), parts.rows, parts.starts, parts.stops, parts.places, others,
                weights, out, n_features,
                FEATURES=block, AT_ONCE=_PAIRS_AT_ONCE,
                num_warps=1,
            )  # fmt: skip
    return out


def block_size(n_features: int) -> int:
    """Return the number of features that one program of the sums adds up."""
    return min(_MAX_FEATURES, int(triton.next_power_of_2(max(1, n_features))))


@triton.jit(do_not_specialize=["n_pairs"])
def _sqdist_kernel(
    Z_ptr, points_ptr, rows_ptr, cols_ptr, out_ptr, n_pairs,
    FEATURES: tl.constexpr, PAIRS: tl.constexpr,
):  # fmt: skip
    """Eight sums of every eighth feature, added in halves: the order of the loop `pair_sqdist`.

    Products must not be fused with additions: the bits are defined without.
    """
    pair = tl.program_id(0).to(tl.int64) * PAIRS + tl.arange(0, PAIRS)
    exists = pair < n_pairs
    first = tl.load(rows_ptr + pair, mask=exists, other=0) * FEATURES
    second = tl.load(cols_ptr + pair, mask=exists, other=0) * FEATURES
    lane = tl.arange(0, 8)
    sums = tl.zeros((PAIRS, 8), dtype=tl.float64)
    for k in range(0, FEATURES, 8):
        feature = k + lane
        mask = exists[:, None] & (feature < FEATURES)[None, :]
        a = tl.load(Z_ptr + first[:, None] + feature[None, :], mask=mask, other=0.0)
        b = tl.load(points_ptr + second[:, None] + feature[None, :], mask=mask, other=0.0)
        difference = a.to(tl.float64) - b.to(tl.float64)
        sums += difference * difference
    halves = tl.sum(tl.reshape(sums, (PAIRS, 2, 4)), axis=1)
    quarters = tl.sum(tl.reshape(halves, (PAIRS, 2, 2)), axis=1)
    tl.store(out_ptr + pair, tl.sum(quarters, axis=1), mask=exists)


@triton.jit
def _sums_kernel(
    Z_ptr, rows_ptr, starts_ptr, stops_ptr, places_ptr, others_ptr, weights_ptr, out_ptr,
    n_features,
    FEATURES: tl.constexpr, AT_ONCE: tl.constexpr,
):  # fmt: skip
    """Sum the weighted differences of one row to its others, for one block of features."""
    part = tl.program_id(0).to(tl.int64)
    feature = tl.program_id(1) * FEATURES + tl.arange(0, FEATURES)
    exists = feature < n_features
    row = tl.load(rows_ptr + part)
    entry = tl.load(starts_ptr + part)
    stop = tl.load(stops_ptr + part)
    here = tl.load(Z_ptr + row * n_features + feature, mask=exists, other=0.0).to(tl.float64)
    total = tl.zeros((AT_ONCE, FEATURES), dtype=tl.float64)
    while entry < stop:
        entries = entry + tl.arange(0, AT_ONCE)
        present = entries < stop
        weight = tl.load(weights_ptr + entries, mask=present, other=0.0)
        # Most pairs of a working set have no loss: their rows are not read.
        present &= weight != 0
        other = tl.load(others_ptr + entries, mask=present, other=0) * n_features
        mask = present[:, None] & exists[None, :]
        there = tl.load(Z_ptr + other[:, None] + feature[None, :], mask=mask, other=0.0)
        total += weight[:, None] * (here[None, :] - there.to(tl.float64))
        entry += AT_ONCE
    place = tl.load(places_ptr + part) * n_features
    tl.store(out_ptr + place + feature, tl.sum(total, axis=0), mask=exists)


def _sqdist_agrees(device: torch.device, n_features: int, dtype: Any, points_dtype: Any) -> bool:
    generator = torch.Generator().manual_seed(0)
    Z = torch.randn((90, n_features), generator=generator).to(device, dtype)
    rows, cols = torch.randint(0, 90, (2, 1001), generator=generator).to(device)
    points = (Z.flip(0) * 3).to(points_dtype)
    expected = gathered_sqdist(Z, rows, cols, points)
    return bool(torch.equal(pair_sqdist(Z, rows, cols, points), expected))


def _laplacian_agrees(device: torch.device, block: int, dtype: Any) -> bool:
    generator = torch.Generator().manual_seed(0)
    for n_features in (block, 2 * block + 1):
        Z = torch.randn((90, n_features), generator=generator).to(device, dtype)
        rows, cols = torch.randint(0, 80, (2, 1001), generator=generator).to(device)
        rows[:300] = 7
        incidence = Incidence.of(rows, cols, len(Z))
        weights = torch.randn(1001, generator=generator, dtype=torch.float64).to(device)
        weights[::3] = 0.0
        expected = incidence.gathered_product(Z, weights)
        found = incidence.product_by_kernel(Z, weights)
        if not torch.allclose(found, expected, rtol=1e-12, atol=1e-10):
            return False
    return True


SQDIST_CHECK = KernelCheck("distances of pairs", _sqdist_agrees)
LAPLACIAN_CHECK = KernelCheck("sums over pairs", _laplacian_agrees)
