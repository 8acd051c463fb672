"""Validation of the arguments of a search, and the choice of its algorithm."""

from typing import Any, Literal

import numpy as np

from likewise._runtime.arrays import FloatingArray
from likewise._runtime.blocks import require_in_memory
from likewise._runtime.text import quote

Algorithm = Literal["auto", "brute", "tree"]
ALGORITHMS = ("auto", "brute", "tree")


def use_tree(algorithm: str, faster: bool) -> bool:
    """Return whether to search by trees: as requested, or for "auto" where `faster` is true."""
    if algorithm not in ALGORITHMS:
        allowed = ", ".join(map(repr, ALGORITHMS))
        raise ValueError(
            f"algorithm={quote(algorithm)} is not allowed: it must be one of {allowed}."
        )
    return algorithm == "tree" or (algorithm == "auto" and faster)


def as_finite_matrix(name: str, values: Any) -> FloatingArray:
    """Return a finite C-contiguous matrix, float32 if it is one, else float64."""
    require_in_memory(values, name, "this search")
    given = np.asarray(values)
    dtype: type[np.floating[Any]] = np.float32 if given.dtype == np.float32 else np.float64
    matrix: FloatingArray = np.ascontiguousarray(given, dtype)
    if matrix.ndim != 2:
        raise ValueError(f"{name} must be a matrix, but its shape is {given.shape}.")
    largest = max(float(matrix.max(initial=0)), -float(matrix.min(initial=0)))  # keeps a NaN
    if not np.isfinite(largest):
        raise ValueError(f"{name} must be finite, but it holds NaN or infinity.")
    if largest > 1e150:
        raise ValueError(
            f"{name} must lie within ±1e150, where squared distances are finite, but it holds "
            f"{largest:.3g}."
        )
    return matrix
