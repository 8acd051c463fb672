"""Rows of a stream of labelled events: what can be learned from, and what is said of the rest."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from likewise._loops.classifier_common import LONGEST2
from likewise._runtime.arrays import Array
from likewise._runtime.validation import check_finite


def is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix."""
    return bool(sp.issparse(X))


def canonical(X: Any) -> Any:
    """Return compressed rows in which no feature is stored twice."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def learnable(X: Any) -> bool:
    """Return whether all values are finite and not too large to be learned from."""
    values = X.data if is_sparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.vdot(values, values) <= LONGEST2)


def check_size(X: Any) -> None:
    """Complain of values that cannot be learned from."""
    if not learnable(X):
        refuse_size(X, "X")


def refuse_size(X: Any, name: str) -> NoReturn:
    """Complain of values that are not finite, or else of the largest."""
    check_finite(X, name)
    largest = np.abs(X.data if is_sparse(X) else X).max()
    raise ValueError(
        f"{name} holds values up to {largest:.3g}, but only rows of a length up to "
        f"{LONGEST2**0.5:.0e} can be learned from."
    )


def refuse_shape(row: Array, n_features: int | None) -> NoReturn:
    """Complain of a row that is not a vector of as many features as are known."""
    wanted = "at least one feature" if n_features is None else f"{n_features} features"
    raise ValueError(f"x has shape {row.shape}, but a vector of {wanted} is needed.")
