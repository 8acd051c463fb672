"""What a report will cost."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.time_left import Range
from likewise._runtime.validation import TableLike
from likewise.base import Estimate
from likewise.evaluation.cost import PlannedFits, estimate_compare

# Fits of the metric that is shown, to 60 % of the rows and, three times each, to parts of these.
_FITS = 0.6 * (1 + 3 * (1 / 8 + 1 / 4 + 1 / 2))
_DRAWING_SECONDS, _DRAWING_RANGE = 4.0, (1.0, 8.0)
_COPIES = 4  # of the rows: scaled, split, mapped and sorted


def estimate_report(
    X: TableLike,
    y: ArrayLike | None = None,
    methods: Iterable[str] | None = None,
    *,
    n_pairs: int | None = None,
) -> Estimate:
    """Estimate the time and memory of `summarise` and of drawing the page, without fitting.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), optional
        Labels.
    methods : names of methods, optional
        As of `summarise`.
    n_pairs : int, optional
        The number of judged pairs, in place of labels.

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
    names = None if methods is None else list(methods)
    compared = estimate_compare(X, y, names, n_pairs=n_pairs)
    fits = PlannedFits.of(X, y, names, n_pairs).estimates()
    slowest = max(fits, key=lambda fit: fit.seconds, default=Estimate.of(0.0, 0))
    extra = zip(compared.interval, slowest.interval, _DRAWING_RANGE, strict=True)
    low, high = (all_fits + _FITS * one + drawing for all_fits, one, drawing in extra)
    rows = 8 * _COPIES * int(np.prod(np.shape(X)))
    return Estimate(
        compared.seconds + _FITS * slowest.seconds + _DRAWING_SECONDS,
        (low, high),
        max(compared.n_bytes, rows),
    )


def expected_stages(
    X: TableLike,
    y: ArrayLike | None = None,
    methods: Iterable[str] | None = None,
    *,
    n_pairs: int | None = None,
) -> list[Range]:
    """Return the fewest and the most seconds of the stages of a report on the clock.

    They are the comparison, the fits of the metric that is shown, and the figures.
    """
    planned = PlannedFits.of(X, y, methods, n_pairs)
    most = max((seconds[1] for seconds in planned.clock_seconds()), default=0.0)
    # The recommended metric may be the fastest.
    return [planned.expected(), (0.0, _FITS * most), _DRAWING_RANGE]
