"""Dicts of features as rows of numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from likewise._runtime.arrays import FloatArray
from likewise._runtime.text import list_some, quote

Features = Mapping[Hashable, float]
Columns = tuple[Hashable, ...]


def sorted_columns(names: Iterable[Hashable]) -> Columns:
    """Return the names of features in sorted order, by type first."""
    return tuple(sorted(names, key=lambda name: (type(name).__name__, name)))


def row_of(x: Features, columns: Columns) -> FloatArray:
    """Return the values of a dict as a row with the given columns; a missing one is 0."""
    unknown = [name for name in x if name not in columns]
    if unknown:
        raise ValueError(
            f"The feature {quote(unknown[0])} is new, but only those of the first event are "
            f"allowed: {list_some(map(quote, columns))}."
        )
    return np.array([x.get(name, 0.0) for name in columns], dtype=np.float64)


def sides_of(x: Any) -> tuple[Features, Features]:
    """Return the two dicts of a pair."""
    match x:
        case (Mapping() as first, Mapping() as second):
            return first, second
    raise ValueError(f"x must be a pair of dicts of features, but it is {quote(x)}.")
