"""All points of another class within a radius, for tensors."""

from __future__ import annotations

from typing import Any

import torch

from likewise._loops.distances.types import BYTES_PER_PAIR, TooManyPairs
from likewise._numerics.torch_pairs import tensor_pair_sqdist
from likewise._numerics.torch_products import (
    centred_for_products,
    product_dtype,
)
from likewise._runtime.configuration import max_working_bytes
from likewise._runtime.memory import allowed_memory
from likewise._runtime.tensors import Tensor, free_device_memory, tile_elements

_ROWS_PER_TILE = 4096  # at most: few rows keep the sort of their pairs small


def within_radius_of_other_class(
    Z: Tensor, labels: Tensor, radius2: Tensor, *, max_pairs: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Do what `neighbors.within_radius_of_other_class` does, on the device of the tensors.

    Parameters
    ----------
    Z : tensor of shape (n, d), float32 or float64
    labels : int64 tensor of shape (n,)
    radius2 : float64 tensor of shape (n,)
    max_pairs : int or None

    Returns
    -------
    rows, cols : int64 tensors of shape (m,), sorted by row, then by column
    sqdist : float64 tensor of shape (m,)

    Notes
    -----
    Tiles of products propose, differences in float64 decide. With a, b the centred rows, which are
    at most 1 in each feature, u the unit roundoff of the products and r the radius of a, a pair is
    inside if ``2ab > ‖a‖² + ‖b‖² - r``. The computed product is off by at most

    ``(γ_d + 2u + u²) ‖a‖‖b‖ ≤ (γ_d + 2u + u²)(‖a‖² + ‖b‖²)/2``, ``γ_d = du/(1 - du)``,

    in any order of summation; the halves ``(‖a‖² - r)/2`` and ``‖b‖²/2``, rounded to the type of
    the products, and their sum by ``u(‖a‖² + ‖b‖² + r)``; centring and squared norms, in float64,
    by ``(d/2 + 2) 2⁻⁵³ (‖a‖² + ‖b‖²)``. All of it is below ``ε(‖a‖² + ‖b‖² + r)/2`` for
    ``ε = 2(d + 8)u`` and, in float32, ``du ≤ 1/4``; each half is reduced by its share. What
    underflows is below ``2⁻¹⁰⁰`` in total, which is subtracted as well. Exact distances are not
    scaled: each of their d squares may underflow, by half of 2⁻¹⁰⁷⁴.
    """
    n = len(Z)
    limit = PairLimit(max_pairs, Z)
    precise = product_dtype(Z.dtype)
    slack = 2 * (Z.shape[1] + 8) * torch.finfo(precise).eps / 2
    if slack > 0.5:
        precise, slack = torch.float64, (Z.shape[1] + 8) * torch.finfo(torch.float64).eps
    scale, (centred,) = centred_for_products(Z)
    squares = centred.square().sum(dim=1)
    radii = (radius2 + Z.shape[1] * 2.0**-1074) * scale * scale
    halves = squares * ((1 - slack) / 2)
    lowest = (halves - radii * ((1 + slack) / 2) - 2.0**-100).to(precise)
    halves, centred = halves.to(precise), centred.to(precise)
    asking = torch.nonzero(radius2 > 0)[:, 0]
    others = _rows_of_other_classes(labels, asking)
    if not len(others):
        asking = asking[:0]
    points = (centred, halves, labels)
    if len(others) < n:
        points = (centred[others], halves[others], labels[others])
    tile = tile_elements(Z.device)
    n_rows = max(1, min(_ROWS_PER_TILE, tile // max(1, min(len(others), tile))))
    n_cols = max(1, tile // n_rows)
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    for first in range(0, len(asking), n_rows):
        rows = asking[first : first + n_rows]
        parts = []
        for left in range(0, len(others), n_cols):
            there, halves_there, labels_there = (part[left : left + n_cols] for part in points)
            products = centred[rows] @ there.T
            near = products >= lowest[rows, None] + halves_there
            near &= labels[rows, None] != labels_there
            local, cols = torch.nonzero(near, as_tuple=True)
            del products, near
            pairs = rows[local], others[cols + left]
            sqdist = tensor_pair_sqdist(Z, *pairs)
            inside = sqdist < radius2[pairs[0]]
            parts.append((pairs[0][inside], pairs[1][inside], sqdist[inside]))
            limit.add(len(parts[-1][0]))
        together = [torch.cat(part) for part in zip(*parts, strict=True)]
        if len(parts) > 1:
            order = torch.argsort(together[0] * n + together[1])
            together = [part[order] for part in together]
        found.append((together[0], together[1], together[2]))
    if not found:
        nothing = torch.empty(0, dtype=torch.int64, device=Z.device)
        return nothing, nothing, torch.empty(0, dtype=torch.float64, device=Z.device)
    all_rows, all_cols, all_sqdist = (torch.cat(part) for part in zip(*found, strict=True))
    return all_rows, all_cols, all_sqdist


def _rows_of_other_classes(labels: Tensor, asking: Tensor) -> Tensor:
    """Return the rows that may be found: all, or those of other classes if one class asks."""
    asked = labels[asking]
    if len(asking) and bool((asked == asked[0]).all()):
        return torch.nonzero(labels != asked[0])[:, 0]
    return torch.arange(len(labels), device=labels.device)


def checked(Z: Tensor, labels: Any, radius2: Any) -> tuple[Tensor, Tensor]:
    """Return labels and radii as tensors beside Z, or say what is wrong with one of the three."""
    if Z.ndim != 2 or Z.dtype not in (torch.float32, torch.float64):
        raise ValueError(
            f"Z must be a float32 or float64 matrix, but it is {Z.dtype} of shape {tuple(Z.shape)}."
        )
    if not bool(torch.isfinite(Z).all()):
        raise ValueError("Z must be finite, but it holds NaN or infinity.")
    codes = torch.as_tensor(labels, device=Z.device)
    if codes.is_floating_point() or codes.is_complex():
        raise ValueError(f"labels must be integer codes, but they are {codes.dtype}.")
    radii = torch.as_tensor(radius2, dtype=torch.float64, device=Z.device)
    radii = radii.expand(len(Z)) if radii.ndim == 0 else radii
    for name, values in (("labels", codes), ("radius2", radii)):
        if values.shape != (len(Z),):
            raise ValueError(
                f"{name} must hold {len(Z)} values, one per row of Z, not {values.numel()}."
            )
    if bool(radii.isnan().any()):
        raise ValueError("radius2 must not hold NaN, but it does.")
    return codes.to(torch.int64), radii


class PairLimit:
    """The number of pairs that may be found: the caller's limit, and that of the memory.

    Parameters
    ----------
    max_pairs : int or None
    Z : tensor
        The rows, whose device has the memory.
    bytes_per_pair : int
        What a pair takes until it is returned.
    """

    def __init__(
        self, max_pairs: int | None, Z: Tensor, bytes_per_pair: int = BYTES_PER_PAIR
    ) -> None:
        self.wanted, self.found = max_pairs, 0
        known = [n for n in (free_device_memory(Z.device), max_working_bytes()) if n is not None]
        if Z.device.type != "cuda":
            known.append(allowed_memory() or 2**63)
        self.most = min(known) // bytes_per_pair

    def add(self, number: int) -> None:
        """Count further pairs; raise if they are too many."""
        self.found += number
        if self.wanted is not None and self.found > self.wanted:
            raise TooManyPairs(self.wanted)
        if self.found > self.most:
            raise MemoryError(
                f"The radius search found more than {self.most} pairs, which is all that fits in "
                "the free memory, or in max_memory; make the radii smaller or pass max_pairs."
            )
