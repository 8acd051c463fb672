"""Friedman's test of several methods on several data sets."""

from __future__ import annotations

from dataclasses import dataclass

import scipy.stats
from numpy.typing import ArrayLike

from likewise.statistics.ranks import rank_methods


@dataclass(frozen=True)
class RankTest:
    """Result of a test whether all methods are equally good.

    Attributes
    ----------
    statistic : float
        Its value.
    p_value : float
        Probability of a value as large as this if all methods are equally good.
    degrees_of_freedom : tuple of int
        Those of the distribution of `statistic`.
    """

    statistic: float
    p_value: float
    degrees_of_freedom: tuple[int, ...]


def friedman_test(scores: ArrayLike, *, tie_correction: bool = True) -> RankTest:
    r"""Test whether all methods are equally good, by their ranks on each data set.

    With :math:`R_j` the average ranks of k methods on N data sets, the statistic

    .. math:: \chi^2_F = \frac{12 N}{k(k+1)} \Big[ \sum_j R_j^2 - \frac{k(k+1)^2}{4} \Big]

    has approximately a :math:`\chi^2` distribution with k - 1 degrees of freedom if N and k are
    large (N > 10, k > 5). `iman_davenport_test` is less conservative.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        Errors or accuracies: the direction makes no difference.
    tie_correction : bool, default=True
        Divide by :math:`1 - \sum (t^3 - t) / (N (k^3 - k))`, where t runs over the numbers of
        methods with equal scores on a data set. The formula above is for ranks without ties.

    Returns
    -------
    RankTest
        With one number of degrees of freedom.

    References
    ----------
    J. Demšar, *Statistical comparisons of classifiers over multiple data sets*, JMLR 7, 2006.

    Examples
    --------
    >>> from likewise.statistics import friedman_test
    >>> found = friedman_test([[0.1, 0.2, 0.3], [0.3, 0.5, 0.4], [0.2, 0.3, 0.6]])
    >>> round(found.statistic, 3), round(found.p_value, 3)
    (4.667, 0.097)
    """
    ranks = rank_methods(scores)
    n_datasets, n_methods = ranks.shape
    deviations = ranks.mean(axis=0) - (n_methods + 1) / 2
    statistic = 12 * n_datasets / (n_methods * (n_methods + 1)) * float(deviations @ deviations)
    if tie_correction:
        # The variance of ranks without ties is (k² - 1) / 12.
        share = float(ranks.var(axis=1).mean()) * 12 / (n_methods**2 - 1)
        statistic = statistic / share if share > 0 else 0.0
    freedom = n_methods - 1
    return RankTest(statistic, float(scipy.stats.chi2.sf(statistic, freedom)), (freedom,))
