"""tune_C against separate fits for each C."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import likewise as lw
from likewise.constraints import random_pairs
from likewise.knn import MetricKNN
from likewise.online import TunedC, tune_C


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    pairs, same = random_pairs(y, 300, random_state=0)
    return X, y, pairs, same


def separate_fit(model, C, X, pairs, same):
    return clone(model).set_params(C=C, max_iter=1, shuffle=False).fit_pairs(X, pairs, same)


@pytest.mark.parametrize("psd", ["end", "each", 7])
@pytest.mark.parametrize("variant", ["PA-I", "PA-II", "PALS"])
def test_each_value_equals_a_separate_fit(iris, variant, psd):
    X, _, pairs, same = iris
    for dtype, extra in ((np.float64, {}), (np.float32, {"scale": 0.5}), (np.float64, {"C": 9.0})):
        model = lw.PAMetric(variant=variant, psd=psd, **extra)
        tuned = tune_C(model, X.astype(dtype), pairs, same)
        assert isinstance(tuned, TunedC)
        np.testing.assert_allclose(tuned.Cs, np.logspace(-4, 2, 13))
        losses = [
            separate_fit(model, C, X.astype(dtype), pairs, same).cumulative_loss_ for C in tuned.Cs
        ]
        np.testing.assert_allclose(tuned.losses, losses, rtol=1e-10)
        assert tuned.Cs[np.argmin(losses)] == tuned.C
        assert tuned.accuracies is None
    assert len(set(np.round(tuned.losses, 6))) > 5
    assert not hasattr(model, "components_")


@pytest.mark.parametrize("d", [150, 60])
def test_many_features(d):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, d)) / d**0.5, np.arange(60) % 3
    pairs, same = random_pairs(y, 200, random_state=0)
    for psd in ("end", "each", 30):
        model = lw.PAMetric(psd=psd)
        tuned = tune_C(model, X, pairs, same, Cs=[10.0, 0.01])
        assert tuned.Cs.tolist() == [0.01, 10.0]
        losses = [separate_fit(model, C, X, pairs, same).cumulative_loss_ for C in tuned.Cs]
        np.testing.assert_allclose(tuned.losses, losses, rtol=1e-10)


def test_knn_criterion(iris):
    X, y, pairs, same = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model, Cs = lw.PAMetric(variant="PA-II"), [1e-3, 0.1, 10.0]
    tuned = tune_C(model, X, pairs, same, Cs=Cs, criterion="knn", y=names, n_jobs=1)
    for C, accuracy, k in zip(Cs, tuned.accuracies, tuned.n_neighbors, strict=True):
        Z = separate_fit(model, C, X, pairs, same).transform(X)
        right = {}
        for n_neighbors in {int(k), 1, 25}:
            right[n_neighbors] = sum(
                MetricKNN(n_neighbors).fit(np.delete(Z, i, 0), np.delete(y, i)).predict(Z[[i]])[0]
                == y[i]
                for i in range(0, 150, 1)
            )
        assert right[int(k)] == max(right.values())
        assert accuracy == pytest.approx(right[int(k)] / 150)
    assert tuned.Cs[tuned.accuracies.argmax()] == tuned.C


def test_invalid_input_raises_clear_errors(iris):
    X, y, pairs, same = iris
    model = lw.PAMetric()
    for words, call in [
        ("needs labels", lambda: tune_C(model, X, pairs, same, criterion="knn")),
        ("criterion", lambda: tune_C(model, X, pairs, same, criterion="best")),
        ("Cs has shape", lambda: tune_C(model, X, pairs, same, Cs=[])),
        ("Cs has shape", lambda: tune_C(model, X, pairs, same, Cs=1.0)),
        ("C=-1.0", lambda: tune_C(model, X, pairs, same, Cs=[1.0, -1.0])),
        ("no parameter 'C'", lambda: tune_C(lw.Euclidean(), X, pairs, same)),
        ("row number", lambda: tune_C(model, X, pairs + 1000, same)),
        ("labels", lambda: tune_C(model, X, pairs, same, criterion="knn", y=y[:5])),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
