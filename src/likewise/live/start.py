"""The model before the first judgement."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from likewise._runtime.arrays import Array, FloatArray
from likewise.adapter import EmbeddingAdapter
from likewise.base.metric_learner import linear_components
from likewise.constraints import Pairs
from likewise.metric import row_norms
from likewise.online import PAMetric
from likewise.online._metric_learner import OnlineMetricLearner
from likewise.pair_classifier import PairClassifier

__all__ = ["start_model"]

_N_PAIRS = 2000
_MEDIAN_SQDIST = 4.0  # of random pairs, in units of the margin
_SHARE_BELOW = 0.25  # of random pairs below the first threshold


def start_model(X: Array, model: Any = None, *, C: float = 0.3) -> OnlineMetricLearner:
    """Return an online learner that begins with the Euclidean metric, or with a fitted one.

    The unit of length is such that the median squared distance of random pairs is 4, and the
    first threshold is their lower quartile: so the first judgements change the model, but do not
    destroy it. The pairs depend on the number of rows alone.

    Parameters
    ----------
    X : array of shape (n_items, n_features)
        Vectors of the items.
    model : fitted metric of this library, optional
        A linear metric to begin with. A `PAMetric` or `POLA` goes on learning, by its own
        parameters and from the threshold that it has learned, also as the metric of a
        `PairClassifier`. Otherwise a `PairClassifier` is its metric, with its threshold. An
        `EmbeddingAdapter` of both sides is its map, without the scaling to length 1; where it
        scales, the threshold of a classifier does not apply.
    C : float, default=0.3
        Aggressiveness of a new `PAMetric`.

    Returns
    -------
    PAMetric or POLA

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.live import start_model
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> learner = start_model(X)
    >>> learner.n_events_
    0
    """
    n_features, threshold = X.shape[1], None
    if isinstance(model, PairClassifier):
        threshold, model = model.threshold_, _metric_of(model)
    if isinstance(model, OnlineMetricLearner) and hasattr(model, "_state"):
        _check_features(model.n_features_in_, n_features)
        return copy.deepcopy(model)
    components: Array | None = np.eye(n_features)
    if isinstance(model, EmbeddingAdapter):
        components = _components_of(model)
        if model.normalize_:
            threshold = None  # of distances between images of length 1
    elif model is not None:
        components = linear_components(model)
    if components is None:
        raise ValueError(
            f"model is a {type(model).__name__}, but only a linear metric can be learned on."
        )
    _check_features(components.shape[1], n_features)
    differences = _random_differences(X)
    sqdist, mapped = row_norms(differences) ** 2, row_norms(differences @ components.T) ** 2
    scale = float(np.sqrt(_MEDIAN_SQDIST / np.median(sqdist)))
    factor = float(_MEDIAN_SQDIST / np.median(mapped))
    M = factor * (components.T @ components).astype(np.float64)
    accepted = np.quantile(mapped, _SHARE_BELOW) if threshold is None else threshold**2
    b = max(1.0, float(accepted) * factor)
    learner = PAMetric(C=C, init=((M + M.T) / 2, b), scale=scale)
    nothing = Pairs(np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.bool_))
    learner._learn_pairs(X[:1], nothing)  # so that it is fitted, and has a metric
    return learner


def _metric_of(classifier: PairClassifier) -> Any:
    """Return the metric that a classifier decides by, None for the Euclidean distance."""
    if classifier._normalized:
        raise ValueError(
            "model is a PairClassifier of cosine distances, but only a linear metric can be "
            "learned on: scale the vectors to length 1, and give no model."
        )
    metric = classifier.metric_
    return metric.estimator if isinstance(metric, FrozenEstimator) else metric


def _components_of(adapter: EmbeddingAdapter) -> Array:
    if adapter.side == "query":
        raise ValueError(
            "model is an EmbeddingAdapter with side='query', but only one that maps both sides is "
            "a metric that can be learned on: fit it with side='both'."
        )
    return adapter.components_


def _random_differences(X: Array) -> FloatArray:
    rng = np.random.default_rng(0)
    first = rng.integers(len(X), size=_N_PAIRS)
    second = (first + rng.integers(1, len(X), size=_N_PAIRS)) % len(X)
    differences = X[first].astype(np.float64) - X[second]
    apart: FloatArray = differences[differences.any(axis=1)]
    if not len(apart):
        raise ValueError(
            "the vectors of all items seem to be equal, but distances between them are needed."
        )
    return apart


def _check_features(found: int, needed: int) -> None:
    if found != needed:
        raise ValueError(
            f"the model has {found} features, but the vectors of the items have {needed}."
        )
