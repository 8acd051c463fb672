"""What every estimator promises about fitting, about its files and to scikit-learn's tools."""

from __future__ import annotations

import os
import pickle
import tempfile
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from likewise._files import load
from likewise.testing._assertions import assert_raises_clear_error
from likewise.testing._check import check, has_method, has_parameter, reports_iterations
from likewise.testing._data import blobs, fitted, outputs


@check()
def check_refit_equals_fit(estimator: Any) -> None:
    """A fit does not depend on an earlier fit to other data."""
    X, y = blobs()
    refitted = clone(estimator).fit(*blobs(n_features=3, seed=1)).fit(X, y)
    np.testing.assert_array_equal(outputs(refitted, X), outputs(fitted(estimator, X, y), X))


@check()
def check_same_seed_same_bits(estimator: Any) -> None:
    """Two fits with the same `random_state` agree to the last bit."""
    X, y = blobs()
    again = clone(estimator).fit(X, y)
    np.testing.assert_array_equal(outputs(again, X), outputs(fitted(estimator, X, y), X))


@check(has_parameter("n_jobs"))
def check_same_bits_for_any_n_jobs(estimator: Any) -> None:
    """The number of threads does not change the result."""
    X, y = blobs(n_samples=200)
    one, *others = (clone(estimator).set_params(n_jobs=n).fit(X, y) for n in (1, 2, 5))
    for other in others:
        np.testing.assert_array_equal(outputs(other, X), outputs(one, X))


@check()
def check_file_round_trip(estimator: Any) -> None:
    """A model that was saved and loaded computes the same bits."""
    X, y = blobs()
    model = fitted(estimator, X, y)
    loaded = _saved_and_loaded(model)
    assert type(loaded) is type(model)
    assert repr(loaded) == repr(model)
    np.testing.assert_array_equal(outputs(loaded, X), outputs(model, X))


@check(has_method("partial_fit"))
def check_resume_after_load(estimator: Any) -> None:
    """Learning resumed after save and load gives the bits of learning without interruption."""
    X, y = blobs()
    options = {"classes": np.unique(y)} if is_classifier(estimator) else {}
    interrupted = clone(estimator).partial_fit(X[:30], y[:30], **options)
    resumed = _saved_and_loaded(interrupted).partial_fit(X[30:], y[30:])
    straight = clone(estimator).partial_fit(X[:30], y[:30], **options).partial_fit(X[30:], y[30:])
    np.testing.assert_array_equal(outputs(resumed, X), outputs(straight, X))


@check()
def check_failed_refit_keeps_model(estimator: Any) -> None:
    """A fit that raises leaves the model as it was."""
    X, y = blobs()
    model = estimator.fit(X, y)
    before = outputs(model, X)
    invalid = X.copy()
    invalid[2, 1] = np.nan
    assert_raises_clear_error(partial(model.fit, invalid, y), "NaN")
    np.testing.assert_array_equal(outputs(model, X), before)


@check()
def check_pickle_round_trip(estimator: Any) -> None:
    """A pickled model computes the same bits."""
    X, y = blobs()
    model = fitted(estimator, X, y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(outputs(copied, X), outputs(model, X))


@check()
def check_clone_is_unfitted(estimator: Any) -> None:
    """A clone has the parameters and no fitted attribute."""
    copied = clone(fitted(estimator, *blobs()))
    assert repr(copied) == repr(estimator)
    kept = [name for name in vars(copied) if name.endswith("_")]
    assert not kept, f"clone kept {kept}"


@check(reports_iterations)
def check_callbacks_receive_models(estimator: Any) -> None:
    """scikit-learn's callbacks receive a usable model after every iteration."""
    X, y = blobs()
    # In a refit the model must be that of the present fit.
    for model in (clone(estimator), clone(estimator).fit(*blobs(n_features=3, seed=1))):
        recorder = _ModelRecorder()
        expected = outputs(model.set_callbacks(recorder).fit(X, y), X)
        assert recorder.models, "the callback received no model"
        for found in (outputs(given, X) for given in recorder.models):
            assert found.shape == expected.shape, f"{found.shape} instead of {expected.shape}"
            assert np.isfinite(found).all(), "the output is not finite"


@check()
def check_grid_search_in_pipeline(estimator: Any) -> None:
    """The estimator works inside a Pipeline inside a GridSearchCV."""
    X, y = blobs()
    if hasattr(estimator, "transform"):
        steps = [StandardScaler(), estimator, KNeighborsClassifier()]
        grid = {"kneighborsclassifier__n_neighbors": [1, 3]}
    else:
        steps, grid = [StandardScaler(), estimator], {}
    search = GridSearchCV(make_pipeline(*steps), grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.5, f"cross-validated accuracy is only {search.best_score_:.2f}"


class _ModelRecorder:
    """A callback of scikit-learn that keeps the models it receives."""

    max_propagation_depth = 0

    def __init__(self) -> None:
        self.models: list[Any] = []

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing before the fit."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing after the fit."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing before an iteration."""

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> None:
        """Keep the model after an iteration."""
        if context.task_name == "iteration":
            self.models.append(fitted_estimator)


def _saved_and_loaded(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        model.save(path)
        return load(path)


FIT_CHECKS = (
    check_refit_equals_fit,
    check_same_seed_same_bits,
    check_same_bits_for_any_n_jobs,
    check_file_round_trip,
    check_resume_after_load,
    check_failed_refit_keeps_model,
    check_pickle_round_trip,
    check_clone_is_unfitted,
    check_callbacks_receive_models,
    check_grid_search_in_pipeline,
)
