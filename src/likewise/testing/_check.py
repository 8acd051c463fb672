"""A check of the contract, and the predicates that select the estimators it applies to."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags

Predicate = Callable[[Any], bool]

DATAFRAME_PACKAGES = ("pandas", "polars")


class Check:
    """One promise of an estimator: a function that raises where the promise is broken.

    Parameters
    ----------
    function : callable
        Takes an unfitted estimator and raises an AssertionError where the promise is broken.
    applies_to : callable
        Takes an estimator and returns whether it makes this promise.
    """

    __name__: str

    def __init__(self, function: Callable[[Any], None], applies_to: Predicate) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.applies_to = applies_to

    def __call__(self, estimator: Any) -> None:
        """Check a clone of `estimator`, with ``random_state=0`` where it is None."""
        seeds = {
            name: 0
            for name, value in estimator.get_params().items()
            if value is None and name.split("__")[-1] == "random_state"
        }
        self.function(clone(estimator).set_params(**seeds))

    def __repr__(self) -> str:
        return self.__name__


def any_estimator(estimator: Any) -> bool:
    """Select every estimator."""
    return True


def check(applies_to: Predicate = any_estimator) -> Callable[[Callable[[Any], None]], Check]:
    """Make a function a `Check` for the estimators that `applies_to` selects."""
    return functools.partial(Check, applies_to=applies_to)


def has_parameter(name: str) -> Predicate:
    """Select estimators with a parameter of this name."""
    return lambda estimator: name in estimator.get_params(deep=False)


def has_method(name: str) -> Predicate:
    """Select estimators with a method of this name."""
    return lambda estimator: hasattr(estimator, name)


def reports_iterations(estimator: Any) -> bool:
    """Select iterative batch learners, where the installed scikit-learn has callbacks.

    The `max_iter` of a learner with `partial_fit` is a number of passes over a stream.
    """
    return (
        hasattr(estimator, "set_callbacks")
        and "max_iter" in estimator.get_params(deep=False)
        and not hasattr(estimator, "partial_fit")
    )


def learns_from_classes(estimator: Any) -> bool:
    """Select metric learners that need labels; a classifier may learn from a single class."""
    return not is_classifier(estimator) and bool(get_tags(estimator).target_tags.required)


def dataframes_installed(estimator: Any) -> bool:
    """Select every estimator where pandas or polars is installed."""
    return any(map(find_spec, DATAFRAME_PACKAGES))


def is_metric(estimator: Any) -> bool:
    """Select learners of a single linear map."""
    return hasattr(estimator, "mahalanobis_matrix")


def is_scale_equivariant(estimator: Any) -> bool:
    """Select metric learners whose distances all grow by one factor when X does."""
    return is_metric(estimator) and getattr(estimator, "_scale_equivariant", True)
