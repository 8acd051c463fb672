"""A test of several metrics against one baseline, on the pairs that they were tested on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.special

from likewise._runtime.arrays import BoolArray, FloatArray, IndexArray
from likewise._runtime.validation import check_parameters, strictly_between
from likewise.statistics.dyadic import variance_over_units
from likewise.statistics.placed_pairs import PlacedPairs


@dataclass(frozen=True, eq=False)
class AUCTest:
    """What `auc_test` found, an entry for each method.

    Attributes
    ----------
    differences : array of shape (n_methods,)
        D: the area under the ROC curve of the method less that of the baseline.
    variances : array of shape (n_methods,)
        V: the variance of D for draws of items, the dyadic variance and that of the splits.
    split_variances : array of shape (n_methods,)
        τ²: how much more the differences in single splits vary than their pairs explain.
    quantiles : array of shape (n_methods,)
        q: of Student's t with the degrees of freedom of V, at the confidence divided over the
        methods (Bonferroni).
    degrees_of_freedom : array of shape (n_methods,)
    n_units : int
        Items, or subjects, that the tested pairs touch.
    """

    differences: FloatArray
    variances: FloatArray
    split_variances: FloatArray
    quantiles: FloatArray
    degrees_of_freedom: FloatArray
    n_units: int

    @property
    def margins(self) -> FloatArray:
        """q √V: half the width of the intervals."""
        return np.asarray(self.quantiles * np.sqrt(self.variances))

    @property
    def intervals(self) -> FloatArray:
        """D - q √V and D + q √V: each bound holds for all methods with the given confidence."""
        return np.column_stack([self.differences - self.margins, self.differences + self.margins])

    @property
    def significant(self) -> BoolArray:
        """Whether each method is shown to be better than the baseline: D > q √V."""
        significant: BoolArray = self.differences > self.margins
        return significant

    def needed(self, method: int, relevant: float) -> tuple[None, int]:
        """Return the number of items that would decide about a method; repeats are not counted.

        The variance is taken to fall with the number of items.
        """
        difference, n = float(self.differences[method]), self.n_units
        distance = difference if difference >= relevant / 2 else relevant - difference
        margin = float(self.margins[method])
        return None, max(n + 1, math.ceil(n * (margin / distance) ** 2))


def auc_test(
    baseline: PlacedPairs,
    methods: Sequence[PlacedPairs],
    units: IndexArray,
    confidence: float = 0.95,
) -> AUCTest:
    r"""Test whether any of several metrics separates pairs better than a baseline.

    The area under the ROC curve is a mean of placement values: for a same pair, the share of
    different pairs that are farther apart; for a different pair, the share of same pairs that are
    closer. The difference of two areas is the mean of the differences of these values. Its
    variance is that of an average over pairs which share items, `dyadic_variance`, and with
    :math:`w_s` the share of split s in the same pairs

    .. math:: V = V_\text{dyadic} + \tau^2 \sum_s w_s^2 ,

    where :math:`\tau^2` is the variance of the differences in single splits beyond what their
    pairs explain, as of methods with a random part in each fit.

    Parameters
    ----------
    baseline : PlacedPairs
    methods : sequence of PlacedPairs
        The same pairs in the same splits.
    units : array of int of shape (n_pairs, 2)
        The items, or subjects, of each pair.
    confidence : float, default=0.95
        Probability that no method is wrongly found to be better.

    Returns
    -------
    AUCTest

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.statistics import auc_test, place_pairs
    >>> units = np.stack(np.triu_indices(40, 1), axis=1)
    >>> rng = np.random.default_rng(0)
    >>> same = rng.random(len(units)) < 0.5
    >>> noise = rng.normal(size=(3, len(units)))
    >>> baseline, good, bad = (
    ...     place_pairs([noise[j] - gap * same], [np.arange(len(units))], same)
    ...     for j, gap in enumerate([1, 3, 0])
    ... )
    >>> auc_test(baseline, [good, bad], units).significant
    array([ True, False])
    """
    check_parameters("auc_test", {"confidence": confidence}, {"confidence": strictly_between(0, 1)})
    reference = baseline.auc()
    touched = np.unique(baseline.pair)
    differences, variances, freedom, excesses = [], [], [], []
    for placed in methods:
        area = placed.auc()
        influence = (area.influence - reference.influence)[touched]
        variance = variance_over_units(influence, units[touched])
        excess = _split_variance(baseline, placed, units)
        differences.append(area.value - reference.value)
        variances.append(variance.variance + excess * float((baseline.split_weights**2).sum()))
        freedom.append(variance.degrees_of_freedom)
        excesses.append(excess)
    level = 1 - (1 - confidence) / len(methods)
    return AUCTest(
        differences=np.array(differences),
        variances=np.array(variances),
        split_variances=np.array(excesses),
        quantiles=np.asarray(scipy.special.stdtrit(freedom, level), dtype=np.float64),
        degrees_of_freedom=np.array(freedom),
        n_units=len(np.unique(units[touched])),
    )


def _split_variance(baseline: PlacedPairs, placed: PlacedPairs, units: IndexArray) -> float:
    """Return τ²: the variance of the splits' differences less the part that pairs explain."""
    if baseline.n_splits == 1:
        return 0.0
    differences, explained = [], []
    for split in range(baseline.n_splits):
        one, other = baseline.in_split(split), placed.in_split(split)
        influence = (other.auc().influence - one.auc().influence)[one.pair]
        differences.append(other.auc().value - one.auc().value)
        explained.append(variance_over_units(influence, units[one.pair]).variance)
    return max(0.0, float(np.var(differences, ddof=1) - np.mean(explained)))
