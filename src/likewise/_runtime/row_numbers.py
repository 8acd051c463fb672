"""Validation of what goes with rows: their numbers and weights, and the flags of pairs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from likewise._runtime.arrays import BoolArray, FloatArray, IndexArray
from likewise._runtime.tables import check_no_tuples
from likewise._runtime.tensors import to_numpy
from likewise._runtime.text import quote


def check_row_numbers(given: Any, name: str, width: int, n_rows: int) -> IndexArray:
    """Return validated row numbers into X, `width` different ones per row."""
    check_no_tuples(getattr(given, "shape", ()), name)
    index = as_integers(given, name)
    if not index.size:
        raise ValueError(f"{name} is empty, but at least one row of {width} numbers is needed.")
    if index.ndim != 2 or index.shape[1] != width:
        raise ValueError(f"{name} has shape {index.shape}, but (n, {width}) is needed.")
    outside = (index < 0) | (index >= n_rows)
    if outside.any():
        raise ValueError(
            f"{name} holds row number {index[outside][0]}, but X has rows 0 to {n_rows - 1}."
        )
    for left, right in itertools.combinations(range(width), 2):
        twice = np.flatnonzero(index[:, left] == index[:, right])
        if len(twice):
            raise ValueError(
                f"{name}[{twice[0]}] names row {index[twice[0], left]} twice, but its rows must be "
                "different."
            )
    return index


def as_integers(given: Any, name: str) -> IndexArray:
    """Return integers as int64; floats raise an error, even if integral."""
    try:
        numbers = np.asarray(to_numpy(given))
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths, but needs a table.") from None
    if numbers.size and numbers.dtype.kind not in "iu":
        raise ValueError(f"{name} holds {numbers.dtype} values, but row numbers must be integers.")
    return np.ascontiguousarray(numbers, dtype=np.int64)


def check_same_flags(same: Any, n_pairs: int) -> BoolArray:
    """Return `same` as booleans, from True/False, 1/0 or the papers' 1/-1."""
    flags = np.asarray(to_numpy(same))
    if flags.shape != (n_pairs,):
        raise ValueError(
            f"same has shape {flags.shape}, but {n_pairs} pairs need shape ({n_pairs},)."
        )
    if flags.dtype == np.bool_:
        return flags
    numeric = flags.dtype.kind in "iuf"
    known = np.isin(flags, (-1, 0, 1)) if numeric else np.zeros(n_pairs, dtype=bool)
    if not known.all():
        raise ValueError(
            f"same holds {quote(flags[~known][0])}, but only True/False, 1/0 or 1/-1 are allowed."
        )
    if (flags == 0).any() and (flags == -1).any():
        raise ValueError("same holds both 0 and -1, but only one of them may mean different.")
    return np.asarray(flags > 0)


def check_weights(given: Any, name: str, n_rows: int) -> FloatArray:
    """Return finite non-negative weights, not all zero; None gives every row weight 1."""
    if given is None:
        return np.ones(n_rows)
    try:
        weights = np.asarray(to_numpy(given), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold one number per row, but it does not.") from None
    if weights.shape != (n_rows,):
        raise ValueError(
            f"{name} has shape {weights.shape}, but {n_rows} rows need shape ({n_rows},)."
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError(
            f"{name} must be finite, not negative and not zero everywhere, but it is not."
        )
    return weights
