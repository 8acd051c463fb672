"""NCA as a learner: it reaches scikit-learn's objective, and its errors are clear."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NeighborhoodComponentsAnalysis

import likewise as lw
from likewise.objectives import NCAObjective, SoftmaxNeighbours


def standardised(load):
    X, y = load(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def value_of(L, X, y):
    """The paper's objective, by brute force."""
    Z = X @ L.T
    D = np.square(Z[:, None] - Z).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    p = np.exp(D.min(axis=1, keepdims=True) - D)
    p /= p.sum(axis=1, keepdims=True)
    return p[y[:, None] == y].sum()


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_objective_is_the_papers_and_no_worse_than_scikit_learns(load):
    X, y = standardised(load)
    ours = lw.NCA(init="identity").fit(X, y)
    assert ours.objective_ == pytest.approx(value_of(ours.components_, X, y), rel=1e-9)
    theirs = NeighborhoodComponentsAnalysis(init="identity", max_iter=100).fit(X, y)
    assert ours.objective_ >= value_of(theirs.components_, X, y) * (1 - 1e-4)


def test_where_it_converges_the_gradient_is_zero():
    X, y = standardised(load_iris)
    nca = lw.NCA(regularization=0.01, tol=1e-13, max_iter=1000).fit(X, y)
    assert nca.converged_
    objective = NCAObjective(SoftmaxNeighbours.of(X, y), 0.01)
    gradient = objective.value_and_gradient(nca.components_)[1]
    start = objective.value_and_gradient(np.eye(4))[1]
    assert np.abs(gradient).max() < 1e-4 * np.abs(start).max()


def test_history_rises_to_the_objective():
    X, y = standardised(load_wine)
    nca = lw.NCA(2).fit(X, y)
    assert (np.diff(nca.history_["objective"]) >= 0).all()
    assert nca.history_["objective"][-1] == nca.objective_
    assert len(nca.history_["objective"]) == nca.n_iter_ + 1


def test_regularization_keeps_distances_small():
    X, y = standardised(load_wine)
    sizes = [
        np.linalg.norm(lw.NCA(regularization=s).fit(X, y).components_) for s in (0.0, 1e-3, 1e-1)
    ]
    assert sizes[0] > 1.5 * sizes[1] > 2 * sizes[2]


@pytest.mark.parametrize("init", ["auto", "identity", "pca", "fda", np.eye(2, 13)], ids=str)
def test_every_init_improves(init):
    X, y = standardised(load_wine)
    nca = lw.NCA(2, init=init).fit(X, y)
    assert nca.components_.shape == (2, 13)
    assert nca.history_["objective"][0] < nca.objective_ > 170


def test_mini_batches_reach_nearly_the_same_value():
    X, y = standardised(load_wine)
    whole = lw.NCA(2, regularization=1e-3, solver="lbfgs").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        batches = lw.NCA(
            2, regularization=1e-3, solver="adam", batch_size=32, max_iter=60, tol=0, random_state=0
        ).fit(X, y)
    objective = NCAObjective(SoftmaxNeighbours.of(X, y), 1e-3)
    reached = -objective.value_and_gradient(batches.components_)[0]
    assert reached > 0.99 * whole.objective_
    assert batches.objective_ == pytest.approx(reached, rel=0.02)


def test_many_samples_are_learned_in_mini_batches(monkeypatch):
    monkeypatch.setattr("likewise.batch.nca._MINI_BATCH_SAMPLES", 100)
    X, y = standardised(load_iris)
    with pytest.warns(ConvergenceWarning, match="NCA stopped after max_iter=2 iterations"):
        nca = lw.NCA(max_iter=2, batch_size=50, tol=0, random_state=0).fit(X, y)
    assert nca.n_iter_ == 2


def test_units_of_the_data_do_not_matter():
    X, y = standardised(load_iris)
    plain, large = (lw.NCA(tol=0.01).fit(X * s, y).components_ * s for s in (1, 1e6))
    np.testing.assert_allclose(large, plain, rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 5}, r"n_components=5 is too many: NCA has at most 4 \(the features of X"),
        ({"init": "best"}, "init='best' is not allowed: NCA needs one of 'auto', 'identity'"),
        ({"init": np.eye(3)}, r"init has shape \(3, 3\), .* there are 4 features of X"),
        ({"init": np.eye(3, 4), "n_components": 2}, "init has 3 rows, but n_components=2"),
        ({"init": np.full((2, 4), np.nan)}, "init holds NaN or infinity"),
        ({"init": [[1, 2], [3]]}, "init has rows of different lengths, but a matrix is needed"),
        ({"init": [["one", 2, 3, 4]]}, "init holds 'one', but only real numbers are allowed"),
        ({"init": np.zeros((2, 4))}, "init is zero everywhere"),
        (
            {"regularization": -1},
            "regularization=-1 is not allowed: NCA needs a finite number of at least 0",
        ),
        ({"solver": "sgd"}, "solver='sgd' is not allowed: NCA needs one of 'auto', 'lbfgs'"),
        ({"batch_size": 0}, "batch_size=0 is not allowed"),
    ],
)
def test_errors(options, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        lw.NCA(**options).fit(X, y)
