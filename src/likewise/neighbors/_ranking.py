"""All points in the order of their distance, for blocks of queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.threads import run_blocks
from likewise.neighbors._nearest import _Search

T = TypeVar("T")


def map_rankings(
    task: Callable[[IndexArray, IndexArray], T],
    queries: ArrayLike,
    points: ArrayLike,
    *,
    depth: int | None = None,
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> list[T]:
    """Call `task` with blocks of queries and, for each query, all points by their distance.

    Exact: distances that rounding errors could confuse are measured again, and equal ones are in
    the order of their rows. One block of about a million distances is in memory per thread.

    Parameters
    ----------
    task : callable
        Takes row numbers of queries, of shape (b,), and row numbers of points, of shape
        (b, n_points), nearest first; with `exclude_self` a row has one column less.
    queries : array of shape (n_queries, d)
    points : array of shape (n_points, d)
    depth : int, optional
        How many points are ordered; the others follow in any order. All by default.
    exclude_self : bool
        Queries are the points, row for row, and none is in its own ranking.
    n_jobs : int or None
        Threads; None for all cores. The result does not depend on it.

    Returns
    -------
    list
        The results of `task`, in the order of the queries.

    Examples
    --------
    >>> map_rankings(lambda rows, order: order.tolist(), [[2.9]], [[0.0], [1.0], [3.0]])
    [[[2, 1, 0]]]
    """
    search = _Search(queries, points, 1, exclude_self, n_jobs)
    n_candidates = len(search.points) - exclude_self

    def block(start: int, stop: int) -> T:
        rows = np.arange(start, stop)
        distances = search._distances(rows)
        if exclude_self:
            distances[rows - start, rows] = np.inf
        order = _order(search, rows, distances, depth or n_candidates)
        return task(rows, order[:, :n_candidates])  # infinity is last

    return run_blocks(block, len(search.queries), search._block_rows(), n_jobs)


def _order(search: _Search, rows: IndexArray, distances: FloatArray, depth: int) -> IndexArray:
    last = distances.shape[1] - 1
    if 4 * depth < last:  # sorting a few and parting the others is faster than sorting all
        order = np.argpartition(distances, [depth, last], axis=1)
        head = np.take_along_axis(distances, order[:, : depth + 1], axis=1)
        inner = np.argsort(head, axis=1)
        order[:, : depth + 1] = np.take_along_axis(order[:, : depth + 1], inner, axis=1)
        head = np.take_along_axis(head, inner, axis=1)
    else:
        order = np.argsort(distances, axis=1)
        head = np.take_along_axis(distances, order, axis=1)
    # Each distance is off by at most the slack: two are in the right order if farther apart.
    open_rows = (np.diff(head, axis=1) <= 2 * search.slack[rows][:, None]).any(axis=1)
    for i in np.flatnonzero(open_rows):
        order[i] = _settled(search, int(rows[i]), distances[i])
    return order


def _settled(search: _Search, row: int, distances: FloatArray) -> IndexArray:
    """Return the order of one query's distances, with those that are too close measured again."""
    order = np.argsort(distances)
    close = np.diff(distances[order]) <= 2 * search.slack[row]
    run = np.concatenate([[0], np.cumsum(~close)])
    tied = np.concatenate([close, [False]]) | np.concatenate([[False], close])
    exact = np.zeros(len(order))
    members = order[tied]
    exact[tied] = search._exact(np.full(len(members), row), members)
    settled: IndexArray = order[np.lexsort((order, exact, run))]
    return settled
