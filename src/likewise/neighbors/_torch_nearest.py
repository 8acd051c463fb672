"""The k nearest points, for tensors."""

from __future__ import annotations

import math

import torch

from likewise._numerics.torch_pairs import tensor_pair_sqdist
from likewise._numerics.torch_products import (
    centred_for_products,
    product_dtype,
)
from likewise._runtime.tensors import Tensor, require_same_device, tile_elements

# Candidates beyond k: the more, the rarer a row whose k-th neighbour is in doubt.
_SPARE = 8
_GROUP = 64  # columns of which only the smallest estimate is looked at first
_ROWS_PER_TILE = 4096  # enough for fast products, few enough for many columns beside them


def nearest(
    queries: Tensor, points: Tensor, k: int, *, exclude_self: bool = False
) -> tuple[Tensor, Tensor]:
    """Do what `neighbors.nearest` does, on the device of the tensors.

    Parameters
    ----------
    queries, points : tensors of shape (n, d) and (m, d), float32 or float64
    k : int
    exclude_self : bool

    Returns
    -------
    sqdist : float64 tensor of shape (n, k), ascending
    index : int64 tensor of shape (n, k); equal distances in the order of the rows

    Notes
    -----
    Tiles of products propose a few more than k points per query, whose distances are then computed
    from differences in float64. A product is off by less than ``ε(‖a‖² + ‖b‖²)/2`` with
    ``ε = 2(d + 8)u``, as in `_torch_radius`, and so is the sum with half a squared norm. Where the
    last proposed point is not farther than the k-th by more than that, all points that may be
    nearer are measured.
    """
    require_same_device(queries, points, ("queries", "points"))
    available = len(points) - exclude_self
    if queries.ndim != 2 or points.ndim != 2 or queries.shape[1] != points.shape[1]:
        raise ValueError(
            f"queries must have as many features as points, but their shapes are "
            f"{tuple(queries.shape)} and {tuple(points.shape)}."
        )
    if not 1 <= k <= available:
        raise ValueError(
            f"k must lie in 1 to {available}, the number of points to choose from, but it is {k}."
        )
    if queries.dtype != points.dtype:
        queries, points = queries.double(), points.double()
    for name, given in (("points", points), ("queries", queries)):
        if not bool(torch.isfinite(given).all()):
            raise ValueError(f"{name} must be finite, but it holds NaN or infinity.")
    with torch.no_grad():
        return _Search(queries, points, k, exclude_self).run()


