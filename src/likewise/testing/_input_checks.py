"""What every estimator promises about its input."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import clone

from likewise.testing._assertions import assert_raises_clear_error
from likewise.testing._check import (
    DATAFRAME_PACKAGES,
    check,
    dataframes_installed,
    has_parameter,
    learns_from_classes,
)
from likewise.testing._data import blobs, fitted, outputs


@check()
def check_string_labels(estimator: Any) -> None:
    """String labels give the model of integer labels in the same order."""
    X, y = blobs()
    strings = np.array(["ant", "bee", "cat"])[y]
    model = clone(estimator).fit(X, strings)
    np.testing.assert_array_equal(outputs(model, X), outputs(fitted(estimator, X, y), X))


@check(dataframes_installed)
def check_dataframe_input(estimator: Any) -> None:
    """DataFrames of pandas and polars give the model of an array and set `feature_names_in_`."""
    X, y = blobs()
    names = [f"feature {i}" for i in range(X.shape[1])]
    expected = outputs(fitted(estimator, X, y), X)
    for package in filter(find_spec, DATAFRAME_PACKAGES):
        table = import_module(package).DataFrame(dict(zip(names, X.T, strict=True)))
        model = clone(estimator).fit(table, y)
        assert list(model.feature_names_in_) == names
        np.testing.assert_array_equal(outputs(model, table), expected)


@check()
def check_duplicate_samples(estimator: Any) -> None:
    """Samples may be repeated."""
    X, y = blobs(n_samples=30)
    _assert_finite(estimator.fit(np.repeat(X, 4, axis=0), np.repeat(y, 4)), X)


@check()
def check_constant_features(estimator: Any) -> None:
    """Features may be constant."""
    X, y = blobs()
    X[:, 1], X[:, 3] = 0.0, 7.0
    _assert_finite(estimator.fit(X, y), X)


@check()
def check_more_features_than_samples(estimator: Any) -> None:
    """There may be more features than samples."""
    X, y = blobs(n_samples=24, n_features=40)
    _assert_finite(estimator.fit(X, y), X)


@check()
def check_extreme_scales(estimator: Any) -> None:
    """Values from 1e-8 to 1e8 give finite outputs."""
    X, y = blobs()
    for scale in (1e-8, 1e-4, 1e4, 1e8):
        _assert_finite(fitted(estimator, X * scale, y), X * scale)


@check(learns_from_classes)
def check_one_class_raises(estimator: Any) -> None:
    """A metric learner that needs labels raises a clear error for a single class."""
    X, _ = blobs()
    assert_raises_clear_error(partial(estimator.fit, X, np.zeros(len(X))), "class")


@check(has_parameter("n_neighbors"))
def check_too_many_neighbors_raises(estimator: Any) -> None:
    """More neighbours than there are samples raise a clear error that names `n_neighbors`."""
    X, y = blobs()
    estimator.set_params(n_neighbors=len(X) + 1)
    assert_raises_clear_error(partial(estimator.fit, X, y), "n_neighbors")


@check()
def check_nonfinite_values_raise(estimator: Any) -> None:
    """NaN and infinity raise a clear error that gives their row and column."""
    X, y = blobs()
    for value, word in ((np.nan, "NaN"), (np.inf, "infinity")):
        invalid = X.copy()
        invalid[2, 1] = value
        assert_raises_clear_error(
            partial(clone(estimator).fit, invalid, y), word, "row 2, column 1"
        )


def _assert_finite(model: Any, X: Any) -> None:
    found = outputs(model, X)
    assert np.isfinite(found).all(), "the output is not finite"
    assert (found != 0).any(), "the output is zero everywhere"


INPUT_CHECKS = (
    check_string_labels,
    check_dataframe_input,
    check_duplicate_samples,
    check_constant_features,
    check_more_features_than_samples,
    check_extreme_scales,
    check_one_class_raises,
    check_too_many_neighbors_raises,
    check_nonfinite_values_raise,
)
