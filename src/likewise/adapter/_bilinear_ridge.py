"""A similarity learned from products of rows, with the cosine as what is known beforehand."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse.linalg import LinearOperator, cg

from likewise._runtime.arrays import FloatArray
from likewise.adapter._directions import scaled

_RIDGE = 1.0  # in units of the mean diagonal of the Gram matrix
_DENSE_PRODUCTS = 4000  # up to so many, the system is solved by a Cholesky factorisation
_GRAM_ROWS = 256
_CG_TOLERANCE = 1e-4
_CG_STEPS = 200


def ridge_directions(
    first: FloatArray,
    second: FloatArray,
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
    first, second : arrays of shape (n, n_features)
        a and c.
    targets, weights : arrays of shape (n,)
    covariance : array of shape (n_features, n_features)
        Of the rows, which scales F.
    intercept : bool
        Whether the constant is fitted.
    """
    known = np.einsum("ij,ij->i", first, second)
    design = known[:, None]
    if intercept:
        design = np.column_stack([np.ones(len(known)), known])
    roots = np.sqrt(weights)
    coefficients = np.linalg.lstsq(design * roots[:, None], targets * roots, rcond=None)[0]
    residuals = targets - design @ coefficients
    multipliers = _solve(first, second, residuals, weights)
    form = (first * multipliers[:, None]).T @ second
    values, vectors = eigh((form + form.T) / 2)
    kept = values > 0
    return scaled((vectors[:, kept] * np.sqrt(values[kept])).T, covariance)


def _solve(
    first: FloatArray, second: FloatArray, residuals: FloatArray, weights: FloatArray
) -> FloatArray:
    """Solve ``(K + ridge / weights) α = residuals``."""
    diagonal = (_squares(first) * _squares(second) + _products(first, second) ** 2) / 2
    penalty = _RIDGE * float(diagonal.mean()) / weights
    if len(residuals) <= _DENSE_PRODUCTS:
        K = _gram(first, second)
        K[np.diag_indices(len(K))] += penalty
        # Its transpose, which is K, has the memory layout that is factorised in place.
        factor = cho_factor(K.T, lower=True, overwrite_a=True)
        return np.asarray(cho_solve(factor, residuals))

    def multiply(alpha: FloatArray) -> FloatArray:
        form = (first * alpha.ravel()[:, None]).T @ second
        return _products(first @ ((form + form.T) / 2), second) + penalty * alpha.ravel()

    n = len(residuals)
    operator = LinearOperator((n, n), matvec=multiply, dtype=np.float64)
    inverse = LinearOperator((n, n), matvec=lambda v: v.ravel() / (diagonal + penalty))
    solution, _ = cg(operator, residuals, rtol=_CG_TOLERANCE, maxiter=_CG_STEPS, M=inverse)
    return np.asarray(solution)


def _gram(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return K, of which only blocks of rows are in memory more than once."""
    K = np.empty((len(first), len(first)))
    for start in range(0, len(K), _GRAM_ROWS):
        part = slice(start, start + _GRAM_ROWS)
        K[part] = (first[part] @ first.T) * (second[part] @ second.T)
        K[part] += (first[part] @ second.T) * (second[part] @ first.T)
    K /= 2
    return K


def _products(A: FloatArray, B: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", A, B))


def _squares(A: FloatArray) -> FloatArray:
    return _products(A, A)
