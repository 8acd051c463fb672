"""Iman and Davenport's form of Friedman's test."""

from __future__ import annotations

import math

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from likewise.statistics.friedman import RankTest, friedman_test


def iman_davenport_test(scores: ArrayLike, *, tie_correction: bool = True) -> RankTest:
    r"""Test whether all methods are equally good, less conservatively than `friedman_test`.

    .. math:: F_F = \frac{(N - 1) \chi^2_F}{N (k - 1) - \chi^2_F}

    has approximately an F distribution with k - 1 and (k - 1)(N - 1) degrees of freedom.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        Errors or accuracies: the direction makes no difference.
    tie_correction : bool, default=True
        Use the :math:`\chi^2_F` that is corrected for ties.

    Returns
    -------
    RankTest
        With two numbers of degrees of freedom. Where all data sets rank the methods alike the
        statistic is infinite.

    References
    ----------
    R. L. Iman and J. M. Davenport, *Approximations of the critical region of the Friedman
    statistic*, Communications in Statistics 9, 1980.

    Examples
    --------
    >>> from likewise.statistics import iman_davenport_test
    >>> found = iman_davenport_test([[0.1, 0.2, 0.3], [0.3, 0.5, 0.4], [0.2, 0.3, 0.6]])
    >>> round(found.statistic, 3), round(found.p_value, 3)
    (7.0, 0.049)
    """
    friedman = friedman_test(scores, tie_correction=tie_correction)
    n_datasets, n_methods = np.shape(scores)
    left = n_datasets * (n_methods - 1) - friedman.statistic
    # Rounding may leave a rest of the size of the statistic's last digit.
    if left <= 1e-12 * friedman.statistic:
        statistic = math.inf
    else:
        statistic = (n_datasets - 1) * friedman.statistic / left
    freedom = (n_methods - 1, (n_methods - 1) * (n_datasets - 1))
    return RankTest(statistic, float(scipy.stats.f.sf(statistic, *freedom)), freedom)
