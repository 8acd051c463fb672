"""Holm's correction for several tests, and the post-hoc test of ranks that uses it."""

from __future__ import annotations

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from likewise._runtime.arrays import FloatArray
from likewise._runtime.validation import as_float_array
from likewise.statistics.ranks import check_average_ranks, rank_difference_error


def holm_correction(p_values: ArrayLike) -> FloatArray:
    r"""Return p-values that are adjusted for the number of tests, by Holm's procedure.

    With the p-values in ascending order the adjusted ones are
    :math:`\max_{j \le i} \min(1, (m - j + 1)\, p_j)`. The procedure rejects at the level α where
    they are at most α. It controls the probability of any wrong rejection, whatever the dependence
    between the tests.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)
        One for each test.

    Returns
    -------
    ndarray of shape (n_tests,)

    References
    ----------
    S. Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal of
    Statistics 6, 1979.

    Examples
    --------
    >>> from likewise.statistics import holm_correction
    >>> holm_correction([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    values = as_float_array(p_values, "p_values")
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise ValueError("p_values must be a list of numbers from 0 to 1.")
    order = np.argsort(values, kind="stable")
    factors = np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, factors * values[order]))
    return adjusted


def holm_test(ranks: ArrayLike, n_datasets: int, *, control: int | None = None) -> FloatArray:
    r"""Test which methods differ, by average ranks and Holm's correction.

    Two methods are compared by a two-sided test of
    :math:`z = (R_i - R_j) / \sqrt{k(k+1) / (6N)}`, which is approximately standard normal if they
    are equally good. It is a post-hoc test: use it where `friedman_test` or `iman_davenport_test`
    shows that not all methods are equally good.

    Parameters
    ----------
    ranks : array-like of shape (n_methods,)
        As of `average_ranks`.
    n_datasets : int
        The number of data sets of which they are the average.
    control : int, optional
        Compare this method with each other one, k - 1 tests, instead of all pairs, k(k - 1)/2
        tests.

    Returns
    -------
    ndarray of shape (n_methods, n_methods)
        Adjusted p-values, a symmetric matrix. 1 on the diagonal; with a control, NaN for pairs that
        were not tested.

    Examples
    --------
    >>> from likewise.statistics import holm_test
    >>> holm_test([1.2, 2.0, 2.8], n_datasets=10).round(3)
    array([[1.   , 0.147, 0.001],
           [0.147, 1.   , 0.147],
           [0.001, 0.147, 1.   ]])
    """
    values = check_average_ranks(ranks)
    n_methods = len(values)
    first, second = np.triu_indices(n_methods, 1)
    if control is not None:
        if not -n_methods <= control < n_methods:
            raise ValueError(
                f"control is {control}, but it must be the position of one of {n_methods} methods."
            )
        tested = (first == control % n_methods) | (second == control % n_methods)
        first, second = first[tested], second[tested]
    z = (values[first] - values[second]) / rank_difference_error(n_methods, n_datasets)
    adjusted = np.full((n_methods, n_methods), np.nan)
    np.fill_diagonal(adjusted, 1.0)
    adjusted[first, second] = holm_correction(2 * scipy.stats.norm.sf(np.abs(z)))
    adjusted[second, first] = adjusted[first, second]
    return adjusted
