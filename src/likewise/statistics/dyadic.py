"""The variance of an average over pairs that share items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.validation import as_float_array
from likewise.statistics._pair_units import units_of_pairs

MIN_DEGREES_OF_FREEDOM = 3.0
FEW_DEGREES_OF_FREEDOM = 8


@dataclass(frozen=True)
class DyadicVariance:
    """Variance of an average over pairs, for draws of items (or subjects).

    Attributes
    ----------
    variance : float
        Infinite with fewer than three units: they say nothing about their spread.
    degrees_of_freedom : float
        At least 3. Below 8 a few units dominate, and intervals cover less than they should.
    n_units : int
        Items, or subjects, that the pairs touch.
    """

    variance: float
    degrees_of_freedom: float
    n_units: int


def dyadic_variance(
    influence: ArrayLike, items: ArrayLike, groups: ArrayLike | None = None
) -> DyadicVariance:
    r"""Return the variance of an estimate that is a sum over pairs which share items.

    Pairs that share an item are dependent, others are not. With the influence
    :math:`\psi_k` of pair k, which for the average of a value is
    :math:`(x_k - \bar x) / m`, the variance is

    .. math:: V = \frac{n}{n-2} \max\Big(\sum_k \psi_k^2,\;
              \sum_{k, l\ \text{share an item}} \psi_k \psi_l\Big),

    in O(m + n) for m pairs of n items: with :math:`S_i` the sum over pairs that touch item i and
    :math:`T_{ij}` the sum over repetitions of one pair, the double sum is
    :math:`\sum_i S_i^2 - \sum_{ij} T_{ij}^2`.

    Parameters
    ----------
    influence : array-like of shape (n_pairs,)
        Their sum is 0.
    items : array-like of shape (n_pairs, 2)
        The ids of the two items of each pair: integers or text.
    groups : array-like of shape (n_items,), optional
        The subject of each item, of which the ids are then positions. Pairs that share a subject
        are dependent.

    Returns
    -------
    DyadicVariance

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.statistics import dyadic_variance
    >>> error = np.array([1, 0, 0, 0, 1, 0])
    >>> items = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    >>> found = dyadic_variance((error - error.mean()) / len(error), items)
    >>> found.variance, found.n_units
    (0.07407407407407407, 4)
    """
    values = as_float_array(influence, "influence")
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError("influence must be one finite number per pair, but it is not.")
    return variance_over_units(values, units_of_pairs(items, groups, n_pairs=len(values)))


def variance_over_units(
    values: FloatArray, units: IndexArray, pair_codes: IndexArray | None = None
) -> DyadicVariance:
    """Return the variance of the sum of `values` of pairs, from the codes of their units.

    `pair_codes` are those of `codes_of_pairs` for the pairs of two units, if they are known.
    """
    between = units[:, 0] != units[:, 1]
    n_codes = int(units.max()) + 1
    sums = np.bincount(units[:, 0], weights=values, minlength=n_codes)
    # A pair within a subject touches it once.
    sums += np.bincount(units[between, 1], weights=values[between], minlength=n_codes)
    if pair_codes is None:
        pair_codes = codes_of_pairs(units[between])
    repeated = np.bincount(pair_codes, weights=values[between])
    n_units = int(np.count_nonzero(np.bincount(units.ravel())))
    squares = float(sums @ sums)
    shared = squares - float(repeated @ repeated)
    return DyadicVariance(
        variance=small_sample_factor(n_units) * max(float(values @ values), shared),
        degrees_of_freedom=float(degrees_of_freedom(squares, (sums**4).sum())),
        n_units=n_units,
    )


def codes_of_pairs(units: IndexArray) -> IndexArray:
    """Return a number for each pair of units, the same for repetitions in either order."""
    if not len(units):
        return np.empty(0, dtype=np.int64)
    first, second = units.T
    n_codes = int(units.max()) + 1
    keys = np.minimum(first, second) * n_codes + np.maximum(first, second)
    # Mostly no pair is repeated, which can be seen at a fraction of the cost.
    if n_codes**2 <= 8 * len(keys):
        distinct = np.bincount(keys).max() == 1
    else:
        ordered = np.sort(keys)
        distinct = bool((ordered[1:] != ordered[:-1]).all())
    if distinct:
        return np.arange(len(keys))
    return np.unique(keys, return_inverse=True)[1].astype(np.int64)


def small_sample_factor(n_units: int) -> float:
    """Return n / (n - 2), the correction for few units; infinite below three of them."""
    return n_units / (n_units - 2) if n_units > 2 else np.inf


def degrees_of_freedom(squares: ArrayLike, fourth_powers: ArrayLike) -> FloatArray:
    """Return the number of units that a sum of squares rests on, from sums over units."""
    squares, fourth_powers = np.asarray(squares), np.asarray(fourth_powers)
    with np.errstate(divide="ignore", invalid="ignore"):
        number = np.where(fourth_powers > 0, squares**2 / fourth_powers, 0.0)
    return np.maximum(MIN_DEGREES_OF_FREEDOM, number)
