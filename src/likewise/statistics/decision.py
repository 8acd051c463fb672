"""From a test of methods against a baseline to a decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np

from likewise._runtime.arrays import BoolArray, FloatArray

Outcome: TypeAlias = Literal["use", "no difference", "undecided"]


class BaselineTest(Protocol):
    """A test of several methods against one baseline, an entry for each method."""

    @property
    def differences(self) -> FloatArray:
        """By how much each method is better."""

    @property
    def intervals(self) -> FloatArray:
        """A lower and an upper bound of each difference."""

    @property
    def significant(self) -> BoolArray:
        """Whether each method is shown to be better."""

    def needed(self, method: int, relevant: float) -> tuple[int | None, int]:
        """Return the repeats, or the rows (items), that would decide about a method."""


@dataclass(frozen=True)
class Decision:
    """What a test shows, and what it would take to show more.

    Attributes
    ----------
    outcome : {"use", "no difference", "undecided"}
        "use": a method is better than the baseline. "no difference": none is better by as much as
        is relevant. "undecided": neither is shown.
    method : int
        Position of the method with the largest difference; with "use", of those that are better.
    difference : float
        By how much its mean loss is below the baseline's.
    interval : tuple of two floats
        Bounds of the difference; each holds with the confidence of the test.
    upper : float
        Upper bound of the difference of every method.
    needed_repeats, needed_rows : int or None
        If undecided: the repeats on these rows, or the rows with as many repeats, that would
        decide if the difference stays as seen. `needed_repeats` is None where no number of repeats
        is enough. For pairs the rows are items.
    """

    outcome: Outcome
    method: int
    difference: float
    interval: tuple[float, float]
    upper: float
    needed_repeats: int | None = None
    needed_rows: int | None = None


def decide(test: BaselineTest, relevant: float = 0.02) -> Decision:
    r"""Decide between a better method, no relevant difference, and neither.

    With D the largest difference, q the quantile of a sign-flip test and
    :math:`V^* = (D / q)^2` if D is at least half of `relevant`, else
    :math:`((\text{relevant} - D) / q)^2`, an undecided comparison would be decided by

    .. math:: R^* = \frac{2\sigma_w^2 / n + \tau^2 / K}{V^* - 2\sigma_b^2 / n}
              \text{ repeats, or } n^* = n V / V^* \text{ rows,}

    where :math:`\sigma_b^2` and :math:`\sigma_w^2` are the row and repeat variances. For pairs,
    :math:`n^*` is a number of items.

    Parameters
    ----------
    test : SignFlipTest or AUCTest
        A test of one or more methods.
    relevant : float, default=0.02
        The smallest difference that would matter.

    Returns
    -------
    Decision

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.statistics import decide, sign_flip_max_test
    >>> differences = np.zeros((2, 1000, 1))
    >>> differences[:, ::10] = 1
    >>> folds = np.tile(np.arange(1000) // 10 % 5, (2, 1))
    >>> decide(sign_flip_max_test(differences, folds)).outcome
    'use'
    """
    better = test.significant
    upper = float(test.intervals[:, 1].max())
    candidates = better if better.any() else np.ones_like(better)
    method = int(np.argmax(np.where(candidates, test.differences, -np.inf)))
    difference = float(test.differences[method])
    low, high = test.intervals[method].tolist()
    if better.any():
        return Decision("use", method, difference, (low, high), upper)
    if upper < relevant:
        return Decision("no difference", method, difference, (low, high), upper)
    repeats, rows = test.needed(method, relevant)
    return Decision("undecided", method, difference, (low, high), upper, repeats, rows)
