"""PAMetric: what parameters, pairs and labels may be, and errors that leave the model unchanged."""

import re

import numpy as np
import pytest
from pa_metric_cases import FEATURES, PSD, bits, data

import likewise as lw


def test_labels_that_cannot_be_compared():
    X, _, _ = data(n=4)
    model = lw.PAMetric()
    with pytest.raises(ValueError, match="y contains NaN"):
        model.partial_fit(X, [0.0, 1.0, np.nan, 1.0])
    with pytest.raises(ValueError, match="X has 4 rows but y has shape"):
        model.partial_fit(X, [0, 1])
    model.partial_fit(X, [0, 1, 0, 1])
    before = bits(model)
    with pytest.raises(ValueError, match="text and numbers"):
        model.partial_fit(X, ["0", "1", "0", "1"])
    assert bits(model) == before


def test_initial_model():
    X, pairs, same = data()
    M = np.diag([1.0, 4.0, 9.0])
    one = X[:1], X[1:2]
    quiet = {"tolerance": 1e9, "scale": 2.0}  # no pair changes anything
    for init, matrix, b in [
        (None, np.zeros((3, 3)), 0.0),
        ("identity", np.eye(3), 1.0),
        ((M, 2.5), M, 2.5),
        ((np.diag([1.0, -4.0, 9.0]), 3), np.diag([1.0, 0.0, 9.0]), 3.0),
        (lw.Euclidean().fit(X), np.eye(3), 1.0),
    ]:
        model = lw.PAMetric(init=init, **quiet).partial_fit_pairs(X, pairs, same)
        assert model.n_updates_ == 0
        np.testing.assert_allclose(model.mahalanobis_matrix(), matrix, atol=1e-12)
        assert model.b_ == b
        assert model.pair_distance(*one)[0] == pytest.approx(
            np.sqrt((X[0] - X[1]) @ matrix @ (X[0] - X[1]))
        )
    first = lw.PAMetric().partial_fit_pairs(X, pairs, same)
    second = lw.PAMetric(init=first, **quiet).partial_fit_pairs(X, pairs, same)
    np.testing.assert_allclose(second.mahalanobis_matrix(), first.mahalanobis_matrix(), atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"init": (np.eye(2), 1.0)}, r"shape \(2, 2\), but 3 features need \(3, 3\)"),
        ({"init": (np.triu(np.ones((3, 3))), 1.0)}, "not symmetric"),
        ({"init": (np.full((3, 3), np.nan), 1.0)}, "NaN or infinity"),
        ({"init": (np.eye(3), np.inf)}, "NaN or infinity"),
        ({"init": "zero"}, "init='zero' is not allowed"),
        ({"init": np.eye(3)}, "is not allowed"),
        ({"C": 0.0}, "C=0.0 is not allowed"),
        ({"C": -1}, "C=-1 is not allowed"),
        ({"C": np.nan}, "C=nan is not allowed"),
        ({"variant": 1}, "variant=1 is not allowed"),
        ({"psd": 0}, "psd=0 is not allowed"),
        ({"psd": "never"}, "psd='never'"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"scale": 0.0}, "scale"),
        ({"memory": 0}, "memory"),
    ],
)
def test_invalid_parameters_raise_clear_errors(parameters, words):
    X, pairs, same = data()
    for learn in (
        lambda model: model.learn_pair(X[0], X[1], True),
        lambda model: model.partial_fit_pairs(X, pairs, same),
        lambda model: model.partial_fit(X, np.arange(40) % 2),
        lambda model: model.fit_pairs(X, pairs, same),
    ):
        model = lw.PAMetric(**parameters)
        with pytest.raises(ValueError, match=words):
            learn(model)
        assert not hasattr(model, "components_")


def test_failed_refit_keeps_the_model():
    X, pairs, same = data()
    model = lw.PAMetric(record_every=50).fit_pairs(X, pairs, same)
    before, L = bits(model), model.components_.copy()
    model.set_params(init=(np.eye(2), 1.0))
    with pytest.raises(ValueError, match="3 features need"):
        model.fit_pairs(X * 7, pairs, same)
    assert bits(model) == before
    assert model.components_.tobytes() == L.tobytes()


