"""Small data that the checks learn from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def blobs(
    n_rows: int = 60, n_features: int = 5, n_classes: int = 3, seed: int = 0
) -> tuple[Array, Array]:
    """Return overlapping round classes of equal size, in mixed order."""
    random = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    centres = random.normal(size=(n_classes, n_features))
    return centres[y] + random.normal(scale=0.7, size=(n_rows, n_features)), y


def answers(estimator: Any, X: Array) -> Array:
    """Return what a fitted estimator says of rows, whatever kind it is."""
    if hasattr(estimator, "transform"):
        return np.asarray(estimator.transform(X))
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X))
    return np.asarray(estimator.decision_function(X))
