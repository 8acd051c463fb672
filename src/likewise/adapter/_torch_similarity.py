"""Images of tensors under a candidate map, their products, and what is found by them."""

from __future__ import annotations

import math

import torch

from likewise._numerics.torch_products import map_tensor
from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.tensors import Tensor, tensor_like, to_numpy

_BLOCK_VALUES = 1 << 22


def tensor_images(
    X: Tensor, mean: FloatArray, scale: float, weight: float, F: FloatArray, *, query: bool
) -> Tensor:
    """Return what `Candidate.images` returns for arrays, in the precision of X."""
    centred = X - tensor_like(mean, X)
    mapped = map_tensor(centred, F)
    if query:
        return centred / scale + weight * map_tensor(mapped, F.T)
    return torch.cat([centred / math.sqrt(scale), math.sqrt(weight) * mapped], dim=1)


def product_of_each(A: Tensor, B: Tensor) -> Tensor:
    """Return the product of each row of A and the same row of B, in float64."""
    products = torch.empty(len(A), dtype=torch.float64, device=A.device)
    n_rows = max(1, _BLOCK_VALUES // max(1, A.shape[1]))
    for start in range(0, len(A), n_rows):
        part = slice(start, start + n_rows)
        products[part] = (A[part].double() * B[part].double()).sum(dim=1)
    return products


def tensor_outcome(
    among: Tensor, to_reference: Tensor, codes: IndexArray, depth: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return average precisions, and numbers of right and of found pairs, of each row.

    Parameters
    ----------
    among : tensor of shape (n, n)
        Similarities of rows to each other.
    to_reference : tensor of shape (n, n_reference)
    codes : int array of shape (n,)
    depth : int
        A row is found if it is as similar as the reference row of this rank.
    """
    among.fill_diagonal_(-torch.inf)
    classes = tensor_like(codes, among, torch.int64)
    alike = classes[:, None] == classes
    alike.fill_diagonal_(False)
    least = torch.topk(to_reference, depth, dim=1).values[:, -1]
    found = among >= least[:, None]
    right = found & alike
    numbers = [pairs.sum(dim=0) + pairs.sum(dim=1) for pairs in (right, found)]
    precision, n_right, n_found = (
        to_numpy(values.double()) for values in (_average_precision(among, alike), *numbers)
    )
    return precision, n_right, n_found


def _average_precision(similarities: Tensor, alike: Tensor) -> Tensor:
    """Return the average precision of each row as a query; NaN if no row is like it."""
    order = torch.argsort(similarities, dim=1, descending=True, stable=True)[:, :-1]
    relevant = alike.gather(1, order)
    ranks = torch.arange(1, relevant.shape[1] + 1, dtype=torch.float64, device=order.device)
    precision = relevant.cumsum(dim=1, dtype=torch.float64) / ranks
    return (precision * relevant).sum(dim=1) / relevant.sum(dim=1)
