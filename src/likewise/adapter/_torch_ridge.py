"""The system of a bilinear ridge regression, solved on the device of the rows."""

from __future__ import annotations

import numpy as np
import torch

from likewise._runtime.arrays import FloatArray
from likewise._runtime.tensors import Tensor, tensor_like, to_numpy
from likewise.adapter._torch_similarity import product_of_each


def solve_densely(
    first: Tensor, second: Tensor, residuals: FloatArray, penalty: FloatArray
) -> FloatArray:
    """Solve ``(K + diag(penalty)) α = residuals`` by a Cholesky factorisation."""
    K = (first @ first.T).mul_(second @ second.T)
    across = first @ second.T
    K += across * across.T
    del across
    K /= 2
    K.diagonal().add_(tensor_like(penalty, K))
    factor, failed = torch.linalg.cholesky_ex(K)
    if int(failed):
        raise np.linalg.LinAlgError("The matrix of products of rows is not positive definite.")
    return np.asarray(to_numpy(torch.cholesky_solve(tensor_like(residuals, K)[:, None], factor)))[
        :, 0
    ]


def multiply_by_gram(first: Tensor, second: Tensor, alpha: FloatArray) -> FloatArray:
    """Return ``Kα`` without K: only α and the result travel."""
    form = weighted_form(first, second, alpha)
    return np.asarray(to_numpy(product_of_each(first @ ((form + form.T) / 2), second)))


def weighted_form(first: Tensor, second: Tensor, alpha: FloatArray) -> Tensor:
    """Return the weighted sum of the outer products of the rows."""
    return (first * tensor_like(alpha, first)[:, None]).T @ second
