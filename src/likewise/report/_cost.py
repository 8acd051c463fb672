"""What a report will cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.validation import TableLike
from likewise.base import Estimate
from likewise.evaluation import COMPARED_METHODS, COMPARED_ON_PAIRS, estimate_compare

_REPEATS, _PAIR_REPEATS = 2, 3
# Fits of the metric that is shown, to 60 % of the rows and, three times each, to parts of these.
_FITS = 0.6 * (1 + 3 * (1 / 8 + 1 / 4 + 1 / 2))
_DRAWING_SECONDS = 4.0
_COPIES = 4  # of the rows: scaled, split, mapped and sorted


def estimate_report(
    X: TableLike, y: ArrayLike | None = None, methods: Iterable[str] | None = None
) -> Estimate:
    """Estimate the time and memory of `summarise` and of drawing the page, without fitting.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), optional
        Labels; None where there are judged pairs.
    methods : names of methods, optional
        As of `summarise`.

    Returns
    -------
    Estimate
        Of the comparison, of the fits of the metric that is shown, which may be the slowest, and of
        the figures.

    Examples
    --------
    >>> from likewise.datasets import load
    >>> from likewise.report import estimate_report
    >>> wine = load("wine")
    >>> estimate_report(wine.X, wine.y, ["Euclidean", "RCA"]).seconds < 60
    True
    """
    usual, n_repeats = (
        (COMPARED_ON_PAIRS, _PAIR_REPEATS) if y is None else (COMPARED_METHODS, _REPEATS)
    )
    labels: Any = [0, 1] if y is None else y
    names = list(usual if methods is None else methods)
    each = [estimate_compare(X, labels, [name], n_repeats=n_repeats) for name in names]
    one_fit = max(cost.seconds for cost in each) / (n_repeats * 5)
    rows = 8 * _COPIES * int(np.prod(np.shape(X)))
    return Estimate.of(
        sum(cost.seconds for cost in each) + _FITS * one_fit + _DRAWING_SECONDS,
        max(*(cost.n_bytes for cost in each), rows),
    )
