"""Friedman's test followed by Holm's: the usual comparison of methods over data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import FloatArray
from likewise.statistics.friedman import RankTest, friedman_test
from likewise.statistics.holm import holm_test
from likewise.statistics.iman_davenport import iman_davenport_test
from likewise.statistics.ranks import average_ranks


@dataclass(frozen=True, eq=False)
class FriedmanHolm:
    """Result of `friedman_holm`.

    Attributes
    ----------
    names : tuple of str
        The methods.
    ranks : ndarray of shape (n_methods,)
        Average ranks; 1 is best.
    n_datasets : int
        The number of data sets.
    friedman, iman_davenport : RankTest
        Whether all methods are equally good.
    p_values : ndarray of shape (n_methods, n_methods)
        Holm's adjusted p-values for each pair of methods; NaN for pairs that were not tested.
    """

    names: tuple[str, ...]
    ranks: FloatArray
    n_datasets: int
    friedman: RankTest
    iman_davenport: RankTest
    p_values: FloatArray


def friedman_holm(
    scores: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    control: str | None = None,
    higher_is_better: bool = False,
    tie_correction: bool = True,
) -> FriedmanHolm:
    """Compare methods over data sets: average ranks, Friedman's test and Holm's post-hoc test.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        One error (accuracy, time) for each data set and method.
    names : sequence of str, optional
        Names of the methods; "0", "1", … by default.
    control : str, optional
        Compare this method with each other one instead of all pairs.
    higher_is_better : bool, default=False
        Set it where the scores are accuracies or the like.
    tie_correction : bool, default=True
        Correct Friedman's statistic for equal scores on a data set.

    Returns
    -------
    FriedmanHolm

    Examples
    --------
    >>> from likewise.statistics import friedman_holm
    >>> errors = [[0.10, 0.12, 0.20], [0.05, 0.09, 0.11], [0.20, 0.22, 0.31], [0.30, 0.32, 0.36]]
    >>> found = friedman_holm(errors, ["LMNN", "NCA", "Euclidean"])
    >>> found.ranks
    array([1., 2., 3.])
    >>> round(found.friedman.p_value, 3)
    0.018
    >>> round(float(found.p_values[0, 2]), 3)
    0.014
    """
    ranks = average_ranks(scores, higher_is_better=higher_is_better)
    listed = tuple(map(str, range(len(ranks)) if names is None else names))
    if len(listed) != len(ranks) or len(set(listed)) != len(listed):
        raise ValueError(
            f"names has {len(set(listed))} different names, but there are {len(ranks)} methods."
        )
    if control is not None and control not in listed:
        raise ValueError(f"control is {control!r}, but the methods are {', '.join(listed)}.")
    n_datasets = len(np.asarray(scores))
    return FriedmanHolm(
        names=listed,
        ranks=ranks,
        n_datasets=n_datasets,
        friedman=friedman_test(scores, tie_correction=tie_correction),
        iman_davenport=iman_davenport_test(scores, tie_correction=tie_correction),
        p_values=holm_test(
            ranks, n_datasets, control=None if control is None else listed.index(control)
        ),
    )
