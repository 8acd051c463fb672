"""Products and sums of tensors: those of `products`, `centring` and `spread`, on a device.

float32 products are float32 products: where PyTorch may use TF32, bfloat16 or float16 for them,
they are computed in float64. Blocks have a fixed size and are added in order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from likewise._numerics.centring import robust_centre
from likewise._numerics.spread import rounding_errors
from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.tensors import Tensor, tensor_like, to_numpy

_SUMMED_ROWS = 1 << 14
# Of a product over rows: small blocks keep the whole device busy, and lose little in float32. Their
# products have at most this many elements at a time, 64 MiB in float32; fewer blocks than that
# where they are small, because their rows may be copies in float64.
_BLOCK_ROWS, _BLOCKS_AT_ONCE, _BLOCK_PRODUCTS = 1 << 10, 1 << 8, 1 << 24


def product_dtype(dtype: Any) -> Any:
    """Return the type in which products keep the precision of `dtype`."""
    try:
        reduced = torch.get_float32_matmul_precision() != "highest"
    except RuntimeError:  # it was set by another interface, for each backend
        reduced = True
    # Autocast would round all but float64 to half precision.
    reduced |= torch.is_autocast_enabled("cuda") or torch.is_autocast_enabled("cpu")
    return torch.float64 if reduced else dtype


def map_tensor(X: Tensor, L: Array, precision: Any = None) -> Tensor:
    """Return ``X Lᵀ`` in the precision of X, computed in that or in a wider `precision`."""
    wide = X.dtype == torch.float64 or precision == np.float64
    precise = product_dtype(torch.float64 if wide else torch.float32)
    return (X.to(precise) @ tensor_like(L, X, precise).T).to(X.dtype)


def product_over_tensor_rows(left: Tensor, right: Tensor) -> Array:
    """Return ``leftᵀ right`` on the host: blocks in their precision, added in float64."""
    precise = product_dtype(right.dtype)
    total = torch.zeros((left.shape[1], right.shape[1]), dtype=torch.float64, device=right.device)
    n_rows = _BLOCK_ROWS * max(1, min(_BLOCKS_AT_ONCE, _BLOCK_PRODUCTS // max(1, total.numel())))
    for start in range(0, len(left), n_rows):
        part = slice(start, start + n_rows)
        here, there = left[part].to(precise), right[part].to(precise)
        whole = len(here) // _BLOCK_ROWS * _BLOCK_ROWS
        if whole:
            blocks = [rows[:whole].unflatten(0, (-1, _BLOCK_ROWS)) for rows in (here, there)]
            products = torch.bmm(blocks[0].transpose(1, 2), blocks[1])
            total += products.sum(dim=0, dtype=torch.float64)
        if whole < len(here):
            total += here[whole:].T @ there[whole:]
    return np.asarray(to_numpy(total))


def tensor_group_means(X: Tensor, groups: IndexArray) -> Array:
    """Return the mean of each group 0…g-1, in float64."""
    counts = np.bincount(groups)
    centre = tensor_like(robust_centre(X), X, torch.float64)
    groups_there = tensor_like(groups, X, torch.int64)
    order = torch.argsort(groups_there, stable=True)
    start = np.concatenate([[0], np.cumsum(counts)])
    sums = np.zeros((len(counts), X.shape[1]))
    # Rows of one group after the other: sums in a fixed order, whatever the device does at once.
    for group in np.flatnonzero(counts):
        for first in range(start[group], start[group + 1], _SUMMED_ROWS):
            part = order[first : min(first + _SUMMED_ROWS, start[group + 1])]
            sums[group] += to_numpy((X[part].double() - centre).sum(dim=0))
    return np.asarray(sums / counts[:, None] + to_numpy(centre))


def tensor_covariance(X: Tensor, means: Array, groups: IndexArray) -> Array:
    """Return the covariance within groups, in float64."""
    centres = tensor_like(means, X, torch.float64)
    groups_there = tensor_like(groups, X, torch.int64)
    total = torch.zeros((X.shape[1], X.shape[1]), dtype=torch.float64, device=X.device)
    for start in range(0, len(X), _SUMMED_ROWS):
        part = slice(start, start + _SUMMED_ROWS)
        centred = X[part].double() - centres[groups_there[part]]
        total += centred.T @ centred
    return np.asarray(to_numpy(total) / len(X))


def tensor_rms_scale(X: Tensor) -> float:
    """Return the root mean square of the centred features, 1 if that is zero."""
    centred = X.double() - X.mean(dim=0, dtype=torch.float64)
    largest = float(centred.abs().max()) or 1.0
    return largest * float((centred / largest).square().mean().sqrt()) or 1.0


def tensor_standard_deviations(X: Tensor) -> Array:
    """Return those of the features, 0 where they are within the rounding error."""
    means = X.mean(dim=0, dtype=torch.float64)
    squares = torch.zeros_like(means)
    for start in range(0, len(X), _SUMMED_ROWS):
        squares += X[start : start + _SUMMED_ROWS].double().square().sum(dim=0)
    variances = squares / max(1, len(X)) - means**2
    stds = np.array(to_numpy(variances.clamp(min=0).sqrt()))
    stds[stds <= rounding_errors(X)] = 0.0
    return stds


def centred_for_products(Z: Tensor, *others: Tensor) -> tuple[float, list[Tensor]]:
    """Return a power of two, and rows in float64, centred and multiplied by it to be at most 1.

    Squared distances of the rows are those of the given ones times the square of that power, up to
    rounding in float64.
    """
    centre = Z.mean(dim=0, dtype=torch.float64)
    rows = [given.double() - centre for given in (Z, *others)]
    widest = max((float(part.abs().max()) if part.numel() else 0.0) for part in rows)
    scale = 2.0 ** -float(np.clip(np.frexp(widest)[1], -500, 500)) if widest > 0 else 1.0
    return scale, [part.mul_(scale) for part in rows]
