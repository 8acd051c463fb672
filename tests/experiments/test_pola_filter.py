"""Document filtering: each method against a plain loop, and the whole experiment at toy size."""

from dataclasses import replace

import numpy as np
import pytest

from likewise.experiments import Size, reproduce
from likewise.experiments._data import load_once
from likewise.experiments.pola_filter import (
    POLA_FILTER,
    PREDICTORS,
    _vectors,
    documents,
    error_rates,
    filter_by_pola,
    filter_by_weights,
)
from likewise.online import POLA, Perceptron

TOPICS = ("crude", "trade")


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    random = np.random.default_rng(0)

    def counts(n_samples):
        y = random.choice(3, n_samples, p=[0.2, 0.2, 0.6])
        X = random.poisson(0.3 + 2 * np.eye(3, 30)[y])
        return X.astype(np.uint8), y.astype(np.int16)

    X, y = counts(80)
    X_test, y_test = counts(40)
    classes = np.array(["crude", "trade", "earn"])
    np.savez(
        tmp_path / "reuters_r52_bow.npz", X=X, y=y, X_test=X_test, y_test=y_test, classes=classes
    )
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))


@pytest.fixture
def stream():
    random = np.random.default_rng(1)
    X = random.normal(size=(60, 5))
    return X, X[:, 0] > 0.6


def test_pola_is_the_loop_over_all_relevant_documents(stream):
    X, relevant = stream
    learner, seen, expected = POLA(scale=1.0), [], []
    for x, label in zip(X, relevant.tolist(), strict=True):
        if not seen:
            expected.append(False)
        else:
            if not hasattr(learner, "_state"):
                distances, threshold = np.zeros(len(seen)), 0.0
            else:
                M = learner.mahalanobis_matrix()
                distances = np.array([(x - other) @ M @ (x - other) for other in seen])
                threshold = learner.b_
            nearest = int(distances.argmin())
            expected.append(bool(distances[nearest] <= threshold))
            learner.learn_pair(x, seen[nearest], same=label)
        if label:
            seen.append(x)
    np.testing.assert_array_equal(filter_by_pola(X, relevant), expected)


def test_linear_classifiers_predict_before_they_learn(stream):
    X, relevant = stream
    learner, expected = Perceptron(), []
    for x, label in zip(X, relevant.tolist(), strict=True):
        expected.append(bool(learner.predict(x[None])[0]) if expected else False)
        learner.learn_one(x, label, classes=[False, True])
    np.testing.assert_array_equal(filter_by_weights(Perceptron(), X, relevant), expected)


def test_the_nearest_document_so_far_decides(stream):
    X, relevant = stream
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    expected = [False] + [
        relevant[np.linalg.norm(X[:number] - X[number], axis=1).argmin()]
        for number in range(1, len(X))
    ]
    np.testing.assert_array_equal(PREDICTORS["1-NN"](X, relevant), expected)


def test_error_rates():
    predicted = np.array([True, False, True, False, False])
    relevant = np.array([True, True, False, False, False])
    assert error_rates(predicted, relevant) == (0.5, pytest.approx(1 / 3))


@pytest.mark.usefixtures("data_folder")
def test_documents_have_unit_length_and_their_topic():
    X, relevant = documents("trade", 0, None)
    assert X.shape == (120, 30)
    lengths = np.linalg.norm(X, axis=1)
    np.testing.assert_allclose(lengths[lengths > 0], 1)
    assert 0 < relevant.sum() < 60
    assert not np.array_equal(X, documents("trade", 1, None)[0])


@pytest.mark.usefixtures("data_folder")
def test_words_have_the_largest_variance_of_tf_idf(monkeypatch):
    everything, _ = documents("trade", 0, None)
    data = load_once("reuters_r52_bow")
    counts = np.r_[data.X, data.X_test].astype(float)
    tfidf = counts * np.log(len(counts) / (counts > 0).sum(axis=0))
    chosen = np.sort(np.argsort(-tfidf.var(axis=0))[:7])
    monkeypatch.setattr("likewise.experiments.pola_filter._N_WORDS", 7)
    _vectors.cache_clear()
    X, _ = documents("trade", 0, None)
    _vectors.cache_clear()
    expected = everything[:, chosen]
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(X, expected / np.where(lengths > 0, lengths, 1), atol=1e-12)


@pytest.mark.usefixtures("data_folder")
def test_whole_experiment_at_toy_size(tmp_path):
    pytest.importorskip("matplotlib", reason="figures need Matplotlib")
    size = Size(TOPICS, tuple(PREDICTORS), runs=2, options={"limit": 100})
    found = reproduce(replace(POLA_FILTER, full=size), output=tmp_path / "results")
    assert len(found.results["cells"]) == 2 * 4 * 3
    assert all(0 <= cell["mean"] <= 100 for cell in found.results["cells"])
    assert {file.suffix for file in found.files} == {".json", ".md", ".svg", ".png"}
