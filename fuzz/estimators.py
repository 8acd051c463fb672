"""Every public estimator with cheap settings, and what can be asked of a fitted one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import likewise as lw

_CHEAP = {"max_iter": 5, "n_neighbors": 1, "n_metrics": 2, "n_same": 1, "n_different": 1}
VARIANTS = (
    lw.LMNN(1, solver="projected", max_iter=12),
    lw.LMNN(1, kernel="rbf", max_iter=5),
    lw.NCA(solver="adam", max_iter=3),
    lw.PAMetric(psd="each", record_every=7),
    lw.POLA(kernel="rbf", max_iter=2),
    lw.AROW(covariance=2),
    lw.AROW(covariance="diagonal", multiclass="top2"),
    lw.MetricKNN(metric=lw.NCA(max_iter=3)),
    lw.EnergyClassifier(lw.LMNN(1, max_iter=5)),
)


def all_estimators() -> list[BaseEstimator]:
    """Return one estimator per public class and some variants."""
    public = [value for name in lw.__all__ if isinstance(value := getattr(lw, name), type)]
    found = []
    for cls in (value for value in public if issubclass(value, BaseEstimator)):
        names = cls().get_params(deep=False)
        found.append(cls(**{name: value for name, value in _CHEAP.items() if name in names}))
    return found + [clone(variant) for variant in VARIANTS]


def answers(model: Any, X: Any) -> list[np.ndarray]:
    """Return what a fitted model answers to rows."""
    names = ("transform", "predict", "predict_proba", "decision_function")
    return [np.asarray(getattr(model, name)(X)) for name in names if hasattr(model, name)]


def is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def check_usable(model: Any, X: Any) -> None:
    """Raise an AssertionError unless a fitted model answers with finite numbers or labels."""
    for answer in answers(model, X):
        assert len(answer) == len(X), f"{len(answer)} answers to {len(X)} rows"
        if answer.dtype.kind == "f":
            assert np.isfinite(answer).all(), "an answer is not finite"


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore warnings: they are not what is tested here."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
