"""Small data sets for the checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.arrays import Array


def blobs(
    n_samples: int = 60, n_features: int = 5, n_classes: int = 3, seed: int = 0
) -> tuple[Array, Array]:
    """Return overlapping isotropic Gaussian classes of equal size, interleaved."""
    random = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    centres = random.normal(size=(n_classes, n_features))
    return centres[y] + random.normal(scale=0.7, size=(n_samples, n_features)), y


def outputs(estimator: Any, X: Array) -> Array:
    """Return what a fitted estimator computes for X: embedding, probabilities or scores."""
    if hasattr(estimator, "transform"):
        return np.asarray(estimator.transform(X))
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X))
    return np.asarray(estimator.decision_function(X))
