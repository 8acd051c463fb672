"""A similarity learned from products of rows, with the cosine as what is known beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse.linalg import LinearOperator, cg

from likewise._runtime.arrays import FloatArray
from likewise._runtime.tensors import is_tensor, to_numpy
from likewise.adapter._candidate import product_of_each
from likewise.adapter._directions import scaled

_RIDGE = 1.0  # in units of the mean diagonal of the Gram matrix
_DENSE_PRODUCTS = 4000  # up to so many, the system is solved by a Cholesky factorisation
_GRAM_ROWS = 256
_CG_TOLERANCE = 1e-4
_CG_STEPS = 200


def ridge_directions(
    first: Any,
    second: Any,
    targets: FloatArray,
    weights: FloatArray,
    covariance: FloatArray,
    *,
    intercept: bool,
) -> FloatArray | None:
    r"""Return directions from a bilinear form that is fitted to targets.

    The form :math:`a^\top (b_0 I + \Delta) c` of vectors a and c, plus a constant if `intercept`,
    is fitted by weighted ridge regression: first the two numbers, with the similarity as it is,
    then a symmetric :math:`\Delta` to what is left, with a penalty on its square. In the dual the
    Gram matrix of symmetric products is

    .. math:: K_{kl} = \tfrac12 \big( (a_k^\top a_l)(c_k^\top c_l)
              + (a_k^\top c_l)(c_k^\top a_l) \big) .

    The positive part of :math:`\Delta` is :math:`F^\top F`: directions along which similarity
    should count more.

    Parameters
    ----------
    first, second : arrays or tensors of shape (n, n_features)
        a and c, in float64.
    targets, weights : arrays of shape (n,)
    covariance : array of shape (n_features, n_features)
        Of the rows, which scales F.
    intercept : bool
        Whether the constant is fitted.
    """
    known = _products(first, second)
    design = known[:, None]
    if intercept:
        design = np.column_stack([np.ones(len(known)), known])
    roots = np.sqrt(weights)
    coefficients = np.linalg.lstsq(design * roots[:, None], targets * roots, rcond=None)[0]
    residuals = targets - design @ coefficients
    multipliers = _solve(first, second, residuals, weights)
    form = _weighted_form(first, second, multipliers)
    values, vectors = eigh((form + form.T) / 2)
    kept = values > 0
    return scaled((vectors[:, kept] * np.sqrt(values[kept])).T, covariance)


def _solve(first: Any, second: Any, residuals: FloatArray, weights: FloatArray) -> FloatArray:
    """Solve ``(K + ridge / weights) α = residuals``."""
    squares = _products(first, first) * _products(second, second)
    diagonal = (squares + _products(first, second) ** 2) / 2
    penalty = _RIDGE * float(diagonal.mean()) / weights
    if len(residuals) <= _DENSE_PRODUCTS:
        return _solve_densely(first, second, residuals, penalty)

    def multiply(alpha: FloatArray) -> FloatArray:
        return _multiply_by_gram(first, second, alpha.ravel()) + penalty * alpha.ravel()

    n = len(residuals)
    operator = LinearOperator((n, n), matvec=multiply, dtype=np.float64)
    inverse = LinearOperator((n, n), matvec=lambda v: v.ravel() / (diagonal + penalty))
    solution, _ = cg(operator, residuals, rtol=_CG_TOLERANCE, maxiter=_CG_STEPS, M=inverse)
    return np.asarray(solution)


def _solve_densely(
    first: Any, second: Any, residuals: FloatArray, penalty: FloatArray
) -> FloatArray:
    if is_tensor(first):
        from likewise.adapter import _torch_ridge

        return _torch_ridge.solve_densely(first, second, residuals, penalty)
    K = _gram(first, second)
    K[np.diag_indices(len(K))] += penalty
    # Its transpose, which is K, has the memory layout that is factorised in place.
    factor = cho_factor(K.T, lower=True, overwrite_a=True)
    return np.asarray(cho_solve(factor, residuals))


def _multiply_by_gram(first: Any, second: Any, alpha: FloatArray) -> FloatArray:
    """Return ``Kα`` without K."""
    if is_tensor(first):
        from likewise.adapter import _torch_ridge

        return _torch_ridge.multiply_by_gram(first, second, alpha)
    form = _weighted_form(first, second, alpha)
    return _products(first @ ((form + form.T) / 2), second)


def _weighted_form(first: Any, second: Any, alpha: FloatArray) -> FloatArray:
    """Return the weighted sum of the outer products of the rows, as an array."""
    if is_tensor(first):
        from likewise.adapter import _torch_ridge

        return np.asarray(to_numpy(_torch_ridge.weighted_form(first, second, alpha)))
    return np.asarray((first * alpha[:, None]).T @ second)


def _gram(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return K, of which only blocks of rows are in memory more than once."""
    K = np.empty((len(first), len(first)))
    for start in range(0, len(K), _GRAM_ROWS):
        part = slice(start, start + _GRAM_ROWS)
        K[part] = (first[part] @ first.T) * (second[part] @ second.T)
        K[part] += (first[part] @ second.T) * (second[part] @ first.T)
    K /= 2
    return K


def _products(A: Any, B: Any) -> FloatArray:
    return np.asarray(to_numpy(product_of_each(A, B)))