@pytest.mark.parametrize("psd", PSD)
@pytest.mark.parametrize("d", FEATURES)
def test_invalid_events_leave_the_model_unchanged(d, psd):
    X, pairs, same = data(d)
    model = lw.PAMetric(psd=psd, record_every=10).partial_fit_pairs(X, pairs, same)
    model.partial_fit(X, np.arange(40) % 2)
    before = bits(model)
    good, short = X[0], X[0, :-1]
    invalid = X.copy()
    invalid[7, 1] = np.nan
    far = X.copy()
    far[pairs[-1, 0]] = 1e80
    for words, call in [
        ("finite", lambda: model.learn_pair(invalid[7], good, True)),
        ("finite", lambda: model.learn_pair(good, np.full(d, np.inf), True)),
        ("1e\\+80", lambda: model.learn_pair(np.full(d, 1e80), good, True)),
        ("shapes", lambda: model.learn_pair(short, short, True)),
        ("shapes", lambda: model.learn_pair(good, short, True)),
        ("shapes", lambda: model.learn_pair(good, [1.0], True)),
        ("shapes", lambda: model.learn_pair(X, X, True)),
        ("shapes", lambda: model.learn_pair(3.0, 4.0, True)),
        ("numbers", lambda: model.learn_pair(["a"] * d, good, True)),
        ("same=0 is not allowed", lambda: model.learn_pair(good, good, 0)),
        ("same='yes' is not allowed", lambda: model.learn_pair(good, good, "yes")),
        ("same=None is not allowed", lambda: model.learn_pair(good, good, None)),
        ("same=array", lambda: model.learn_pair(good, good, np.array([1, 1]))),
        ("NaN in 1 row", lambda: model.partial_fit_pairs(invalid, pairs, same)),
        ("NaN in 1 row", lambda: model.partial_fit(invalid, np.arange(40) % 2)),
        ("1e\\+80", lambda: model.partial_fit_pairs(far, pairs, same)),
        (f"{d} features", lambda: model.partial_fit_pairs(X[:, 1:], pairs, same)),
        ("same holds 2", lambda: model.partial_fit_pairs(X, pairs, same + 1)),
        ("row number 40", lambda: model.partial_fit_pairs(X, [[0, 40]], [True])),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
        assert bits(model) == before, words


def test_invalid_first_event_leaves_the_learner_unfitted():
    X, pairs, same = data()
    for call in (
        lambda model: model.learn_pair([np.nan, 1.0], [0.0, 0.0], True),
        lambda model: model.learn_pair([], [], True),
        lambda model: model.partial_fit_pairs(X * 1e90, pairs, same),
    ):
        model = lw.PAMetric()
        with pytest.raises(ValueError):
            call(model)
        assert not hasattr(model, "components_")
        model.partial_fit_pairs(np.hstack([X, X]), pairs, same)
        assert model.n_features_in_ == 6


def test_batch_that_fails_midway_leaves_the_model_unchanged(monkeypatch):
    monkeypatch.setattr("likewise.online._pair_checks._CHUNK_VALUES", 16)
    X, pairs, same = data()
    X = np.vstack([X, np.full((1, 3), 1e80)])
    pairs[100] = 0, 40
    model = lw.PAMetric(record_every=10).partial_fit_pairs(X, pairs[:100], same[:100])
    before = bits(model)
    with pytest.raises(ValueError, match=re.escape("1e+80")):
        model.partial_fit_pairs(X, pairs, same)
    assert bits(model) == before


@pytest.mark.parametrize("psd", PSD)
def test_equal_samples_marked_dissimilar(psd):
    model = lw.PAMetric(psd=psd, init="identity")
    point = [1.0, 2.0]
    assert model.learn_pair(point, point, False) == 2.0
    assert (model.n_updates_, model.n_events_, model.mistakes_) == (0, 1, 1)
    assert (model.cumulative_loss_, model.b_) == (2.0, 1.0)
    assert (model.mahalanobis_matrix() == np.eye(2)).all()
    model = lw.PAMetric(psd=psd, C=10.0)
    assert model.learn_pair(point, point, True) == 1.0
    assert (model.n_updates_, model.b_) == (1, 1.0)


def test_same_may_be_a_boolean_or_a_sign():
    for yes, no in ((True, False), (1, -1), (np.True_, np.False_), (1.0, -1.0), (np.int8(1), -1)):
        model = lw.PAMetric()
        model.learn_pair([0.0], [1.0], yes)
        assert model.b_ > 0
        assert lw.PAMetric().learn_pair([0.0], [1.0], no) == 1.0


def test_psd_may_be_a_numpy_integer():
    X, pairs, same = data()
    plain = lw.PAMetric(psd=3).partial_fit_pairs(X, pairs, same)
    numpy = lw.PAMetric(psd=np.int64(3)).partial_fit_pairs(X, pairs, same)
    assert bits(plain) == bits(numpy)
