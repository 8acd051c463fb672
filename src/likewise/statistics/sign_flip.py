"""A test of many methods against one baseline, on the outcomes of cross-validated rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import BoolArray, FloatArray, IndexArray
from likewise._runtime.row_numbers import as_integers
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    as_float_array,
    at_least,
    check_finite,
    check_parameters,
    encode_labels,
    strictly_between,
)

_BLOCK = 4_000_000  # signs that are drawn at a time


@dataclass(frozen=True, eq=False)
class SignFlipTest:
    """What `sign_flip_max_test` found, an entry for each method.

    Attributes
    ----------
    differences : array of shape (n_methods,)
        D: the loss of the baseline less that of the method, mean over rows and repeats. Positive
        where the method is better.
    variances : array of shape (n_methods,)
        V: variance of D over data sets, ``2 (row_variances + repeat_variances / n_repeats) / n_rows
        + fold_variances / (n_repeats n_folds)``.
    quantile : float
        q: the methods' largest D / √V exceeds it in 5 % (1 - `confidence`) of the cases where no
        method is better. 0 where no method ever differs from the baseline.
    row_variances, repeat_variances : array of shape (n_methods,)
        Mean square of a row's difference, apart from what differs between its repeats, and the
        variance between its repeats.
    fold_variances : array of shape (n_methods,)
        τ²: how much more the means of folds vary than rows drawn independently would.
    n_rows, n_repeats, n_folds : int
        Size of the experiment.
    """

    differences: FloatArray
    variances: FloatArray
    quantile: float
    row_variances: FloatArray
    repeat_variances: FloatArray
    fold_variances: FloatArray
    n_rows: int
    n_repeats: int
    n_folds: int

    @property
    def margins(self) -> FloatArray:
        """q √V: half the width of the intervals."""
        return np.asarray(self.quantile * np.sqrt(self.variances))

    @property
    def intervals(self) -> FloatArray:
        """D - q √V and D + q √V: each bound holds for all methods with the given confidence."""
        return np.column_stack([self.differences - self.margins, self.differences + self.margins])

    @property
    def significant(self) -> BoolArray:
        """Whether each method is shown to be better than the baseline: D > q √V."""
        significant: BoolArray = self.differences > self.margins
        return significant

    def needed(self, method: int, relevant: float) -> tuple[int | None, int]:
        """Return the repeats, or the rows, that would decide about a method.

        None where no number of repeats is enough. `decide` has the formulas.
        """
        n, difference = self.n_rows, float(self.differences[method])
        distance = difference if difference >= relevant / 2 else relevant - difference
        wanted = (distance / self.quantile) ** 2
        variance = float(self.variances[method])
        rows = max(n + 1, math.ceil(n * variance / wanted))
        of_rows = 2 * float(self.row_variances[method]) / n
        if of_rows >= wanted:
            return None, rows
        of_repeats = 2 * float(self.repeat_variances[method]) / n
        of_folds = float(self.fold_variances[method]) / self.n_folds
        repeats = math.ceil((of_repeats + of_folds) / (wanted - of_rows))
        return max(self.n_repeats + 1, repeats), rows


def sign_flip_max_test(
    differences: ArrayLike,
    folds: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    confidence: float = 0.95,
    n_flips: int = 10_000,
    random_state: int = 0,
) -> SignFlipTest:
    r"""Test whether any of several methods is better than a baseline, on cross-validated rows.

    The input are the outcomes of R repeats of K-fold cross-validation, in which every row is tested
    once a repeat. With :math:`d_{ij}` the loss of the baseline less that of method j on row i,
    averaged over the repeats, and :math:`D_j` its mean over the n rows, the test statistic is the
    largest :math:`D_j / \sqrt{V_j}` with

    .. math:: V_j = \frac{2}{n^2} \sum_i d_{ij}^2 + \frac{\tau_j^2}{RK} .

    The variance between rows is doubled, since over fresh data sets the rows vary both as test and
    as training rows; :math:`\tau^2` is the variance between the means of folds beyond what rows
    explain, as of methods with a random part in each fit. The critical value is the quantile of
    :math:`\max_j \sum_i \varepsilon_i d_{ij} / \sqrt{\sum_i d_{ij}^2}` over random signs
    :math:`\varepsilon`, which are the same for all methods: many methods that err on the same rows
    cost no more than one. Methods that never differ from the baseline are left out of the maximum.

    With groups the group takes the place of the row: its sum of :math:`d_{ij}` is squared, and it
    has one sign; n remains the number of rows.

    Parameters
    ----------
    differences : array-like of shape (n_repeats, n_rows, n_methods)
        Loss of the baseline less loss of the method, of each row in each repeat.
    folds : array-like of int of shape (n_repeats, n_rows)
        The fold in which the row was tested, in each repeat.
    groups : array-like of shape (n_rows,), optional
        Groups of rows that depend on each other.
    confidence : float, default=0.95
        Probability that no method is wrongly found to be better.
    n_flips : int, default=10000
        Sign vectors.
    random_state : int, default=0
        Decides the signs.

    Returns
    -------
    SignFlipTest

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.statistics import sign_flip_max_test
    >>> rng = np.random.default_rng(0)
    >>> baseline = rng.random((2, 500, 1)) < 0.3
    >>> methods = rng.random((2, 500, 3)) < [0.3, 0.1, 0.3]
    >>> folds = rng.permuted(np.tile(np.arange(500) % 5, (2, 1)), axis=1)
    >>> sign_flip_max_test(baseline.astype(float) - methods, folds).significant
    array([False,  True, False])
    """
    check_parameters(
        "sign_flip_max_test",
        {"confidence": confidence, "n_flips": n_flips, "random_state": random_state},
        {
            "confidence": strictly_between(0, 1),
            "n_flips": at_least(100),
            "random_state": at_least(0),
        },
    )
    d, fold_codes = _check_outcomes(differences, folds)
    n_repeats, n_rows, _ = d.shape
    n_folds = int(fold_codes.max()) + 1
    sums = d if groups is None else _group_sums(d, groups)
    units = sums.mean(axis=0)
    within = sums.var(axis=0, ddof=1) if n_repeats > 1 else np.zeros_like(units)
    repeat_variances = within.sum(axis=0) / n_rows
    mean_squares = (units**2).sum(axis=0) / n_rows
    fold_variances = _fold_variances(d, fold_codes, n_folds)
    return SignFlipTest(
        differences=d.mean(axis=(0, 1)),
        variances=2 * mean_squares / n_rows + fold_variances / (n_repeats * n_folds),
        quantile=_quantile_of_maximum(units, confidence, n_flips, random_state),
        row_variances=np.maximum(mean_squares - repeat_variances / n_repeats, 0),
        repeat_variances=repeat_variances,
        fold_variances=fold_variances,
        n_rows=n_rows,
        n_repeats=n_repeats,
        n_folds=n_folds,
    )


def _check_outcomes(differences: ArrayLike, folds: ArrayLike) -> tuple[FloatArray, IndexArray]:
    d = as_float_array(differences, "differences")
    if d.ndim != 3 or 0 in d.shape:
        raise ValueError(
            f"differences has shape {d.shape}, but it must have repeats, rows and methods."
        )
    check_finite(d.reshape(-1, d.shape[2]), "differences")
    fold_codes = as_integers(folds, "folds")
    if fold_codes.shape != d.shape[:2]:
        raise ValueError(
            f"folds has shape {fold_codes.shape}, but differences has {d.shape[0]} repeats of "
            f"{d.shape[1]} rows."
        )
    present = [np.unique(repeat) for repeat in fold_codes]
    n_folds = len(present[0])
    if n_folds < 2 or any(not np.array_equal(found, np.arange(n_folds)) for found in present):
        raise ValueError(
            "folds must number at least two folds of each repeat 0, 1, …, as many in all repeats; "
            f"found {present[0].tolist()} in the first."
        )
    return d, fold_codes


def _group_sums(d: FloatArray, groups: ArrayLike) -> FloatArray:
    given = np.asarray(groups)
    if given.shape != d.shape[1:2]:
        raise ValueError(
            f"groups has shape {given.shape}, but there must be one for each of the {d.shape[1]} "
            "rows."
        )
    names, units = encode_labels(given)
    sums = np.zeros((len(d), len(names), d.shape[2]))
    for repeat, outcomes in zip(sums, d, strict=True):
        np.add.at(repeat, units, outcomes)
    return sums


def _fold_variances(d: FloatArray, folds: IndexArray, n_folds: int) -> FloatArray:
    """Return τ²: the variance of the folds' means less the part that their rows explain."""
    means, explained = [], []
    for outcomes, fold_codes in zip(d, folds, strict=True):
        for fold in range(n_folds):
            rows = outcomes[fold_codes == fold]
            means.append(rows.mean(axis=0))
            # One row shows no variance of rows: then all of it counts as the folds'.
            explained.append(rows.var(axis=0, ddof=min(1, len(rows) - 1)) / len(rows))
    excess: FloatArray = np.var(means, axis=0, ddof=1) - np.mean(explained, axis=0)
    return np.maximum(excess, 0)


def _quantile_of_maximum(
    units: FloatArray, confidence: float, n_flips: int, random_state: int
) -> float:
    differing = units[:, units.any(axis=0)]
    if differing.shape[1] == 0:
        return 0.0
    # A row on which no method differs adds nothing, whatever its sign.
    differing = differing[differing.any(axis=1)]
    scaled = differing / np.sqrt((differing**2).sum(axis=0))
    rng = np.random.default_rng(random_state)
    maxima = np.empty(n_flips)
    block = max(1, _BLOCK // len(scaled))
    with single_threaded_blas():
        for start in range(0, n_flips, block):
            size = min(block, n_flips - start), len(scaled)
            signs = 2.0 * rng.integers(0, 2, size, dtype=np.int8) - 1.0
            maxima[start : start + block] = (signs @ scaled).max(axis=1)
    return float(np.quantile(maxima, confidence))
