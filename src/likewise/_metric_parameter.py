"""The parameter `metric` of classifiers: a metric learner or its name, fitted with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from likewise._runtime.arrays import Array
from likewise._runtime.text import quote
from likewise._runtime.validation import Rule, either, has_method, none, warn_user
from likewise.base import Learner, MetricLearner
from likewise.base.estimate import NestedFit
from likewise.methods import METHODS

_METRICS_BY_NAME = {
    method.name.casefold(): method
    for method in METHODS.values()
    if method.kind in ("metric", "online metric")
}

METRIC_RULE = either(
    none(),
    Rule(
        "the name of a metric such as 'NCA'",
        lambda v: isinstance(v, str) and v.casefold() in _METRICS_BY_NAME,
    ),
    has_method("transform", "a metric learner"),
)


def unfitted_metric(metric: Any) -> Any:
    """Return an unfitted copy of a metric learner, or the one of a name, in any case.

    A frozen metric is returned as it is.
    """
    if isinstance(metric, str):
        return _METRICS_BY_NAME[metric.casefold()].learner()
    return clone(metric)


def fresh_metric(metric: Any) -> Any:
    """Return an unfitted copy of a metric, with a warning if that one is fitted.

    A frozen metric is returned as it is.
    """
    learner = unfitted_metric(metric)
    if _is_fitted(metric) and not _is_fitted(learner):
        warn_user(
            f"metric={type(metric).__name__} is fitted already, and is fitted again; wrap it in "
            "sklearn.frozen.FrozenEstimator to use it as it is."
        )
    return learner


def require_no_gathering(metric: Any) -> None:
    """Raise if the parameter `metric` is a learner that would gather a Dask collection."""
    if not (metric is None or isinstance(metric, str | MetricLearner | FrozenEstimator)):
        raise ValueError(
            f"X is a Dask collection, but metric={quote(metric)} would gather its rows: a metric "
            "of likewise, or a frozen one, is needed."
        )


def nested_fits(
    metric: Any, number: int = 1, *, rows: float = 1.0, pairs: float = 1.0
) -> list[NestedFit]:
    """Return the fits of the parameter `metric` of an estimator, for an estimate of their cost.

    A frozen metric is not fitted, and learners of other packages have no formula. Of a pipeline,
    the steps of this library count.
    """
    if isinstance(metric, str):
        metric = unfitted_metric(metric)
    learners = [metric]
    if not isinstance(metric, FrozenEstimator):
        learners = [step for _, step in getattr(metric, "steps", [("", metric)])]
    return [NestedFit(one, number, rows, pairs) for one in learners if isinstance(one, Learner)]


def fit_metric(owner: Any, metric: Any, X: Array, y: Array, fit_params: Mapping[str, Any]) -> Any:
    """Fit a copy of the parameter `metric` of a classifier, and return it; None if it is None.

    Parameters
    ----------
    owner : estimator
        The classifier, which has `get_metadata_routing`.
    metric : metric learner, str or None
    X, y : arrays
        Training rows and their labels.
    fit_params : mapping
        What the user gave to ``owner.fit``. With scikit-learn's metadata routing the metric gets
        what it requests, and everything otherwise.
    """
    if metric is None:
        if fit_params:
            raise TypeError(
                f"{type(owner).__name__}.fit got {', '.join(fit_params)}, but metric=None learns "
                "nothing that could use it."
            )
        return None
    learner = fresh_metric(metric)
    if fit_params and get_config()["enable_metadata_routing"]:
        fit_params = process_routing(owner, "fit", **fit_params).metric.fit
    return learner.fit(X, y, **fit_params)


def metric_router(owner: Any, metric: Any) -> MetadataRouter:
    """Return the router of a classifier that passes on what its metric requests."""
    router = MetadataRouter(owner=owner).add_self_request(owner)
    if metric is None:
        return router
    mapping = MethodMapping().add(caller="fit", callee="fit")
    return router.add(metric=unfitted_metric(metric), method_mapping=mapping)


def _is_fitted(metric: Any) -> bool:
    try:
        check_is_fitted(metric)
    except (NotFittedError, TypeError):
        return False
    return True
