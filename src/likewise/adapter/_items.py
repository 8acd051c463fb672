"""Equal rows are one item: they are held out together."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.arrays import IndexArray
from likewise._runtime.tensors import is_tensor
from likewise.adapter._lengths import BLOCK_ROWS


def equal_rows(rows: Any) -> IndexArray:
    """Return a number for each row that equal rows share: 0…c-1, in the order of their values.

    As ``np.unique(rows, axis=0, return_inverse=True)[1]``, which copies all rows twice.
    """
    if is_tensor(rows):
        from likewise.adapter._torch_items import equal_tensor_rows

        return equal_tensor_rows(rows)
    table = np.ascontiguousarray(rows)
    order = np.argsort(table.view([("", table.dtype)] * table.shape[1]).ravel())
    starts = np.ones(len(order), dtype=bool)
    for start in range(1, len(order), BLOCK_ROWS):
        part = order[start - 1 : start + BLOCK_ROWS]
        starts[start : start + BLOCK_ROWS] = (table[part[1:]] != table[part[:-1]]).any(axis=1)
    codes = np.empty(len(order), dtype=np.int64)
    codes[order] = np.cumsum(starts) - 1
    return codes


def items_of(judged_rows: Any, judged: IndexArray, n_rows: int) -> IndexArray:
    """Return the item of each row: the number of the first judged row that equals it, or its own.

    Rows without a judgement are not compared: nothing about them can be held out.
    """
    codes = equal_rows(judged_rows)
    first = np.unique(codes, return_index=True)[1]
    items = np.arange(n_rows)
    items[judged] = judged[first[codes]]
    return items


def without_items(rows: IndexArray, items: IndexArray, held: IndexArray) -> IndexArray:
    """Return the rows that are not equal to any of `held`."""
    return rows[~np.isin(items[rows], items[held])]
