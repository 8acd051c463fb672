"""Small data sets for the checks, and models fitted to them."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import numpy as np
from sklearn.base import clone

from likewise._runtime.arrays import Array

_CACHED_MODELS = 16  # more than the checks of one estimator share
_models: OrderedDict[Hashable, Any] = OrderedDict()


def blobs(
    n_samples: int = 60, n_features: int = 5, n_classes: int = 3, seed: int = 0
) -> tuple[Array, Array]:
    """Return overlapping isotropic Gaussian classes of equal size, interleaved."""
    random = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    centres = random.normal(size=(n_classes, n_features))
    return centres[y] + random.normal(scale=0.7, size=(n_samples, n_features)), y


def fitted(estimator: Any, X: Array, y: Array) -> Any:
    """Return a clone of `estimator` fitted to X and y, for reading only.

    Equal parameters and data give the same model, fitted once. A check that modifies a model, or
    whose promise is about fitting itself, makes its own: ``clone(estimator).fit(X, y)``.
    """
    key = (type(estimator), _contents(estimator), X.shape, X.dtype, X.tobytes(), y.tobytes())
    if key not in _models:
        _models[key] = clone(estimator).fit(X, y)
    _models.move_to_end(key)
    while len(_models) > _CACHED_MODELS:
        _models.popitem(last=False)
    return _models[key]


def _contents(estimator: Any) -> str:
    """Return the parameters as text, with all digits of all arrays."""
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        return repr(sorted(estimator.get_params(deep=True).items()))


def outputs(estimator: Any, X: Any) -> Array:
    """Return what a fitted estimator computes for X: embedding, probabilities or scores.

    Those of a classifier of pairs are about neighbouring rows.
    """
    if hasattr(estimator, "transform"):
        return np.asarray(estimator.transform(X))
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X))
    if hasattr(estimator, "predict_proba_pairs"):
        return np.asarray(estimator.predict_proba_pairs(X[:-1], X[1:]))
    return np.asarray(estimator.decision_function(X))
