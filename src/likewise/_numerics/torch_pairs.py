"""Distances of pairs of rows, and sums over the pairs of a row, for tensors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import torch

from likewise._runtime.kernel_check import has_kernels
from likewise._runtime.tensors import Tensor, to_numpy

_GATHERED = 1 << 22  # elements of gathered rows at a time
_LANES = 8
_PART = 64  # entries that one program of a kernel adds up


def tensor_pair_sqdist(
    Z: Tensor, rows: Tensor, cols: Tensor, points: Tensor | None = None
) -> Tensor:
    """Return ``‖Z[rows] − points[cols]‖²`` in float64, with the bits of the loop `pair_sqdist`."""
    points = Z if points is None else points
    if has_kernels(Z.device):
        from likewise._numerics import triton_pairs

        if triton_pairs.SQDIST_CHECK.passes(Z.device, Z.shape[1], Z.dtype, points.dtype):
            return triton_pairs.pair_sqdist(Z, rows, cols, points)
    return gathered_sqdist(Z, rows, cols, points)


def gathered_sqdist(Z: Tensor, rows: Tensor, cols: Tensor, points: Tensor) -> Tensor:
    """Do what `tensor_pair_sqdist` does from rows gathered by PyTorch."""
    out = torch.empty(len(rows), dtype=torch.float64, device=Z.device)
    n_pairs = max(1, _GATHERED // max(1, Z.shape[1]))
    for start in range(0, len(rows), n_pairs):
        part = slice(start, start + n_pairs)
        diff = Z[rows[part]].double() - points[cols[part]].double()
        lanes = torch.zeros((len(diff), _LANES), dtype=torch.float64, device=Z.device)
        for k in range(0, diff.shape[1], _LANES):
            block = diff[:, k : k + _LANES]
            lanes[:, : block.shape[1]] += block * block
        half = lanes[:, :4] + lanes[:, 4:]
        quarter = half[:, :2] + half[:, 2:]
        out[part] = quarter[:, 0] + quarter[:, 1]
    return out


@dataclass(frozen=True, eq=False)
class Incidence:
    """Both ends of pairs, sorted by the row that a sum over pairs adds to.

    Attributes
    ----------
    starts : int64 tensor of shape (n_rows + 1,)
        The entries of row r are those from ``starts[r]`` to ``starts[r + 1]``.
    others : int64 tensor of shape (2 n_pairs,)
        The other row of the pair of each entry.
    pairs : int64 tensor of shape (2 n_pairs,)
        The number of the pair of each entry.
    """

    starts: Tensor
    others: Tensor
    pairs: Tensor

    @classmethod
    def of(cls, rows: Tensor, cols: Tensor, n_rows: int) -> Self:
        """Sort the ends of pairs; those of one row keep their order."""
        here, order = torch.sort(torch.cat([rows, cols]), stable=True)
        starts = torch.searchsorted(here, torch.arange(n_rows + 1, device=here.device))
        del here
        others = torch.cat([cols, rows])[order]
        return cls(starts, others, order % max(1, len(rows)))

    def product(self, Z: Tensor, weights: Tensor) -> Tensor:
        """Return ``Σ weight (Z[row] − Z[other])`` over the pairs of each row, in float64.

        The order of the sums is fixed.
        """
        if has_kernels(Z.device):
            from likewise._numerics import triton_pairs

            variant = triton_pairs.block_size(Z.shape[1]), Z.dtype
            if triton_pairs.LAPLACIAN_CHECK.passes(Z.device, *variant):
                return self.product_by_kernel(Z, weights)
        return self.gathered_product(Z, weights)

    def product_by_kernel(self, Z: Tensor, weights: Tensor) -> Tensor:
        """Do what `product` does by a kernel of Triton: rows in many pairs in several parts."""
        from likewise._numerics import triton_pairs

        sums = triton_pairs.sums_of_parts(Z, self._parts, self.others, weights[self.pairs])
        out = sums[: len(Z)]
        if len(self._parts.divided):
            out[self._parts.divided] = sum_segments(sums[len(Z) :], self._parts.offsets)
        return out

    @cached_property
    def _parts(self) -> Parts:
        return Parts.of(self.starts)

    def gathered_product(self, Z: Tensor, weights: Tensor) -> Tensor:
        """Do what `product` does from rows gathered by PyTorch."""
        weights = weights[self.pairs]
        kept = torch.nonzero(weights)[:, 0]
        # The first kept entry of each row: as many are kept before it as are below its start.
        starts = torch.searchsorted(kept, self.starts)
        weights, others = weights[kept], self.others[kept]
        out = torch.zeros(Z.shape, dtype=torch.float64, device=Z.device)
        for first, last, start, stop in _blocks(starts, max(1, _GATHERED // max(1, Z.shape[1]))):
            part = slice(start, stop)
            inside = starts[first : last + 1]
            here = Z[first:last].repeat_interleave(inside.diff(), dim=0, output_size=stop - start)
            diff = here.double() - Z[others[part]].double()
            diff *= weights[part, None]
            out[first:last] = sum_segments(diff, inside - start)
        return out


class Parts(NamedTuple):
    """Entries of rows cut into parts of at most `_PART` entries, so that all take about as long.

    Attributes
    ----------
    rows, starts, stops : int64 tensors of shape (n_parts,)
        The row of each part, and its entries.
    places : int64 tensor of shape (n_parts,)
        Where its sum goes: to its row, or behind all rows if that has several parts.
    divided : int64 tensor of shape (n_divided,)
        The rows with several parts.
    offsets : int64 tensor of shape (n_divided + 1,)
        Their sums behind all rows.
    """

    rows: Tensor
    starts: Tensor
    stops: Tensor
    places: Tensor
    divided: Tensor
    offsets: Tensor

    @classmethod
    def of(cls, starts: Tensor) -> Parts:
        """Cut rows whose entries begin at `starts`; a row without entries is one empty part."""
        n_rows = len(starts) - 1
        counts = ((starts.diff() + _PART - 1) // _PART).clamp(min=1)
        rows = torch.repeat_interleave(counts)
        first = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        number = torch.arange(len(rows), device=rows.device) - first[rows]
        part_starts = starts[rows] + number * _PART
        divided = torch.nonzero(counts > 1)[:, 0]
        of_divided = counts[rows] > 1
        places = torch.where(of_divided, n_rows - 1 + of_divided.cumsum(0), rows)
        offsets = torch.cat([counts.new_zeros(1), counts[divided].cumsum(0)])
        stops = torch.minimum(part_starts + _PART, starts[rows + 1])
        return cls(rows, part_starts, stops, places, divided, offsets)


def sum_segments(values: Tensor, offsets: Tensor) -> Tensor:
    """Return the sums of the rows of `values` from each offset to the next, in their order."""
    if not len(values):
        return values.new_zeros((len(offsets) - 1, values.shape[1]))
    return torch.segment_reduce(values, "sum", offsets=offsets, axis=0, unsafe=True, initial=0)


def _blocks(starts: Tensor, n_values: int) -> list[tuple[int, int, int, int]]:
    """Cut rows into blocks with few values: first and last row, first and last value.

    Row r has the values ``starts[r]`` to ``starts[r + 1]``. A row with more values than `n_values`
    is a block of its own.
    """
    ends = to_numpy(starts)
    blocks, first = [], 0
    while first < len(ends) - 1:
        last = int(np.searchsorted(ends, ends[first] + n_values, side="right")) - 1
        last = min(max(last, first + 1), len(ends) - 1)
        if ends[last] > ends[first]:
            blocks.append((first, last, int(ends[first]), int(ends[last])))
        first = last
    return blocks
