"""Equal rows are one item: they are held out together."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import Array, IndexArray


def equal_rows(rows: Array) -> IndexArray:
    """Return a number for each row that equal rows share: 0…c-1, in the order of their values."""
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def items_of(X: Array, judged: IndexArray) -> IndexArray:
    """Return the item of each row: the number of the first judged row that equals it, or its own.

    Rows without a judgement are not compared: nothing about them can be held out.
    """
    codes = equal_rows(X[judged])
    first = np.unique(codes, return_index=True)[1]
    items = np.arange(len(X))
    items[judged] = judged[first[codes]]
    return items


def without_items(rows: IndexArray, items: IndexArray, held: IndexArray) -> IndexArray:
    """Return the rows that are not equal to any of `held`."""
    return rows[~np.isin(items[rows], items[held])]
