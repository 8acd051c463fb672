"""Dicts of features, and river's pipelines where river is installed."""

import pickle
import sys

import numpy as np
import pytest

import likewise as lw
from likewise.online.river import ClassifierStream, PairStream

NAMES = ["b", "a", "d", "c"]


def as_dict(row):
    return {name: float(value) for name, value in zip(NAMES, row, strict=True) if value}


@pytest.fixture
def events():
    rng = np.random.default_rng(0)
    sides = rng.normal(size=(40, 2, 4))
    sides[3:, 1, 2] = 0  # left out of the dict
    return sides, rng.random(40) < 0.5


def test_dicts_are_rows_in_sorted_order(events):
    stream, plain = PairStream(lw.PAMetric()), lw.PAMetric()
    order = [NAMES.index(name) for name in sorted(NAMES)]
    for (a, b), same in zip(*events, strict=True):
        stream.learn_one((as_dict(a), as_dict(b)), bool(same))
        plain.learn_pair(a[order], b[order], bool(same))
    assert stream.features == ("a", "b", "c", "d")
    assert stream.model.components_.tobytes() == plain.components_.tobytes()
    a, b = events[0][7]
    pair = as_dict(a), as_dict(b)
    A, B = a[order][None], b[order][None]
    assert stream.predict_one(pair) == plain.predict_pairs(A, B)[0]
    mapped = stream.transform_one(pair[0])
    assert list(mapped.values()) == plain.transform(A)[0].tolist()


def test_labelled_samples_are_paired_with_the_memory(events):
    rows, labels = events[0][:, 0], events[1]
    stream, plain = PairStream(lw.PAMetric(memory=3)), lw.PAMetric(memory=3)
    for row, label in zip(rows, labels, strict=True):
        stream.learn_one(as_dict(row), "yes" if label else "no")
    plain.partial_fit(rows[:, [1, 0, 3, 2]], np.where(labels, "yes", "no"))
    # Not the components: the row of an eigenvalue that a projection made zero is rounding error.
    matrices = (model.mahalanobis_matrix() for model in (stream.model, plain))
    np.testing.assert_allclose(*matrices, rtol=1e-8, atol=1e-12)
    assert stream.model.n_events_ == plain.n_events_


def test_invalid_events_raise_clear_errors():
    stream = PairStream(lw.PAMetric())
    one = {"a": 1.0}
    with pytest.raises(ValueError, match="is not fitted yet"):
        stream.predict_one((one, one))
    for bad in (3, (one,), (one, 4), [one, one, one], "xy"):
        with pytest.raises(ValueError, match="pair of dicts"):
            stream.learn_one(bad, True)
    with pytest.raises(ValueError, match="finite"):
        stream.learn_one(({"z": np.nan}, {"z": 1.0}), True)
    assert stream.features is None
    assert stream.transform_one({"b": 2.0, "a": 1.0}) == {0: 1.0, 1: 2.0}
    stream.learn_one((one, {"b": 2.0}), True)
    for call in (
        lambda: stream.learn_one((one, {"new": 1.0}), True),
        lambda: stream.predict_one((one, {"new": 1.0})),
        lambda: stream.transform_one({"new": 1.0}),
    ):
        with pytest.raises(ValueError, match=r"feature 'new' is new, but only .*'a', 'b'"):
            call()
    assert stream.model.n_events_ == 1


def test_pipeline_step_without_river_raises_a_clear_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.setitem(sys.modules, "river.base", None)
    with pytest.raises(ImportError, match="pip install river"):
        PairStream(lw.PAMetric()).pipeline_step()


def test_in_a_pipeline():
    pytest.importorskip("river", reason="river is not installed")
    from river import neighbors, preprocessing

    stream, plain = (PairStream(lw.PAMetric(memory=5)) for _ in range(2))
    pipeline = preprocessing.StandardScaler() | stream.pipeline_step()
    pipeline |= neighbors.KNNClassifier(n_neighbors=3)
    scaler = preprocessing.StandardScaler()
    rng = np.random.default_rng(1)
    for _ in range(60):
        label = bool(rng.random() < 0.5)
        x = {"signal": rng.normal() + 4 * label, "noise": 10 * rng.normal()}
        pipeline.learn_one(x, label)
        scaler.learn_one(x)
        plain.learn_one(scaler.transform_one(x), label)
    assert pipeline.predict_one(x) in (True, False)
    assert stream.model.n_updates_ == plain.model.n_updates_ > 0
    assert stream.model.components_.tobytes() == plain.model.components_.tobytes()


def test_labelled_dicts_are_rows_in_sorted_order():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), rng.integers(0, 3, 40)
    X[5:, 2] = 0  # left out of the dict
    words = np.array(["x", "y", "z"])
    order = [NAMES.index(name) for name in sorted(NAMES)]
    stream, plain = ClassifierStream(lw.AROW(), classes=words), lw.AROW()
    assert stream.predict_one(as_dict(X[0])) is None
    assert stream.decision_one(as_dict(X[0])) == {}
    for row, code in zip(X, y, strict=True):
        stream.learn_one(as_dict(row), words[code])
        plain.learn_one(row[order], words[code], classes=words)
    assert stream.features == ("a", "b", "c", "d")
    assert stream.model.coef_.tobytes() == plain.coef_.tobytes()
    for row in X[:9]:
        scores = plain.decision_function(row[order][None])[0]
        assert stream.decision_one(as_dict(row)) == dict(zip("xyz", scores.tolist(), strict=True))
        assert stream.predict_one(as_dict(row)) == plain.predict(row[order][None])[0]


