"""Validation of what is given as a table of rows, before scikit-learn sees it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from likewise._runtime.sparse import check_sparse_structure
from likewise._runtime.text import quote


def check_table(X: Any, name: str) -> None:
    """Raise for what is no table of real numbers: scikit-learn's messages print the whole array."""
    dimensions = getattr(X, "ndim", None)
    if dimensions is None and isinstance(X, list | tuple) and not any(map(sp.issparse, X)):
        dimensions = 1 if not X or np.isscalar(X[0]) else 2
    if X is None or np.isscalar(X):
        raise ValueError(f"{name} is {quote(X)}, but a table of rows is needed.")
    check_no_tuples(getattr(X, "shape", ()), name)
    if dimensions is not None and dimensions != 2:
        raise ValueError(
            f"{name} has {dimensions} dimension{'' if dimensions == 1 else 's'}, but a table of "
            f"rows is needed (Reshape your data: {name}.reshape(1, -1) makes one row of a vector)."
        )
    if _is_complex(X):
        # scikit-learn's own checks look for the first words of the message.
        raise ValueError(
            f"Complex data not supported: {name} holds complex numbers, but only real ones are "
            "allowed."
        )
    check_sparse_structure(X, name)


def _is_complex(X: Any) -> bool:
    if isinstance(X, list | tuple):
        return any(isinstance(value, complex) for row in X if np.iterable(row) for value in row)
    return bool(getattr(getattr(X, "dtype", None), "kind", None) == "c")


def check_no_tuples(shape: tuple[int, ...], name: str) -> None:
    """Raise for pairs or triplets as an array of shape (n, 2, d) or (n, 3, d)."""
    method = {2: "fit_pairs", 3: "fit_triplets"}
    if len(shape) == 3 and shape[1] in method:
        n, width, n_features = shape
        raise ValueError(
            f"{name} has 3 dimensions {shape}, but tuples of rows are given by row numbers: "
            f"{method[width]} takes X = {name}.reshape(-1, {n_features}) and "
            f"np.arange({n * width}).reshape(-1, {width})."
        )
