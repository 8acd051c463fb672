"""The choice of a parameter by mistakes on the first part of a stream."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

import likewise as lw
from likewise.datasets import load
from likewise.online import tune_classifier

WINE = load("wine")
ORDER = np.random.default_rng(1).permutation(178)
X, Y = (WINE.X / WINE.X.std(axis=0))[ORDER], np.array(WINE.classes)[WINE.y[ORDER]]


@pytest.mark.parametrize(
    ("model", "parameter"),
    [
        (lw.PA("PA-II"), "C"),
        (lw.PAM("PAM-I"), "C"),
        (lw.AROW(), "r"),
        (lw.CW(), "initial_variance"),
    ],
    ids=repr,
)
def test_counts_the_mistakes_of_each_value(model, parameter):
    values = [1.0, 0.001, 0.1]
    found = tune_classifier(model, X, Y, parameter=parameter, values=values, n_samples=60)
    expected = []
    for value in sorted(values):
        live = type(model)(**model.get_params() | {parameter: value})
        for place in range(60):
            classes = WINE.classes if place == 0 else None
            live.learn_one(X[place], Y[place], classes=classes)
        expected.append(live.mistakes_)
    assert found.values.tolist() == sorted(values)
    assert found.mistakes.tolist() == expected
    assert found.value == sorted(values)[int(np.argmin(expected))]
    assert not hasattr(model, "coef_")


def test_only_the_first_part_is_looked_at():
    found = tune_classifier(lw.PAM(), X, Y)
    assert (found.n_samples, len(found.values)) == (44, 13)
    other = X.copy()
    other[44:] = 0
    again = tune_classifier(lw.PAM(), sp.csr_array(other), Y)
    np.testing.assert_array_equal(again.mistakes, found.mistakes)


def test_the_smallest_of_equally_good_values():
    found = tune_classifier(lw.PA(), [[1.0], [-1.0]], [1, -1], values=[3.0, 2.0], n_samples=2)
    assert found.mistakes[0] == found.mistakes[1]
    assert found.value == 2.0


@pytest.mark.parametrize(
    ("model", "options", "sentence"),
    [
        (SGDClassifier(), {}, "model is a SGDClassifier, but it must be an online classifier"),
        (lw.PAMetric(), {}, "model is a PAMetric, but it must be an online classifier"),
        (lw.AROW(), {}, "AROW has no parameter 'C' to tune"),
        (lw.PA(), {"values": []}, r"values has shape \(0,\), but a list of values is needed"),
        (lw.PA(), {"values": [-1.0]}, r"C=-1\.0 is not allowed"),
        (lw.PA(), {"values": "a"}, "values holds 'a', but only real numbers are allowed"),
        (lw.PA(), {"n_samples": 0}, "n_samples=0 is not allowed"),
        (lw.PA(), {"n_samples": 179}, "n_samples is 179, but the stream has 178 samples"),
    ],
)
def test_bad_input(model, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        tune_classifier(model, X, Y, **options)


@pytest.mark.parametrize(
    ("table", "labels", "sentence"),
    [
        (X, Y[:100], r"X has 178 rows but y has shape \(100,\); they must match"),
        (X, 1, r"X has 178 rows but y has shape \(\); they must match"),
        (None, Y, "X is None, but a table of rows is needed"),
        (X, np.full(178, np.nan), "y contains NaN"),
        (X, np.ones(178), "has one class, but at least 2 are needed"),
    ],
    ids=["fewer labels", "one label", "no table", "NaN", "one class"],
)
def test_bad_streams(table, labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        tune_classifier(lw.PA(), table, labels)
