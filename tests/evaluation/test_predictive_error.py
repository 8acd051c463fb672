"""The error on a stream, against a loop that predicts, counts and learns."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

import likewise as lw
from likewise.constraints import random_pairs
from likewise.datasets import load
from likewise.evaluation import predictive_error

WINE = load("wine")
X, Y = WINE.X / WINE.X.std(axis=0), np.array(WINE.classes)[WINE.y]


@pytest.mark.parametrize("learner", [lw.PA(), lw.PAM("PAM-II"), lw.CW(), lw.AROW()], ids=repr)
@pytest.mark.parametrize("record_every", [None, 1, 50, 178, 1000])
def test_classifiers(learner, record_every):
    order = np.random.default_rng(0).permutation(len(X))
    live, wrong = type(learner)(**learner.get_params()), []
    for place, i in enumerate(order):
        # Before the first event all scores are 0, which predicts the first class.
        guess = live.predict(X[[i]])[0] if place else WINE.classes[0]
        wrong.append(guess != Y[i])
        live.learn_one(X[i], Y[i], classes=WINE.classes if place == 0 else None)
    found = predictive_error(learner, X[order], Y[order], record_every=record_every)
    assert found.error == np.mean(wrong)
    np.testing.assert_array_equal(found.mistakes, np.cumsum(wrong)[found.n_events - 1])
    np.testing.assert_allclose(found.errors, found.mistakes / found.n_events)
    every = record_every or 178
    assert found.n_events.tolist() == [*range(every, 178, every), 178]
    np.testing.assert_allclose(found.learner.coef_, live.coef_, rtol=1e-8, atol=1e-10)
    assert not hasattr(learner, "coef_"), "a clone learns"


@pytest.mark.parametrize(
    "learner",
    [
        lw.PAMetric(psd="each", scale=1.0),
        lw.PAMetric("PALS", psd="each", scale=1.0),
        lw.POLA(scale=1),
    ],
    ids=repr,
)
def test_metric_learners(learner):
    pairs, same = random_pairs(Y, 300, random_state=0)
    live, wrong = type(learner)(**learner.get_params()), []
    M, b = np.zeros((13, 13)), 0.0
    for (i, j), alike in zip(pairs, same, strict=True):
        v = X[i] - X[j]
        wrong.append((v @ M @ v <= b) != alike)
        live.learn_pair(X[i], X[j], alike)
        M, b = live.mahalanobis_matrix(), live.b_
    found = predictive_error(learner, X, pairs, same, record_every=70)
    assert found.n_events.tolist() == [70, 140, 210, 280, 300]
    np.testing.assert_array_equal(found.mistakes, np.cumsum(wrong)[found.n_events - 1])
    assert found.error == np.mean(wrong)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((SGDClassifier(), X, Y), "learner is a SGDClassifier, but only online learners"),
        ((lw.PAMetric(), X, Y), "PAMetric learns from pairs, but same is None"),
        ((lw.PA(), X, Y, [True] * 178), "PA learns from labels, but same was given"),
        ((lw.PA(), X[:0], Y[:0]), "0 sample.* a minimum of 1 is required"),
        ((lw.PA(), None, Y), "X is None, but a table of rows is needed"),
        ((lw.PA(), X, Y[:100]), r"X has 178 rows but y has shape \(100,\)"),
        ((lw.PA(), X, 1), r"X has 178 rows but y has shape \(\)"),
        ((lw.PAMetric(), X, [[0, 1]], [True, False]), r"same has shape \(2,\), but 1 pairs need"),
        ((lw.PAMetric(), X, [[0, 178]], [True]), "y holds row number 178, but X has rows 0 to 177"),
        ((lw.PAMetric(), X, [], []), "y is empty, but at least one row of 2 numbers is needed"),
    ],
)
def test_bad_input(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        predictive_error(*arguments)


def test_bad_record_every():
    with pytest.raises(ValueError, match="record_every=0 is not allowed"):
        predictive_error(lw.PA(), X, Y, record_every=0)


def test_other_tables_give_the_same():
    expected = predictive_error(lw.PA(), X, Y, record_every=50).mistakes
    for table in (sp.coo_array(X), sp.coo_matrix(X), X.tolist(), pd.DataFrame(X)):
        found = predictive_error(lw.PA(), table, Y, record_every=50)
        np.testing.assert_array_equal(found.mistakes, expected)
