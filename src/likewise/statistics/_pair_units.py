"""The units that pairs share: items, or the subjects that they belong to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import BoolArray, FloatArray, IndexArray
from likewise._runtime.row_numbers import check_same_flags
from likewise._runtime.tensors import to_numpy
from likewise._runtime.text import quote
from likewise._runtime.validation import as_float_array


def check_scored_pairs(
    distances: ArrayLike, same: ArrayLike, name: str = "distances", *, both_kinds: bool = True
) -> tuple[FloatArray, BoolArray]:
    """Return finite distances and flags, of which both kinds are needed unless told otherwise."""
    values = as_float_array(distances, name)
    if values.ndim != 1:
        raise ValueError(f"{name} has shape {values.shape}, but one distance per pair is needed.")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite, but it has NaN or infinite values.")
    flags = check_same_flags(same, len(values))
    if both_kinds:
        require_both_kinds(flags)
    return values, flags


def require_both_kinds(flags: BoolArray, what: str = "same") -> None:
    """Raise an error unless there are same and different pairs."""
    if flags.all() or not flags.any():
        raise ValueError(
            f"{what} has {flags.sum()} same and {(~flags).sum()} different pairs, "
            "but at least one of each is needed."
        )


def check_items(items: Any, n_pairs: int | None = None, name: str = "items") -> Any:
    """Return the two item ids of each pair, numbers or text, which must differ."""
    try:
        ids = np.asarray(to_numpy(items))
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths, but needs two ids each.") from None
    expected = "(n_pairs, 2)" if n_pairs is None else f"({n_pairs}, 2)"
    if ids.ndim != 2 or ids.shape[1] != 2 or ids.shape[0] != (n_pairs or ids.shape[0]):
        raise ValueError(f"{name} has shape {ids.shape}, but {expected} is needed.")
    if not len(ids):
        raise ValueError(f"{name} is empty, but at least one pair is needed.")
    if ids.dtype.kind == "f":
        raise ValueError(f"{name} holds {ids.dtype} values, but ids must be integers or text.")
    if ids.dtype.kind not in "iu":
        _refuse_missing(ids.ravel(), name)
        ids = ids.astype(str)
    repeated = np.flatnonzero(ids[:, 0] == ids[:, 1])
    if len(repeated):
        where = repeated[0]
        raise ValueError(
            f"{name}[{where}] pairs item {quote(ids[where, 0])} with itself, but two different "
            "items are needed."
        )
    return ids


def check_groups(groups: ArrayLike, n_items: int, name: str = "groups") -> IndexArray:
    """Return one subject for each of `n_items` items, as codes 0, 1, …"""
    given = np.asarray(to_numpy(groups))
    if given.shape != (n_items,):
        raise ValueError(
            f"{name} has shape {given.shape}, but {n_items} items need shape ({n_items},)."
        )
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise ValueError(f"{name} must be finite, but it has NaN or infinite values.")
    if given.dtype.kind == "O":
        _refuse_missing(given, name)
        given = given.astype(str)
    return np.unique(given, return_inverse=True)[1].astype(np.int64)


def units_of_pairs(
    items: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    n_pairs: int | None = None,
    name: str = "items",
) -> IndexArray:
    """Return the units of each pair as codes: its items, or with groups their subjects.

    With `groups`, the ids must be positions in it. Both units of a pair within a subject are equal.
    """
    ids = check_items(items, n_pairs, name)
    if groups is None:
        return _codes(ids)
    shape = np.shape(groups)
    if len(shape) != 1:
        raise ValueError(f"groups has shape {shape}, but one subject per item is needed.")
    subjects = check_groups(groups, shape[0])
    outside = ids[(ids < 0) | (ids >= len(subjects))] if ids.dtype.kind in "iu" else ids.ravel()
    if len(outside):
        raise ValueError(
            f"{name} must be positions in groups, 0 to {len(subjects) - 1}, but it holds "
            f"{quote(outside[0])}."
        )
    of_pairs: IndexArray = subjects[ids]
    return of_pairs


def count_items(items: Any) -> int:
    """Return the number of different items in pairs."""
    return int(np.count_nonzero(np.bincount(_codes(check_items(items)).ravel())))


def _refuse_missing(values: Any, name: str) -> None:
    """Raise an error if a value is None, NaN or another that does not equal itself."""
    if values.dtype.kind != "O":
        return
    for value in values:
        equal = value == value  # not a truth value for pandas.NA
        if value is None or not isinstance(equal, bool | np.bool_) or not equal:
            raise ValueError(f"{name} holds {quote(value)}, but no value may be missing.")


def _codes(ids: Any) -> IndexArray:
    """Return numbers that are equal where ids are, and not much larger than there are ids."""
    if ids.dtype.kind in "iu":
        lowest = int(ids.min())
        if int(ids.max()) - lowest <= 4 * ids.size:
            return np.asarray(ids, dtype=np.int64) - lowest  # without sorting
    codes = np.unique(ids, return_inverse=True)[1]
    return codes.reshape(ids.shape).astype(np.int64)
