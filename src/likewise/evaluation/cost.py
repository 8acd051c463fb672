"""What a comparison will cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.validation import TableLike
from likewise.base import Estimate
from likewise.evaluation._checks import N_FOLDS, choose_methods


def estimate_compare(
    X: TableLike,
    y: ArrayLike,
    methods: Iterable[str] | Mapping[str, Any] | None = None,
    *,
    n_repeats: int = 2,
) -> Estimate:
    """Estimate the time and memory of `compare`, without fitting.

    Methods that are not of this library count as nothing.

    Parameters
    ----------
    X, y, methods, n_repeats
        As of `compare`.

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
    n, d = np.shape(X)
    part = np.broadcast_to(0.0, (n - n // N_FOLDS, d))
    fits = [
        estimator.estimate(part, y)
        for estimator in choose_methods(methods, 0).values()
        if hasattr(estimator, "estimate")
    ]
    seconds = sum(fit.seconds for fit in fits) * n_repeats * N_FOLDS
    return Estimate.of(seconds, max((fit.n_bytes for fit in fits), default=0))
