"""L of what a figure of a metric is asked to draw."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from likewise._runtime.arrays import FloatArray
from likewise._runtime.text import quote
from likewise._runtime.validation import as_float_array, check_finite
from likewise.base.metric_learner import linear_components


def linear_map(metric: Any, owner: str) -> FloatArray:
    """Return L of a fitted linear metric, of a decision with one, of a pipeline's end, or as given.

    Parameters
    ----------
    metric : fitted estimator or array of shape (n_components, n_features)
    owner : str
        The figure that needs it, for the error.
    """
    if isinstance(metric, np.ndarray | list | tuple):
        L = as_float_array(metric, "metric")
        if L.ndim != 2 or 0 in L.shape:
            raise ValueError(
                f"metric has shape {L.shape}, but {owner} needs a matrix with one row per "
                "direction and one column per feature."
            )
        check_finite(L, "metric")
        return L
    learner = fitted_metric(metric)
    components = linear_components(learner) if hasattr(learner, "components_") else None
    if components is None:
        raise ValueError(
            f"metric is {quote(metric)}, but {owner} needs a fitted linear metric, or its matrix L."
        )
    return np.asarray(components, dtype=np.float64)


def fitted_metric(metric: Any) -> Any:
    """Return the metric of a `PairClassifier` or `MetricKNN`, and the last step of a pipeline."""
    if isinstance(metric, Pipeline):
        metric = metric.steps[-1][1]
    held = getattr(metric, "metric_", None)
    return metric if held is None else held


def feature_labels(
    metric: Any, n_features: int, names: Any, *, argument: str = "feature_names"
) -> list[str]:
    """Return the names of features: as given, of the table that was fitted, else x0, x1, …"""
    if names is None:
        names = getattr(fitted_metric(metric), "feature_names_in_", None)
    if names is None:
        return [f"x{i}" for i in range(n_features)]
    listed = [str(name) for name in names]
    if len(listed) != n_features:
        raise ValueError(
            f"{argument} has {len(listed)} names, but the metric has {n_features} features."
        )
    return listed
