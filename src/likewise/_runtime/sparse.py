"""Validation of the structure of sparse matrices, whose damaged indices would crash the process."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from likewise._runtime.arrays import Array


def check_sparse_structure(X: Any, name: str) -> None:
    """Raise an error if X is a sparse matrix with indices that do not lie inside it."""
    if sp.issparse(X):
        _check_indices(X, name)


def _check_indices(X: Any, name: str) -> None:
    n_rows, n_columns = X.shape
    if X.format == "coo":
        if not len(X.row) == len(X.col) == len(X.data):
            _raise_damaged(name, "it has not as many rows, columns and values")
        _check_inside(X.row, n_rows, name, "row")
        _check_inside(X.col, n_columns, name, "column")
    elif X.format in ("csr", "csc"):
        by_rows = X.format == "csr"
        _check_pointers(X, n_rows if by_rows else n_columns, name)
        used = X.indices[: X.indptr[-1]]
        if by_rows:
            _check_inside(used, n_columns, name, "column")
        else:
            _check_inside(used, n_rows, name, "row")
    elif X.format == "bsr":
        block_rows, block_columns = X.blocksize
        _check_pointers(X, n_rows // block_rows, name)
        _check_inside(X.indices[: X.indptr[-1]], n_columns // block_columns, name, "block column")


def _check_pointers(X: Any, n_groups: int, name: str) -> None:
    pointers = np.asarray(X.indptr)
    if pointers.dtype.kind not in "iu" or pointers.shape != (n_groups + 1,):
        _raise_damaged(name, f"indptr has shape {pointers.shape} instead of ({n_groups + 1},)")
    if pointers[0] != 0 or (pointers[1:] < pointers[:-1]).any():
        _raise_damaged(name, "indptr does not ascend from 0")
    if pointers[-1] > min(len(X.indices), len(X.data)):
        stored = min(len(X.indices), len(X.data))
        _raise_damaged(name, f"indptr ends with {pointers[-1]}, but {stored} values are stored")


def _check_inside(index: Array, size: int, name: str, kind: str) -> None:
    index = np.asarray(index)
    if index.dtype.kind not in "iu":
        _raise_damaged(name, f"it has {index.dtype} indices instead of integers")
    if index.size and (index.min() < 0 or index.max() >= size):
        wrong = index[(index < 0) | (index >= size)][0]
        _raise_damaged(name, f"it has {kind} index {wrong}, but {kind}s 0 to {size - 1}")


def _raise_damaged(name: str, what: str) -> None:
    raise ValueError(f"{name} is a damaged sparse matrix: {what}.")