def test_invalid_labelled_dicts_set_no_columns():
    stream = ClassifierStream(lw.PA())
    with pytest.raises(ValueError, match="NaN"):
        stream.learn_one({"z": np.nan}, True)
    with pytest.raises(ValueError, match="pass classes="):
        stream.learn_one({"z": 1.0}, "spam")
    assert stream.features is None
    stream.learn_one({"a": 1.0}, True)
    assert stream.decision_one({"a": 2.0}) == {True: 2.0}
    with pytest.raises(ValueError, match="feature 'new' is new"):
        stream.learn_one({"new": 1.0}, True)


def test_classifier_in_a_river_pipeline():
    compose = pytest.importorskip("river.compose")
    preprocessing = pytest.importorskip("river.preprocessing")
    rng = np.random.default_rng(0)
    stream = ClassifierStream(lw.AROW())
    model = compose.Pipeline(preprocessing.StandardScaler(), stream.pipeline_step())
    right = 0
    for _ in range(300):
        label = bool(rng.integers(2))
        x = {"a": rng.normal() + 3 * label, "b": rng.normal()}
        right += model.predict_one(x) == label
        model.learn_one(x, label)
    assert right > 240
    assert stream.model.n_events_ == 300


def test_classifier_step_without_river_raises_a_clear_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.setitem(sys.modules, "river.base", None)
    with pytest.raises(ImportError, match="pip install river"):
        ClassifierStream(lw.PA()).pipeline_step()


def steps():
    return {
        "metric": PairStream(lw.PAMetric(memory=5)).pipeline_step(),
        "neighbours": PairStream(lw.PAMetric(memory=5)).knn_step(3, window_size=50),
        "two classes": ClassifierStream(lw.AROW()).pipeline_step(),
        "classes": ClassifierStream(lw.PA(), classes=[False, True]).pipeline_step(),
    }


STEP_NAMES = ["metric", "neighbours", "two classes", "classes"]


def labelled_stream(n=60, seed=1):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        label = bool(rng.random() < 0.5)
        yield {"signal": rng.normal() + 2 * label, "noise": rng.normal()}, label


def answers(step):
    answer = step.transform_one if hasattr(step, "transform_one") else step.predict_one
    return [answer(x) for x, _ in labelled_stream(20, seed=2)]


@pytest.mark.parametrize("name", STEP_NAMES)
def test_steps_pickle_and_clone(name):
    pytest.importorskip("river", reason="river is not installed")
    step = steps()[name]
    untouched = answers(step)
    for x, label in labelled_stream():
        step.learn_one(x, label)
    learned = answers(step)
    assert learned != untouched
    copies = [pickle.loads(pickle.dumps(step)), step.clone(include_attributes=True)]
    assert all(answers(copy) == learned for copy in copies)
    clone = step.clone()
    assert answers(clone) == untouched
    assert repr(clone) == repr(step)
    for x, label in labelled_stream():  # what a clone learns does not touch the step
        clone.learn_one(x, label)
    assert answers(clone) == learned == answers(step)
    for x, label in labelled_stream(seed=3):
        clone.learn_one(x, label)
    assert answers(step) == learned


@pytest.mark.parametrize("name", STEP_NAMES)
def test_steps_pass_the_checks_of_river(name):
    checks = pytest.importorskip("river.checks", reason="river is not installed")
    pytest.importorskip("river.datasets")
    model = steps()[name]
    skipped = model._unit_test_skips()
    n_checks = 0
    for check in checks.yield_checks(model):
        if check.__name__ not in skipped:
            check(model.clone())
            n_checks += 1
    assert n_checks >= 20


@pytest.mark.parametrize("window_size", [40, 1000])
def test_neighbours_are_searched_under_the_present_metric(window_size):
    pytest.importorskip("river", reason="river is not installed")
    step = PairStream(lw.PAMetric(memory=5)).knn_step(3, window_size)
    plain, rows, labels = lw.PAMetric(memory=5), [], []
    assert step.predict_one({"signal": 1.0, "noise": 0.0}) is None
    assert step.predict_proba_one({"signal": 1.0, "noise": 0.0}) == {}
    for x, label in labelled_stream(120):
        row = np.array([x["noise"], x["signal"]])
        if len(set(labels)) > 1 and len(rows) > 2:
            mapped = plain.transform(np.array(rows[-window_size:]))
            distances = np.linalg.norm(mapped - plain.transform(row[None]), axis=1)
            nearest = np.argsort(distances, kind="stable")[:3]
            share = np.mean([labels[-window_size:][place] for place in nearest])
            expected = {True: share, False: 1 - share}
            assert step.predict_proba_one(x) == pytest.approx(expected)
            assert step.predict_one(x) == (share > 0.5)
        step.learn_one(x, label)
        plain.partial_fit(row[None], [label])
        rows.append(row)
        labels.append(label)


def test_neighbours_under_a_learning_metric_on_a_stream():
    pytest.importorskip("river", reason="river is not installed")
    from river import neighbors, preprocessing
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    accuracy = {}
    for name, make in {
        "plain": lambda: neighbors.KNNClassifier(3),
        "learned": lambda: PairStream(lw.PAMetric(memory=5)).knn_step(3),
    }.items():
        model = preprocessing.StandardScaler() | make()
        right = 0
        for i in order:
            x = dict(enumerate(X[i].tolist()))
            right += model.predict_one(x) == y[i]
            model.learn_one(x, int(y[i]))
        accuracy[name] = right / len(X)
    assert accuracy["learned"] > accuracy["plain"] > 0.85
