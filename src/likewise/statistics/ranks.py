"""Ranks of methods on several data sets."""

from __future__ import annotations

import math

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from likewise._runtime.arrays import FloatArray
from likewise._runtime.text import quote
from likewise._runtime.validation import (
    as_float_array,
    at_least,
    check_finite,
    check_parameters,
)


def average_ranks(scores: ArrayLike, *, higher_is_better: bool = False) -> FloatArray:
    """Return the mean rank of each method over data sets.

    On each data set the best method has rank 1. Methods with equal scores share the mean of their
    ranks.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        Errors, times or the like.
    higher_is_better : bool, default=False
        Set it where the scores are accuracies or the like.

    Returns
    -------
    ndarray of shape (n_methods,)

    Examples
    --------
    >>> from likewise.statistics import average_ranks
    >>> average_ranks([[0.1, 0.2, 0.2], [0.3, 0.5, 0.4]])
    array([1.  , 2.75, 2.25])
    """
    ranks = rank_methods(scores, higher_is_better=higher_is_better).mean(axis=0)
    return np.asarray(ranks, dtype=np.float64)


def rank_methods(scores: ArrayLike, *, higher_is_better: bool = False) -> FloatArray:
    """Return the rank of each method on each data set."""
    table = as_float_array(scores, "scores")
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
        raise ValueError(
            f"scores has shape {table.shape}, but it must have a row for each data set and a "
            "column for each method, at least two of both."
        )
    check_finite(table, "scores")
    ranks = scipy.stats.rankdata(-table if higher_is_better else table, axis=1)
    return np.asarray(ranks, dtype=np.float64)


def check_average_ranks(ranks: ArrayLike) -> FloatArray:
    """Return average ranks as an array; those of k methods lie between 1 and k."""
    values = as_float_array(ranks, "ranks")
    n_methods = len(values) if values.ndim == 1 else 0
    if n_methods < 2 or not ((values >= 1) & (values <= n_methods)).all():
        raise ValueError(
            f"ranks is {quote(ranks)}, but it must hold the average rank of each method, "
            "at least two: numbers from 1 to the number of methods."
        )
    return values


def rank_difference_error(n_methods: int, n_datasets: int) -> float:
    """Return the standard error of a difference of two average ranks if methods are alike."""
    check_parameters(
        "a comparison of ranks", {"n_datasets": n_datasets}, {"n_datasets": at_least(2)}
    )
    return math.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets))
