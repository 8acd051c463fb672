"""What every estimator of this library promises beyond scikit-learn's contract."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from likewise._files import load
from likewise.testing._assertions import assert_raises_clear_error
from likewise.testing._data import blobs, outputs


def check_refit_equals_fit(estimator: Any) -> None:
    """Fitting again, on other data first, leaves no trace."""
    X, y = blobs()
    fresh = clone(estimator).fit(X, y)
    again = clone(estimator).fit(*blobs(n_features=3, seed=1)).fit(X, y)
    np.testing.assert_array_equal(outputs(again, X), outputs(fresh, X))


def check_same_seed_same_bits(estimator: Any) -> None:
    """Two fits from the same seed agree to the last bit."""
    X, y = blobs()
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    first, second = clone(estimator).fit(X, y), clone(estimator).fit(X, y)
    np.testing.assert_array_equal(outputs(first, X), outputs(second, X))


def check_same_bits_for_any_n_jobs(estimator: Any) -> None:
    """The number of threads changes the time, not the answer."""
    if "n_jobs" not in estimator.get_params():
        return
    X, y = blobs(n_samples=200)
    one, *others = (clone(estimator).set_params(n_jobs=n).fit(X, y) for n in (1, 2, 5))
    for other in others:
        np.testing.assert_array_equal(outputs(other, X), outputs(one, X))


def check_file_round_trip(estimator: Any) -> None:
    """A model that was saved and loaded answers as before, bit for bit."""
    X, y = blobs()
    model = estimator.fit(X, y)
    loaded = _through_a_file(model)
    assert type(loaded) is type(model)
    assert repr(loaded) == repr(model)
    np.testing.assert_array_equal(outputs(loaded, X), outputs(model, X))


def check_resume_after_load(estimator: Any) -> None:
    """Learning that goes on after save and load gives the bits of never having stopped."""
    if not hasattr(estimator, "partial_fit"):
        return
    X, y = blobs()
    options = {"classes": np.unique(y)} if is_classifier(estimator) else {}
    stopped = clone(estimator).partial_fit(X[:30], y[:30], **options)
    resumed = _through_a_file(stopped).partial_fit(X[30:], y[30:])
    straight = clone(estimator).partial_fit(X[:30], y[:30], **options).partial_fit(X[30:], y[30:])
    np.testing.assert_array_equal(outputs(resumed, X), outputs(straight, X))


def check_failed_refit_keeps_model(estimator: Any) -> None:
    """A fit that is refused leaves what was learned before."""
    X, y = blobs()
    model = estimator.fit(X, y)
    before = outputs(model, X)
    spoiled = X.copy()
    spoiled[2, 1] = np.nan
    assert_raises_clear_error(partial(model.fit, spoiled, y), "NaN")
    np.testing.assert_array_equal(outputs(model, X), before)


def check_pickle_round_trip(estimator: Any) -> None:
    """A pickled model answers as before, bit for bit."""
    X, y = blobs()
    model = estimator.fit(X, y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(outputs(copied, X), outputs(model, X))


def check_clone_is_unfitted(estimator: Any) -> None:
    """A clone has the parameters and nothing that was learned."""
    X, y = blobs()
    copied = clone(estimator.fit(X, y))
    assert repr(copied) == repr(estimator)
    learned = [name for name in vars(copied) if name.endswith("_")]
    assert not learned, f"clone kept {learned}"


def check_callbacks_receive_models(estimator: Any) -> None:
    """The model that scikit-learn's callbacks are given after an iteration answers as any does."""
    if not hasattr(estimator, "set_callbacks"):
        return
    X, y = blobs()
    # What an earlier fit has left is of no use.
    for model in (clone(estimator), clone(estimator).fit(*blobs(n_features=3, seed=1))):
        watch = _Watch()
        expected = outputs(model.set_callbacks(watch).fit(X, y), X)
        for found in (outputs(given, X) for given in watch.models):
            assert found.shape == expected.shape, f"{found.shape} instead of {expected.shape}"
            assert np.isfinite(found).all(), "the answer is not finite"


def check_string_labels(estimator: Any) -> None:
    """Labels may be words: they give the model that numbers in the same order give."""
    X, y = blobs()
    words = np.array(["ant", "bee", "cat"])[y]
    numbered, worded = clone(estimator).fit(X, y), clone(estimator).fit(X, words)
    np.testing.assert_array_equal(outputs(worded, X), outputs(numbered, X))


def check_dataframe_input(estimator: Any) -> None:
    """DataFrames of pandas and polars give what arrays give, and their columns are remembered."""
    X, y = blobs()
    names = [f"feature {i}" for i in range(X.shape[1])]
    expected = outputs(clone(estimator).fit(X, y), X)
    for make in _table_makers():
        table = make(X, names)
        model = clone(estimator).fit(table, y)
        assert list(model.feature_names_in_) == names
        np.testing.assert_array_equal(outputs(model, table), expected)


