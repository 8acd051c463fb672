"""Learning in the span of the differences gives what learning with all features gives."""

import numpy as np
import pytest

from likewise.batch import LDML, NCML, PCML, ComposedMetric, DoubletSVM, TripletSVM
from likewise.batch._constraint_span import ConstraintSpan
from likewise.batch._margin_learner import MarginLearner
from likewise.constraints import Pairs, Triplets, random_pairs

pytestmark = pytest.mark.filterwarnings("ignore::likewise.exceptions.OverfitWarning")
LEARNERS = [PCML, NCML, LDML, DoubletSVM]
OPTIONS = {"C": 0.1, "tol": 1e-8, "max_iter": 2000, "scale": 1.0}
SIZES = [(10, 25, 12), (14, 20, 60)]  # fewer pairs, or only fewer samples, than features


def data(n_samples, n_features, n_pairs, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n_samples) % 3
    X = random.normal(size=(n_samples, n_features)) + 1e3
    X[:, :2] += 2 * y[:, None]
    return X / np.sqrt(2 * n_features), y, random_pairs(y, n_pairs, random_state=0)


def with_all_features(monkeypatch, fit):
    monkeypatch.setattr(MarginLearner, "_span", lambda self, X, constraints: None)
    found = fit()
    monkeypatch.undo()
    return found


def assert_same_model(found, expected):
    assert max(found.duality_gap_, expected.duality_gap_) <= OPTIONS["tol"]
    assert found.objective_ == pytest.approx(expected.objective_, rel=2 * OPTIONS["tol"])
    # The objective grows by ½‖M - M*‖² at least, so that both are this close to each other.
    distance = 2 * np.sqrt(2 * OPTIONS["tol"] * expected.objective_)
    assert np.linalg.norm(found.matrix_ - expected.matrix_) <= distance
    assert found.components_.shape == expected.components_.shape
    for model in (found, expected):
        gram = model.components_ @ model.components_.T
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-9 * np.trace(gram))
        peaks = model.components_[np.arange(len(gram)), np.abs(model.components_).argmax(axis=1)]
        assert (peaks >= 0).all()
        assert (np.diff(np.diag(gram)) <= 1e-9 * np.trace(gram)).all()
    metric, other = (m.components_.T @ m.components_ for m in (found, expected))
    assert np.linalg.norm(metric - other) <= distance + 1e-9 * np.trace(other)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.__name__)
def test_pairs(monkeypatch, learner, size):
    X, _, pairs = data(*size)
    assert ConstraintSpan.of(X, pairs) is not None

    def fit():
        return learner(**OPTIONS).fit_pairs(X, pairs.index, pairs.same)

    found, expected = fit(), with_all_features(monkeypatch, fit)
    assert_same_model(found, expected)
    assert found.threshold_ == pytest.approx(expected.threshold_, rel=1e-3)


def test_triplets(monkeypatch):
    X, _, _ = data(12, 40, 10)
    triplets = [(i, i + 3, i + 1) for i in range(8)]

    def fit():
        return TripletSVM(**OPTIONS).fit_triplets(X, triplets)

    assert_same_model(fit(), with_all_features(monkeypatch, fit))


def test_a_psd_cone_and_a_squared_loss(monkeypatch):
    X, y, _ = data(12, 40, 10)

    def fit():
        return ComposedMetric("doublets", loss="squared_hinge", cone="psd", **OPTIONS).fit(X, y)

    assert_same_model(fit(), with_all_features(monkeypatch, fit))


def test_float32_and_a_warm_start():
    X, _, pairs = data(*SIZES[0])
    model = PCML(C=0.1, warm_start=True).fit_pairs(X.astype(np.float32), pairs.index, pairs.same)
    assert model.components_.dtype == model.matrix_.dtype == np.float32
    first = model.n_iter_
    assert model.fit_pairs(X.astype(np.float32), pairs.index, pairs.same).n_iter_ <= first


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_all_differences_are_in_the_span(size):
    X, _, pairs = data(*size)
    X[3] = X[7]  # a difference of 0
    index = np.concatenate([pairs.index, [[3, 7], [7, 3]], pairs.index[:4, ::-1]])
    span = ConstraintSpan.of(X, Pairs(index, np.zeros(len(index), dtype=bool)))
    assert span.basis.shape[1] < X.shape[1]
    np.testing.assert_allclose(span.basis.T @ span.basis, np.eye(span.basis.shape[1]), atol=1e-12)
    differences = X[index[:, 0]] - X[index[:, 1]]
    back = span.map(differences) @ span.basis.T
    np.testing.assert_allclose(back, differences, atol=1e-12)


def test_differences_keep_their_digits_beside_an_outlier():
    random = np.random.default_rng(1)
    X = random.normal(size=(12, 30))
    X[0] *= 1e14
    index = np.array([(i, j) for i in range(12) for j in range(i)])
    span = ConstraintSpan.of(X, Pairs(index, np.zeros(len(index), dtype=bool)))
    assert span.basis.shape == (30, 11)
    differences = X[index[:, 0]] - X[index[:, 1]]
    lost = np.linalg.norm(span.map(differences) @ span.basis.T - differences, axis=1)
    assert (lost <= 1e-13 * np.linalg.norm(differences, axis=1)).all()


def test_triplets_span_both_of_their_differences():
    X = np.random.default_rng(2).normal(size=(3, 9))
    span = ConstraintSpan.of(X, Triplets(np.array([[0, 1, 2]])))
    assert span.basis.shape == (9, 2)
    for v in (X[0] - X[1], X[0] - X[2]):
        np.testing.assert_allclose(span.basis @ (span.basis.T @ v), v)


def test_enough_samples_and_pairs_need_all_features():
    X, _, pairs = data(30, 10, 100)
    assert ConstraintSpan.of(X, pairs) is None
