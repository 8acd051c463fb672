"""PLML: its weights against an independent solver, its objective and distances against loops."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

import likewise as lw
from likewise.batch.plml.mixture import Mixture
from likewise.solvers import project_to_simplex

cvxpy = pytest.importorskip("cvxpy")


@pytest.fixture
def data():
    X, y = load_wine(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.fixture
def fitted(data):
    X, y = data
    return lw.PLML(n_metrics=3, random_state=0).fit(X[::2], y[::2])


def test_weights_match_an_independent_solver():
    random = np.random.default_rng(0)
    X, U = random.normal(size=(20, 3)), random.normal(size=(4, 3))
    W = Mixture(U, 0.5, 2.0, 3).fit_weights(X, None)
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(distance, np.inf)
    edges = np.zeros((20, 20))
    np.put_along_axis(edges, np.argsort(distance, axis=1)[:, :3], 1.0, axis=1)
    edges = np.maximum(edges, edges.T)
    lap = np.diag(edges.sum(axis=1)) - edges
    V = cvxpy.Variable((20, 4), nonneg=True)
    smooth = sum(cvxpy.quad_form(V[:, b], cvxpy.psd_wrap(lap)) for b in range(4))
    objective = cvxpy.sum_squares(X - V @ U) + 0.5 * cvxpy.sum_squares(V) + 2.0 * smooth
    cvxpy.Problem(cvxpy.Minimize(objective), [cvxpy.sum(V, axis=1) == 1]).solve()
    np.testing.assert_allclose(W, V.value, atol=1e-3)
    np.testing.assert_allclose(W.sum(axis=1), 1)
    assert (W >= 0).all()


def test_weights_of_new_samples_approach_those_of_their_neighbours():
    random = np.random.default_rng(1)
    X, U = random.normal(size=(30, 2)), random.normal(size=(3, 2))
    W = project_to_simplex(random.normal(size=(30, 3)))
    alone = Mixture(U, 0.1, 0.0, 4).weights_of(X[:5], X, W, None)
    together = Mixture(U, 0.1, 1e4, 4).weights_of(X[:5], X, W, None)
    for i in range(5):
        near = np.argsort(np.linalg.norm(X - X[i], axis=1))[:4]
        np.testing.assert_allclose(together[i], W[near].mean(axis=0), atol=1e-3)
    assert np.abs(alone - together).max() > 0.1


def test_neighbours_match_brute_force(data, fitted):
    X, _ = data
    known, queries = X[::2], X[1:41:2]
    distances, index = fitted.kneighbors(queries, 4)
    anchors = (fitted.anchors_ - fitted._centre) / fitted._scale
    mixture = Mixture(anchors, 1.0, 10.0, 5)
    rows = (queries - fitted._centre) / fitted._scale
    weights = mixture.weights_of(rows, fitted._rows, fitted.weights_, None)
    for q, weight in enumerate(weights):
        squares = [
            sum(
                w * np.square(L @ (queries[q] - x)).sum()
                for w, L in zip(weight, fitted.factors_, strict=True)
            )
            for x in known
        ]
        np.testing.assert_array_equal(index[q], np.argsort(squares, kind="stable")[:4])
        np.testing.assert_allclose(distances[q], np.sqrt(np.sort(squares)[:4]), rtol=1e-9)


def test_one_metric_is_a_single_metric(data):
    X, y = data
    plml = lw.PLML(n_metrics=1, random_state=0).fit(X, y)
    np.testing.assert_allclose(plml.weights_, 1)
    expected = lw.MetricKNN(3).fit(X @ plml.factors_[0].T, y).kneighbors(X @ plml.factors_[0].T)
    np.testing.assert_array_equal(plml.kneighbors(X)[1], expected[1])


def test_it_helps_wine(data, fitted):
    X, y = data
    assert fitted.score(X[1::2], y[1::2]) >= lw.MetricKNN(3).fit(X[::2], y[::2]).score(
        X[1::2], y[1::2]
    )
    assert fitted.converged_
    assert (np.diff(fitted.history_["objective"]) <= 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_metrics": 200}, "n_metrics=200 is too many: X has 150 samples to cluster"),
        ({"n_neighbors": 151}, "n_neighbors=151 is not allowed: there are n_samples = 150"),
        ({"smoothness": -1}, "smoothness=-1 is not allowed: PLML needs a finite number of at"),
        ({"ridge": "much"}, "ridge='much' is not allowed"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        lw.PLML(**options).fit(*load_iris(return_X_y=True))


def test_a_class_of_one_sample_is_kept():
    X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [9.0]], list("aaaaab")
    with pytest.warns(UserWarning, match=r"but 1 class has fewer: 'b' \(1 row\)"):
        model = lw.PLML(n_neighbors=1, n_metrics=2, random_state=0).fit(X, y)
    assert model.predict([[8.0], [1.4]]).tolist() == ["b", "a"]


def test_parameters_set_later_do_not_change_a_fitted_model(data, fitted, tmp_path):
    X, _ = data
    before = fitted.kneighbors(X)
    fitted.set_params(ridge=100.0, smoothness=0.0)
    fitted.save(tmp_path / "model")
    for model in (fitted, lw.load(tmp_path / "model")):
        for found, expected in zip(model.kneighbors(X), before, strict=True):
            np.testing.assert_array_equal(found, expected)
