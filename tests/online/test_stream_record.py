"""Mistakes and F1 scores of online classifiers on their stream, against scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import f1_score

import likewise as lw
from likewise.datasets import load

LEARNERS = [
    lw.Perceptron(),
    lw.PAUM(),
    lw.PA("PA-II"),
    lw.PAM("PAM-II"),
    lw.CW(covariance="diagonal"),
    lw.AROW(covariance=3),
    lw.SecondOrderPerceptron(),
]
WINE = load("wine")
ORDER = np.random.default_rng(0).permutation(178)
X = ((WINE.X - WINE.X.mean(axis=0)) / WINE.X.std(axis=0))[ORDER]
LABELS = {2: np.where(WINE.y[ORDER] == 1, "yes", "no"), 3: np.array(WINE.classes)[WINE.y[ORDER]]}


def like(learner, **changes):
    return type(learner)(**learner.get_params() | changes)


def predictions(learner, y):
    """What is predicted before each sample is learned: the first class while all scores are 0."""
    classes = np.unique(y)
    live, guesses = like(learner), []
    for place, (x, label) in enumerate(zip(X, y, strict=True)):
        guesses.append(live.predict([x])[0] if place else classes[0])
        live.learn_one(x, label, classes=classes if place == 0 else None)
    return np.array(guesses), live


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_mistakes_and_f1(learner, n_classes):
    y = LABELS[n_classes]
    guesses, one_by_one = predictions(learner, y)
    expected = f1_score(y, guesses, average=None)
    batch = like(learner, record_every=50).partial_fit(X, y, classes=np.unique(y))
    for live in (one_by_one, batch):
        assert live.mistakes_ == np.count_nonzero(guesses != y)
        np.testing.assert_allclose(live.f1_, expected)
    history = batch.history_
    assert history["n_events"].tolist() == [50, 100, 150]
    wrong = np.cumsum(guesses != y)[[49, 99, 149]]
    np.testing.assert_array_equal(history["mistakes"], wrong)
    np.testing.assert_allclose(history["predictive_error"], wrong / [50, 100, 150])
    for n, scores in zip((50, 100, 150), history["f1"], strict=True):
        np.testing.assert_allclose(
            scores, f1_score(y[:n], guesses[:n], average=None, labels=np.unique(y), zero_division=0)
        )


@pytest.mark.parametrize("learner", LEARNERS[2:4], ids=lambda learner: type(learner).__name__)
def test_the_history_does_not_depend_on_how_a_stream_is_cut(learner, tmp_path):
    y = LABELS[3]
    whole = like(learner, record_every=7).partial_fit(X, y, classes=WINE.classes)
    parts = like(learner, record_every=7)
    parts.partial_fit(X[:30], y[:30], classes=WINE.classes)
    parts.save(tmp_path / "model.safetensors")
    parts = lw.load(tmp_path / "model.safetensors")
    for i in range(30, 60):
        parts.learn_one(X[i], y[i])
    parts.partial_fit(sp.csr_array(X[60:100]), y[60:100])
    parts.partial_fit(X[100:], y[100:])
    assert len(whole.history_["n_events"]) == 25
    for name, column in whole.history_.items():
        np.testing.assert_allclose(parts.history_[name], column)
    np.testing.assert_array_equal(parts.f1_, whole.f1_)


def test_recording_does_not_change_the_model():
    for options in ({}, {"covariance": "diagonal"}):
        plain = lw.AROW(**options, random_state=0).fit(X, LABELS[3])
        recorded = lw.AROW(**options, record_every=3, random_state=0).fit(X, LABELS[3])
        np.testing.assert_allclose(recorded.coef_, plain.coef_, rtol=1e-9, atol=1e-12)
        assert recorded.mistakes_ == plain.mistakes_
        assert recorded.history_["n_events"][-1] == 5 * 178 // 3 * 3
        recorded.fit(X, LABELS[3])
        assert len(recorded.history_["n_events"]) == 5 * 178 // 3, "a new fit begins a new history"


def test_a_failed_batch_leaves_the_history_as_it_was():
    y = LABELS[2]
    live = lw.PA(record_every=10).partial_fit(X[:40], y[:40], classes=["no", "yes"])
    broken = X[40:80].copy()
    broken[35] = np.nan
    for bad in (broken, sp.csr_array(broken)):
        with pytest.raises(ValueError, match="NaN"):
            live.partial_fit(bad, y[40:80])
        assert live.history_["n_events"].tolist() == [10, 20, 30, 40]
        assert (live.n_events_, live.f1_.shape) == (40, (2,))


def test_a_class_that_never_comes_has_f1_0():
    live = lw.PA().partial_fit(X[:20], np.full(20, "a"), classes=["a", "b", "c"])
    assert live.f1_[2] == 0


def test_bad_record_every():
    with pytest.raises(ValueError, match="record_every=0 is not allowed"):
        lw.PA(record_every=0).fit(X, LABELS[2])
    with pytest.raises(AttributeError):
        _ = lw.PA().fit(X, LABELS[2]).history_
