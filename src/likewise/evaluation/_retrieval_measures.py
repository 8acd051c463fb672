"""Measures of one ranking, and what they would be if any one of its points were left out.

Each function takes the relevance of the points of a block of rankings, nearest first, of shape
(n_queries, n_points): 0 where a point is not relevant, else its gain. It returns the values of the
queries, of shape (n_queries,), and the values without each point, of shape (n_queries, n_points).
Both are NaN where no point is relevant. Ranks count from 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from likewise._runtime.arrays import FloatArray

Gains: TypeAlias = NDArray[Any]
Values: TypeAlias = tuple[FloatArray, FloatArray]
Measure: TypeAlias = Callable[[Gains, int | None], Values]


def precision(gains: Gains, k: int | None) -> Values:
    """Return the share of relevant points among the first k."""
    relevant, n_relevant, hits, entering = _top(gains, k or 1)
    width = float(k or 1)
    without = np.repeat(hits[:, None], gains.shape[1], axis=1)
    without[:, :k] += entering[:, None] - relevant[:, :k]
    left = n_relevant[:, None] - relevant > 0
    return (
        np.where(n_relevant > 0, hits / width, np.nan),
        np.where(left, without / width, np.nan),
    )


def recall(gains: Gains, k: int | None) -> Values:
    """Return the share of the relevant points that is among the first k."""
    relevant, n_relevant, hits, entering = _top(gains, k or 1)
    without = np.repeat(hits[:, None], gains.shape[1], axis=1)
    without[:, :k] += entering[:, None] - relevant[:, :k]
    return _share(hits, n_relevant), _share(without, n_relevant[:, None] - relevant)


def reciprocal_rank(gains: Gains, k: int | None) -> Values:
    """Return 1 / the rank of the first relevant point, or 0 if that is beyond k."""
    relevant = gains > 0
    n_relevant = relevant.sum(axis=1)
    rows = np.arange(len(gains))
    first = relevant.argmax(axis=1)
    others = relevant.copy()
    others[rows, first] = False
    second = others.argmax(axis=1)
    value = _reciprocal(first + 1, k)
    position = np.arange(gains.shape[1])
    without = np.where(position < first[:, None], _reciprocal(first, k)[:, None], value[:, None])
    without[rows, first] = np.where(n_relevant > 1, _reciprocal(second, k), np.nan)
    without[n_relevant == 0] = np.nan
    return np.where(n_relevant > 0, value, np.nan), without


def average_precision(gains: Gains, k: int | None) -> Values:
    """Return the mean, over the relevant points, of the precision at their ranks up to k.

    The sum is divided by the number of relevant points, or by k if there are more.
    """
    relevant = gains > 0
    counts = np.cumsum(relevant, axis=1)
    n_relevant = counts[:, -1]
    rank = np.arange(1, gains.shape[1] + 1)
    most = k or gains.shape[1]
    here = relevant / rank * (rank <= most)
    # A point moves up by one rank when one before it is left out.
    moved = relevant / np.maximum(rank - 1, 1) * (rank - 1 <= most)
    before = np.cumsum(counts * here, axis=1)
    after = _sums_after(counts * moved)  # an irrelevant point is left out
    after_relevant = _sums_after((counts - 1) * moved)
    unmoved = before - counts * here
    sums = unmoved + np.where(relevant, after_relevant, after)
    left: Gains = n_relevant[:, None] - relevant
    return (
        _share(before[:, -1], np.minimum(n_relevant, most)),
        _share(sums, np.minimum(left, most)),
    )


def discounted_gain(gains: Gains, k: int | None) -> Values:
    """Return the sum of gain / log2(rank + 1) up to rank k, divided by the largest possible sum."""
    gains = gains.astype(np.float64)
    by_gain = np.argsort(-gains, axis=1, kind="stable")
    best, best_without = _discounted(np.take_along_axis(gains, by_gain, axis=1), k)
    found, found_without = _discounted(gains, k)
    ideal_without = np.empty_like(best_without)
    np.put_along_axis(ideal_without, by_gain, best_without, axis=1)
    # What is left of a sum without its only term may differ from 0 by rounding.
    last = (gains > 0).sum(axis=1)[:, None] - (gains > 0) == 0
    ideal_without[last] = 0.0
    return _share(found, best), _share(found_without, ideal_without)


def _discounted(gains: FloatArray, k: int | None) -> Values:
    """Return the discounted sums, and those without each point."""
    rank = np.arange(1, gains.shape[1] + 1)
    most = k or gains.shape[1]
    here = gains * np.where(rank <= most, 1 / np.log2(rank + 1), 0.0)
    moved = gains * np.where(rank - 1 <= most, 1 / np.log2(np.maximum(rank, 2)), 0.0)
    before = np.cumsum(here, axis=1)
    return before[:, -1], before - here + _sums_after(moved)


def _sums_after(terms: FloatArray) -> FloatArray:
    """Return for each column the sum of the columns after it."""
    sums = np.zeros_like(terms, dtype=np.float64)
    sums[:, :-1] = np.cumsum(terms[:, :0:-1], axis=1)[:, ::-1]
    return sums


def _top(gains: Gains, k: int) -> tuple[Any, Any, FloatArray, FloatArray]:
    """Return relevance, its sum, hits among the first k, and whether the next point is one."""
    relevant = gains > 0
    hits = relevant[:, :k].sum(axis=1, dtype=np.float64)
    n_points = gains.shape[1]
    entering = relevant[:, k].astype(np.float64) if n_points > k else np.zeros(len(gains))
    return relevant, relevant.sum(axis=1), hits, entering


def _reciprocal(rank: Any, k: int | None) -> FloatArray:
    within = (rank >= 1) & (rank <= (np.inf if k is None else k))
    return np.where(within, 1 / np.maximum(rank, 1), 0.0)


def _share(part: FloatArray, whole: Any) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, part / whole, np.nan)