class _Search:
    """Queries against points: proposals by products, settled by exact distances."""

    def __init__(self, queries: Tensor, points: Tensor, k: int, exclude_self: bool) -> None:
        self.queries, self.points, self.k, self.exclude_self = queries, points, k, exclude_self
        self.n_proposed = min(k + exclude_self + _SPARE, len(points))
        if queries is points:
            self.scale, (there,) = centred_for_products(points)
            here = there
        else:
            self.scale, (there, here) = centred_for_products(points, queries)
        precise = product_dtype(points.dtype)
        self.slack = (points.shape[1] + 8) * torch.finfo(precise).eps
        if self.slack > 0.5:
            precise, self.slack = torch.float64, (points.shape[1] + 8) * 2.0**-52
        self.point_squares = there.square().sum(dim=1)
        self.query_squares = here.square().sum(dim=1)
        self.halves = (self.point_squares / 2).to(precise)
        self.there = there.to(precise)
        self.here = self.there if here is there else here.to(precise)
        self.tile = tile_elements(points.device)
        self.n_rows = max(1, min(_ROWS_PER_TILE, math.isqrt(self.tile)))
        self.n_cols = max(self.n_proposed, self.tile // self.n_rows)
        # Of ½‖b‖² - ab, which is half the squared distance up to a constant of the query.
        largest = self.point_squares.max()
        self.errors = self.slack * (self.query_squares + largest) / 2 + 2.0**-100
        # Exact distances are not scaled: each of their squares may underflow, by half of 2^-1074.
        self.errors += points.shape[1] * 2.0**-1074 * self.scale * self.scale

    def run(self) -> tuple[Tensor, Tensor]:
        """Search block by block of queries."""
        device, n = self.queries.device, len(self.queries)
        best = torch.empty((n, self.k), dtype=torch.float64, device=device)
        index = torch.empty((n, self.k), dtype=torch.int64, device=device)
        for first in range(0, n, self.n_rows):
            rows = torch.arange(first, min(first + self.n_rows, n), device=device)
            proposed, left_out = self._propose(rows)
            sqdist, order = self._rank(rows, proposed)
            best[rows], index[rows] = sqdist, order
            if self.n_proposed == len(self.points):
                continue
            bound = sqdist[:, -1] * self.scale**2 - self.query_squares[rows]
            open_rows = ~(bound / 2 + self.errors[rows] < left_out - self.errors[rows])
            if bool(open_rows.any()):
                # All points may be as near: their number is bounded by that of a tile.
                for again in rows[open_rows].split(max(1, self.tile // len(self.points))):
                    best[again], index[again] = self._search_all(again, best[again, -1])
        return best, index

    def _propose(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the columns of the smallest estimates, and the largest of these estimates."""
        values, index = None, None
        for left in range(0, len(self.points), self.n_cols):
            columns = slice(left, left + self.n_cols)
            estimates = self._estimates(rows, columns)
            nearer, cols = _smallest(estimates, min(self.n_proposed, estimates.shape[1]))
            cols = cols + left
            if values is not None and index is not None:
                nearer, cols = torch.cat([values, nearer], 1), torch.cat([index, cols], 1)
                nearer, places = torch.topk(nearer, self.n_proposed, 1, largest=False, sorted=False)
                cols = torch.gather(cols, 1, places)
            values, index = nearer, cols
        assert values is not None
        assert index is not None
        return index, values.amax(dim=1).double()

    def _estimates(self, rows: Tensor, columns: slice) -> Tensor:
        """Return ``½‖b‖² - ab``, without a second pass over the tile."""
        return torch.addmm(self.halves[columns], self.here[rows], self.there[columns].T, alpha=-1)

    def _rank(self, rows: Tensor, proposed: Tensor) -> tuple[Tensor, Tensor]:
        """Return the k nearest of the proposed points, by distance and number."""
        proposed = proposed.sort(dim=1).values
        repeated = rows[:, None].expand_as(proposed)
        sqdist = tensor_pair_sqdist(
            self.queries, repeated.reshape(-1), proposed.reshape(-1), self.points
        ).reshape(proposed.shape)
        if self.exclude_self:
            sqdist[proposed == rows[:, None]] = torch.inf
        sqdist, order = sqdist.sort(dim=1, stable=True)
        return sqdist[:, : self.k], torch.gather(proposed, 1, order)[:, : self.k]

    def _search_all(self, rows: Tensor, farthest: Tensor) -> tuple[Tensor, Tensor]:
        """Return the same from all points that may be as near as `farthest`."""
        limit = (farthest * self.scale**2 - self.query_squares[rows]) / 2 + self.errors[rows]
        parts = []
        for left in range(0, len(self.points), self.n_cols):
            columns = slice(left, left + self.n_cols)
            estimates = self._estimates(rows, columns)
            places, cols = torch.nonzero(estimates.double() <= limit[:, None], as_tuple=True)
            parts.append((places, cols + left))
        places, cols = (torch.cat(part) for part in zip(*parts, strict=True))
        if self.exclude_self:
            other = rows[places] != cols
            places, cols = places[other], cols[other]
        sqdist = tensor_pair_sqdist(self.queries, rows[places], cols, self.points)
        # By query, then by distance, then by number: the last key first.
        order = torch.argsort(cols, stable=True)
        for key in (sqdist, places):
            order = order[torch.argsort(key[order], stable=True)]
        places, first = places[order], torch.arange(len(rows), device=rows.device)
        chosen = torch.searchsorted(places, first)[:, None] + torch.arange(
            self.k, device=rows.device
        )
        return sqdist[order][chosen], cols[order][chosen]


def _smallest(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k smallest values of each row, in any order, and their columns.

    They are among the k groups of columns with the smallest minima: the values are read once, where
    a selection reads them several times.
    """
    n_groups = values.shape[1] // _GROUP
    if n_groups < 4 * k:
        nearer, cols = torch.topk(values, k, dim=1, largest=False, sorted=False)
        return nearer, cols
    grouped, rest = values[:, : n_groups * _GROUP], values[:, n_groups * _GROUP :]
    grouped = grouped.unflatten(1, (n_groups, _GROUP))
    _, groups = torch.topk(grouped.amin(dim=2), k, dim=1, largest=False, sorted=False)
    chosen = torch.gather(grouped, 1, groups[:, :, None].expand(-1, -1, _GROUP)).flatten(1)
    nearer, places = torch.topk(torch.cat([chosen, rest], 1), k, 1, largest=False, sorted=False)
    inside = torch.gather(groups, 1, (places // _GROUP).clamp(max=k - 1)) * _GROUP + places % _GROUP
    after = n_groups * _GROUP + places - k * _GROUP
    return nearer, torch.where(places < k * _GROUP, inside, after)
