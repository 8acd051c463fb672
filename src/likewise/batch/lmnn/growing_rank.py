"""Minimisation over L with as few rows as the metric needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import eigh, qr

from likewise._runtime.arrays import Array
from likewise.batch.lmnn.working_set import HingeProblem, working_set_lbfgs
from likewise.solvers import Solution
from likewise.solvers._protocols import Iteration, Watcher

_MIN_FEATURES = 128  # with fewer, all rows of L cost little
_VARIANCE_SHARE = 0.95  # of the transformed samples, kept by the first rows of L
_ADDED_SHARE = 1e-3  # of the sum of squares of L, in the rows that are added
_SMOOTHING_OF_ADDED = 0.03  # share of the margin, when rows are added


def leading_rows(L: Array, transform: Callable[[Array], Array]) -> Array:
    """Rotate L and keep the rows with 95 % of the variance of the transformed samples.

    All rows are kept, and not rotated, if these are more than half of them or if L is small.
    """
    if len(L) <= _MIN_FEATURES:
        return L
    Z = transform(L)
    centred = Z - Z.mean(axis=0)
    variances, axes = eigh(centred.T @ centred)
    share = np.cumsum(variances[::-1]) / variances.sum()
    n_rows = int(np.searchsorted(share, _VARIANCE_SHARE)) + 1
    return L if n_rows > len(L) / 2 else np.asarray(axes[:, ::-1][:, :n_rows].T @ L)


def growing_rank_lbfgs(
    problem: HingeProblem,
    start: Array,
    *,
    max_iter: int,
    certified: bool = True,
    watcher: Watcher | None = None,
    **options: Any,
) -> Solution:
    """Minimise by `working_set_lbfgs`; add rows to L if those of the start do not suffice.

    A step costs in proportion to the rows of L. The lower bound is one over all metrics, whatever
    their rank, so that a few rows may prove that no more are needed. Otherwise the steps go on with
    as many rows as there are features.

    Parameters
    ----------
    problem, max_iter, certified, watcher
        As in `working_set_lbfgs`.
    start : array of shape (n_rows, n_features)
        First point.
    **options
        Further arguments of `working_set_lbfgs`.

    Returns
    -------
    Solution
    """
    restricted = certified and len(start) < start.shape[1]
    first = working_set_lbfgs(
        problem,
        start,
        max_iter=max_iter,
        certified=certified,
        restricted=restricted,
        watcher=watcher,
        **options,
    )
    if not restricted or first.status != "stalled" or first.n_iter >= max_iter:
        return first

    def shifted(iteration: Iteration) -> bool:
        number = first.n_iter + iteration.number
        return watcher is not None and watcher(replace(iteration, number=number))

    second = working_set_lbfgs(
        problem,
        _with_all_rows(first.x),
        max_iter=max_iter - first.n_iter,
        smoothing=_SMOOTHING_OF_ADDED,
        watcher=shifted,
        **options,
    )
    return _joined(first, second)


def _with_all_rows(L: Array) -> Array:
    """Add short rows orthogonal to those of L: rows of zeros would have no gradient."""
    n_rows, n_features = L.shape
    complement = qr(L.T)[0][:, n_rows:].T
    length = np.sqrt(_ADDED_SHARE * np.square(L).sum() / (n_features - n_rows))
    return np.vstack([L, length * complement])


def _joined(first: Solution, second: Solution) -> Solution:
    """Return the better of two solutions, with the history and the bound of both."""
    history = {
        name: np.concatenate([values, second.history[name] + first.n_iter * (name == "n_iter")])
        for name, values in first.history.items()
    }
    bound = np.maximum.accumulate(history["lower_bound"])
    best = second if second.value <= first.value else first
    return replace(
        best,
        n_iter=first.n_iter + second.n_iter,
        status=second.status,
        gap=float(max(0.0, best.value - bound[-1]) / best.value) if best.value > 0 else 0.0,
        history={**history, "lower_bound": bound},
    )
