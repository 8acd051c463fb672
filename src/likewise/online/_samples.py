"""Checks of the samples that an online classifier is given."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from likewise._loops.classifiers.types import MAX_SAMPLE_SQNORM
from likewise._runtime.arrays import Array, FloatArray, FloatingArray
from likewise._runtime.threads import run_blocks
from likewise._runtime.validation import check_finite

_SCORE_BLOCK = 4096  # samples scored at a time


def is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix."""
    return bool(sp.issparse(X))


def without_duplicates(X: Any) -> Any:
    """Return a CSR matrix in which no entry is stored twice."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def samples_in_range(X: Any) -> bool:
    """Return whether all values are finite and their squares can be summed."""
    values = X.data if is_sparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.vdot(values, values) <= MAX_SAMPLE_SQNORM)


def linear_scores(X: Any, coef: FloatArray, intercept: FloatArray) -> FloatingArray:
    """Return ``X @ coef.T + intercept`` in the precision of X, and finite."""
    scores = _products(X, coef.astype(X.dtype))
    scores += intercept.astype(X.dtype)
    if X.dtype == np.float32 and not np.isfinite(scores).all():
        largest = np.finfo(np.float32).max
        exact = _products(X.astype(np.float64), coef) + intercept
        scores = np.clip(exact, -largest, largest).astype(np.float32)
    return scores


def _products(X: Any, coef: FloatingArray) -> FloatingArray:
    if is_sparse(X):
        return np.asarray(X @ coef.T)
    products = np.empty((len(X), len(coef)), dtype=X.dtype)

    def block(start: int, stop: int) -> None:
        products[start:stop] = X[start:stop] @ coef.T

    with np.errstate(over="ignore", invalid="ignore"):
        run_blocks(block, len(X), _SCORE_BLOCK)
    return products


def check_range(X: Any) -> None:
    """Raise an error unless all samples are in range."""
    if not samples_in_range(X):
        raise_sample_out_of_range(X, "X")


def raise_sample_out_of_range(X: Any, name: str) -> NoReturn:
    """Raise an error about values that are not finite, or else about the largest one."""
    check_finite(X, name)
    largest = np.abs(X.data if is_sparse(X) else X).max()
    raise ValueError(
        f"{name} holds values up to {largest:.3g}, but only samples of length up to "
        f"{MAX_SAMPLE_SQNORM**0.5:.0e} can be learned from."
    )


def raise_wrong_shape(x: Array, n_features: int | None) -> NoReturn:
    """Raise an error about a sample that is not a vector of `n_features` features."""
    needed = "at least one feature" if n_features is None else f"{n_features} features"
    raise ValueError(f"x has shape {x.shape}, but a vector of {needed} is needed.")
