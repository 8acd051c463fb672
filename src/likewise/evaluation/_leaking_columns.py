"""Columns that alone give the class, which is often because they were made from it."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.text import list_some

_MAX_SORTED = 20_000  # rows that are sorted by each column
_FIRST_SORTED = 200  # they rule out most columns at little cost
_MIN_PER_CLASS = 5  # rows: fewer are often separated by chance


def leaking_columns(X: Array, codes: IndexArray) -> list[int]:
    """Return the columns in which each class is one interval: thresholds make no error there."""
    n_classes = len(np.unique(codes))
    if len(X) < _MIN_PER_CLASS * n_classes:
        return []
    columns = list(range(X.shape[1]))
    for n_rows in (_FIRST_SORTED, _MAX_SORTED):
        rows = np.linspace(0, len(X) - 1, min(n_rows, len(X))).astype(np.int64)
        columns = [column for column in columns if _in_intervals(X[rows, column], codes[rows])]
    return columns


def describe_leaks(names: list[str], n_classes: int, noun: str) -> str:
    """Say which columns, or features, tell the classes apart, and what to do."""
    one = len(names) == 1
    return (
        f"{noun if one else f'{noun}s'} {list_some(names, 8)} "
        f"{'alone tells' if one else 'each tell'} all {n_classes} classes apart without an error: "
        f"if {'it is' if one else 'they are'} known only together with the label, leave "
        f"{'it' if one else 'them'} out (--drop on the command line; not in X in Python)."
    )


def _in_intervals(values: Array, codes: IndexArray) -> bool:
    order = np.lexsort([codes, values])
    sorted_values, sorted_codes = values[order], codes[order]
    changes = np.flatnonzero(np.diff(sorted_codes))
    if len(changes) != len(np.unique(codes)) - 1:
        return False
    return bool((sorted_values[changes] < sorted_values[changes + 1]).all())
