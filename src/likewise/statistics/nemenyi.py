"""Nemenyi's post-hoc test of ranks, and the critical difference."""

from __future__ import annotations

import math

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from likewise._runtime.arrays import FloatArray
from likewise._runtime.validation import at_least, check_parameters, strictly_between
from likewise.statistics.ranks import check_average_ranks, rank_difference_error


def nemenyi_test(ranks: ArrayLike, n_datasets: int) -> FloatArray:
    """Test which methods differ, by average ranks and the studentised range.

    Like Tukey's test it compares all pairs: two methods differ at the level α if their average
    ranks differ by at least the `critical_difference`. It is a post-hoc test: use it where
    `friedman_test` or `iman_davenport_test` shows that not all methods are equally good.

    Parameters
    ----------
    ranks : array-like of shape (n_methods,)
        As of `average_ranks`.
    n_datasets : int
        The number of data sets of which they are the average.

    Returns
    -------
    ndarray of shape (n_methods, n_methods)
        p-values, adjusted for the number of methods: a symmetric matrix with 1 on the diagonal.

    References
    ----------
    P. B. Nemenyi, *Distribution-free multiple comparisons*, PhD thesis, Princeton University, 1963.

    Examples
    --------
    >>> from likewise.statistics import nemenyi_test
    >>> nemenyi_test([1.2, 2.0, 2.8], n_datasets=10).round(3)
    array([[1.   , 0.173, 0.001],
           [0.173, 1.   , 0.173],
           [0.001, 0.173, 1.   ]])
    """
    values = check_average_ranks(ranks)
    n_methods = len(values)
    first, second = np.triu_indices(n_methods, 1)
    differences = np.abs(values[first] - values[second])
    studentized = math.sqrt(2) * differences / rank_difference_error(n_methods, n_datasets)
    p_values = np.ones((n_methods, n_methods))
    p_values[first, second] = scipy.stats.studentized_range.sf(studentized, n_methods, np.inf)
    p_values[second, first] = p_values[first, second]
    return p_values


def critical_difference(n_methods: int, n_datasets: int, *, alpha: float = 0.05) -> float:
    r"""Return the difference of average ranks from which on `nemenyi_test` rejects.

    .. math:: \mathrm{CD} = q_\alpha \sqrt{\frac{k(k+1)}{6N}}

    with :math:`q_\alpha` the upper quantile of the studentised range of k methods divided by
    :math:`\sqrt 2`.

    Parameters
    ----------
    n_methods, n_datasets : int
        k and N.
    alpha : float, default=0.05
        The level of the test.

    Returns
    -------
    float

    Examples
    --------
    >>> from likewise.statistics import critical_difference
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    check_parameters(
        "critical_difference",
        {"n_methods": n_methods, "alpha": alpha},
        {"n_methods": at_least(2), "alpha": strictly_between(0, 1)},
    )
    quantile = float(scipy.stats.studentized_range.isf(alpha, n_methods, np.inf))
    return quantile / math.sqrt(2) * rank_difference_error(n_methods, n_datasets)
