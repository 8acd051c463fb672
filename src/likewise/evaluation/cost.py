"""What a comparison will cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from likewise._metric_parameter import nested_fits
from likewise._runtime.arrays import Array
from likewise._runtime.time_left import Range, sum_of
from likewise._runtime.validation import TableLike
from likewise.base import Estimate, Learner
from likewise.base.estimate import check_n_pairs, clock_seconds, count_classes
from likewise.evaluation import _pair_folds
from likewise.evaluation._checks import N_FOLDS, choose_methods
from likewise.methods import COMPARED_METHODS, COMPARED_ON_PAIRS

REPEATS, PAIR_REPEATS = 2, 3
# Of all judged pairs, between 4/9 and 2/3 have both items in two of three parts.
_TRAINING_PAIRS = 0.5


def estimate_compare(
    X: TableLike,
    y: ArrayLike | None = None,
    methods: Iterable[str] | Mapping[str, Any] | None = None,
    *,
    n_pairs: int | None = None,
    n_repeats: int | None = None,
) -> Estimate:
    """Estimate the time and memory of `compare`, or of `compare_pairs`, without fitting.

    Methods that are not of this library count as nothing.

    Parameters
    ----------
    X, y, methods
        As of `compare`, or of `compare_pairs` without y.
    n_pairs : int, optional
        The number of judged pairs, in place of y.
    n_repeats : int, optional
        As of `compare` or `compare_pairs`.

    Returns
    -------
    Estimate
        Of all fits together; the memory is that of the largest.

    Examples
    --------
    >>> from likewise.datasets import load
    >>> from likewise.evaluation import estimate_compare
    >>> wine = load("wine")
    >>> estimate_compare(wine.X, wine.y).seconds < 60
    True
    """
    check_n_pairs("estimate_compare", n_pairs)
    planned = PlannedFits.of(X, y, methods, n_pairs, n_repeats)
    if y is not None:
        count_classes(len(X), y)
    fits = planned.estimates()
    low, high = sum_of(fit.interval for fit in fits)
    return Estimate(
        planned.number * sum(fit.seconds for fit in fits),
        (planned.number * low, planned.number * high),
        max((fit.n_bytes for fit in fits), default=0),
    )


@dataclass(frozen=True, eq=False)
class PlannedFits:
    """The fits of a comparison: each learner as often, and to as many rows and pairs.

    Attributes
    ----------
    learners : list of Learner
    number : int
        Fits of each learner.
    X : array
        As many rows as each fit has, all 0.
    y : array or None
        As many labels, of all classes.
    n_pairs : int or None
        Pairs that each fit has.
    """

    learners: list[Learner]
    number: int
    X: Array
    y: Array | None
    n_pairs: int | None

    @classmethod
    def of(
        cls,
        X: TableLike,
        y: ArrayLike | None,
        methods: Iterable[str] | Mapping[str, Any] | None,
        n_pairs: int | None = None,
        n_repeats: int | None = None,
    ) -> PlannedFits:
        """Return the fits of `compare`, or with `n_pairs` those of `compare_pairs`."""
        if (y is None) == (n_pairs is None):
            raise ValueError("either y or n_pairs is needed, and not both.")
        n, d = np.shape(X)
        if n_pairs is None:
            chosen, n_folds, usual = COMPARED_METHODS, N_FOLDS, REPEATS
        else:
            chosen, n_folds, usual = COMPARED_ON_PAIRS, _pair_folds.N_FOLDS, PAIR_REPEATS
            n_pairs = max(1, round(_TRAINING_PAIRS * n_pairs))
        estimators = choose_methods(methods, 0, chosen).values()
        n_rows = n - n // n_folds
        return cls(
            [fit.learner for estimator in estimators for fit in nested_fits(estimator)],
            n_folds * (usual if n_repeats is None else n_repeats),
            np.broadcast_to(0.0, (n_rows, d)),
            None if y is None else np.resize(np.unique(np.asarray(y)), n_rows),
            n_pairs,
        )

    def estimates(self) -> list[Estimate]:
        """Return what one fit of each learner costs."""
        return [
            learner.estimate(self.X, self.y, n_pairs=self._pairs_for(learner))
            for learner in self.learners
        ]

    def clock_seconds(self) -> list[Range]:
        """Return the fewest and the most seconds of one fit of each learner on the clock."""
        return [
            clock_seconds(learner, self.X, self.y, self._pairs_for(learner))
            for learner in self.learners
        ]

    def expected(self) -> Range:
        """Return the fewest and the most seconds of all fits on the clock."""
        fewest, most = sum_of(self.clock_seconds())
        return self.number * fewest, self.number * most

    def _pairs_for(self, learner: Learner) -> int | None:
        return self.n_pairs if hasattr(learner, "fit_pairs") else None
