"""Equal rows of a tensor, found on its device."""

from __future__ import annotations

import numpy as np
import torch

from likewise._runtime.arrays import IndexArray
from likewise._runtime.tensors import Tensor, to_numpy


def equal_tensor_rows(rows: Tensor) -> IndexArray:
    """Return what `equal_rows` returns for arrays; only these numbers leave the device.

    Rows are ranked by their first feature; where ranks are shared, by the next one, and so on, so
    that the whole table is never sorted.
    """
    ranks = torch.zeros(len(rows), dtype=torch.int64, device=rows.device)
    tied = torch.arange(len(rows), device=rows.device)
    for column in range(rows.shape[1]):
        if not len(tied):
            break
        tied = _rank_by_value(ranks, tied, rows[tied, column])
    codes = torch.unique(ranks, return_inverse=True)[1]
    return np.asarray(to_numpy(codes))


def _rank_by_value(ranks: Tensor, tied: Tensor, values: Tensor) -> Tensor:
    """Rank rows of one rank by their values, in `ranks`; return those that still share theirs.

    The rank of a row is the number of rows before it, so that other rows keep theirs.
    """
    order = torch.argsort(values, stable=True)
    order = order[torch.argsort(ranks[tied[order]], stable=True)]
    tied, values = tied[order], values[order]
    before = ranks[tied]
    group_starts = torch.ones_like(tied, dtype=torch.bool)
    group_starts[1:] = before[1:] != before[:-1]
    starts = group_starts.clone()
    starts[1:] |= values[1:] != values[:-1]
    places = torch.arange(len(tied), device=tied.device)
    ranks[tied] = before + _last(places, starts) - _last(places, group_starts)
    shared = ~starts
    shared[:-1] |= ~starts[1:]
    return tied[shared]


def _last(places: Tensor, starts: Tensor) -> Tensor:
    """Return the last start at or before each place."""
    return torch.cummax(torch.where(starts, places, 0), dim=0).values