def check_grid_search_in_pipeline(estimator: Any) -> None:
    """The estimator works inside a Pipeline inside a GridSearchCV."""
    X, y = blobs()
    if is_classifier(estimator):
        steps, grid = [StandardScaler(), estimator], {}
    else:
        steps = [StandardScaler(), estimator, KNeighborsClassifier()]
        grid = {"kneighborsclassifier__n_neighbors": [1, 3]}
    search = GridSearchCV(make_pipeline(*steps), grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.5, f"cross-validated accuracy is only {search.best_score_:.2f}"


def check_duplicate_samples(estimator: Any) -> None:
    """Rows that occur many times do no harm."""
    X, y = blobs(n_samples=30)
    _assert_finite(estimator.fit(np.repeat(X, 4, axis=0), np.repeat(y, 4)), X)


def check_constant_features(estimator: Any) -> None:
    """Features that never vary do no harm."""
    X, y = blobs()
    X[:, 1], X[:, 3] = 0.0, 7.0
    _assert_finite(estimator.fit(X, y), X)


def check_more_features_than_samples(estimator: Any) -> None:
    """Wide tables are learned from too."""
    X, y = blobs(n_samples=24, n_features=40)
    _assert_finite(estimator.fit(X, y), X)


def check_extreme_scales(estimator: Any) -> None:
    """Data of size 1e-8 to 1e8 give finite answers."""
    X, y = blobs()
    for scale in (1e-8, 1e-4, 1e4, 1e8):
        _assert_finite(clone(estimator).fit(X * scale, y), X * scale)


def check_one_class_raises(estimator: Any) -> None:
    """A metric learner that needs labels says so when they say nothing."""
    if is_classifier(estimator) or not get_tags(estimator).target_tags.required:
        return
    X, _ = blobs()
    assert_raises_clear_error(partial(estimator.fit, X, np.zeros(len(X))), "class")


def check_too_many_neighbors_raises(estimator: Any) -> None:
    """Asking for more neighbours than there can be is refused by name."""
    if "n_neighbors" not in estimator.get_params():
        return
    X, y = blobs()
    # A row is not its own neighbour: a class of 20 rows offers 19. A classifier asks all rows.
    too_many = len(X) + 1 if is_classifier(estimator) else int(np.bincount(y).min())
    estimator.set_params(n_neighbors=too_many)
    assert_raises_clear_error(partial(estimator.fit, X, y), "n_neighbors")


def check_nonfinite_values_raise(estimator: Any) -> None:
    """NaN and infinity are refused in a sentence that says where they stand."""
    X, y = blobs()
    for bad, word in ((np.nan, "NaN"), (np.inf, "infinity")):
        spoiled = X.copy()
        spoiled[2, 1] = bad
        assert_raises_clear_error(
            partial(clone(estimator).fit, spoiled, y), word, "row 2, column 1"
        )


def _assert_finite(model: Any, X: Any) -> None:
    found = outputs(model, X)
    assert np.isfinite(found).all(), "the answer is not finite"
    assert (found != 0).any(), "the answer is zero everywhere"


class _Watch:
    """A callback of scikit-learn that keeps the models it is given."""

    max_propagation_depth = 0

    def __init__(self) -> None:
        self.models: list[Any] = []

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """End."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing before an iteration."""

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> None:
        """Keep the model after it."""
        if context.task_name == "iteration":
            self.models.append(fitted_estimator)


def _through_a_file(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        model.save(path)
        return load(path)


def _table_makers() -> list[Callable[[Any, list[str]], Any]]:
    """Return what is installed of pandas and polars."""
    makers: list[Callable[[Any, list[str]], Any]] = []
    for package in ("pandas", "polars"):
        try:
            module = __import__(package)
        except ImportError:
            continue
        makers.append(partial(_table, module.DataFrame))
    return makers


def _table(frame: Callable[[dict[str, Any]], Any], X: Any, names: list[str]) -> Any:
    return frame(dict(zip(names, X.T, strict=True)))


LEARNER_CHECKS: tuple[Callable[[Any], None], ...] = (
    check_refit_equals_fit,
    check_same_seed_same_bits,
    check_same_bits_for_any_n_jobs,
    check_file_round_trip,
    check_resume_after_load,
    check_failed_refit_keeps_model,
    check_pickle_round_trip,
    check_clone_is_unfitted,
    check_callbacks_receive_models,
    check_string_labels,
    check_dataframe_input,
    check_grid_search_in_pipeline,
    check_duplicate_samples,
    check_constant_features,
    check_more_features_than_samples,
    check_extreme_scales,
    check_one_class_raises,
    check_too_many_neighbors_raises,
    check_nonfinite_values_raise,
)
