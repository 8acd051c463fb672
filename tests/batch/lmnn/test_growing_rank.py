"""LMNN with few rows of L: the same minimum, proved by the same bound, for fewer operations."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import likewise as lw
from likewise.batch.lmnn import growing_rank, multi_metric
from likewise.batch.lmnn.problem import LMNNProblem


def noise_above_signal(n=160, d=12, seed=0):
    """Classes that differ in directions with little of the variance only."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * np.r_[np.full(4, 20.0), np.ones(d - 4)]
    y = np.arange(n) % 4
    X[:, 4] += 6 * (y % 2)
    X[:, 5] += 6 * (y // 2)
    return X, y


def nearest_of_class(X, y):
    """The nearest row of the same class as the target of each row."""
    sqdist = ((X[:, None] - X) ** 2).sum(axis=2)
    sqdist[(y[:, None] != y) | np.eye(len(X), dtype=bool)] = np.inf
    return np.column_stack([np.arange(len(X)), sqdist.argmin(axis=1)])


@pytest.fixture
def few_rows_at_once(monkeypatch):
    monkeypatch.setattr(growing_rank, "_MIN_FEATURES", 2)


def test_many_features_few_of_which_matter(monkeypatch):
    random = np.random.default_rng(0)
    y = np.arange(300) % 5
    signal = random.normal(size=(300, 8)) + 2.5 * random.normal(size=(5, 8))[y]
    X = signal @ random.normal(size=(8, 160)) + 0.02 * random.normal(size=(300, 160))
    fewer = lw.LMNN().fit(X, y)
    assert fewer.converged_
    assert fewer.components_.shape == (160, 160)
    rank = np.linalg.matrix_rank(fewer.components_)
    assert rank <= 8
    monkeypatch.setattr(growing_rank, "_MIN_FEATURES", 1000)
    all_rows = lw.LMNN().fit(X, y)
    assert all_rows.objective_ == pytest.approx(fewer.objective_, rel=0.01)


def test_rows_are_added_where_they_are_needed(few_rows_at_once, monkeypatch):
    X, y = noise_above_signal()
    n_rows = []
    original = LMNNProblem.evaluate_exactly

    def recorded(problem, L, smoothing):
        n_rows.append(len(L))
        return original(problem, L, smoothing)

    monkeypatch.setattr(LMNNProblem, "evaluate_exactly", recorded)
    model = lw.LMNN(tol=1e-3).fit(X, y)
    assert n_rows[0] == 4
    assert 4 < n_rows[-1] <= 12
    assert model.converged_
    assert model.duality_gap_ <= 1e-3
    assert (np.diff(model.history_["n_iter"]) >= 0).all()
    assert model.history_["n_iter"][-1] == model.n_iter_
    assert (np.diff(model.history_["lower_bound"]) >= 0).all()
    monkeypatch.setattr(growing_rank, "_MIN_FEATURES", 100)
    direct = lw.LMNN(tol=1e-3).fit(X, y)
    assert model.objective_ == pytest.approx(direct.objective_, rel=2e-3)


@pytest.mark.parametrize("regularization", [0.0, 0.01])
def test_rows_of_zeros_are_no_trap(regularization):
    """The gradient in L is zero there, though other rows lower the objective."""
    X, y = noise_above_signal()
    options = {"tol": 1e-3, "regularization": regularization}
    start = np.diag(np.r_[np.full(4, 0.05), np.zeros(8)])
    trapped = lw.LMNN(init=start, **options).fit(X, y, targets=nearest_of_class(X, y))
    assert trapped.converged_
    assert np.linalg.matrix_rank(trapped.components_) > 4


def test_several_metrics_leave_rows_of_zeros(monkeypatch):
    X, y = noise_above_signal()
    direct = lw.MultiMetricLMNN(validation_fraction=None).fit(X, y)
    original = multi_metric.LMNN

    class Flat(original):
        def fit(self, *args, **kwargs):
            super().fit(*args, **kwargs)
            self.components_ = np.vstack([self.components_[:1], np.zeros((11, 12))])
            return self

    monkeypatch.setattr(multi_metric, "LMNN", Flat)
    trapped = lw.MultiMetricLMNN(validation_fraction=None).fit(X, y)
    assert trapped.objective_ == pytest.approx(direct.objective_, rel=0.02)


def test_added_rows_keep_the_metric():
    random = np.random.default_rng(2)
    L, rows = random.normal(size=(4, 5)), random.normal(size=(3, 5))
    for added in (rows[:1], rows):
        longer = growing_rank.with_added_rows(L, added)
        assert len(longer) == min(5, 4 + len(added))
        np.testing.assert_allclose(longer.T @ longer, L.T @ L + added.T @ added, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_errors_of_dependent_features_separate_nothing(dtype):
    random = np.random.default_rng(3)
    y = np.arange(400) % 4
    base = random.normal(size=(400, 5)) + 1.5 * random.normal(size=(4, 5))[y]
    dependent = np.column_stack([base[:, :3].mean(axis=1), base[:, 0] - 2 * base[:, 4]])
    X = np.hstack([base, dependent, np.full((400, 1), 7.0)]).astype(np.float32).astype(dtype)
    model = lw.LMNN(tol=3e-3).fit(X, y)
    assert model.converged_
    scale = np.linalg.norm(lw.LMNN(tol=3e-3).fit(X[:, :5], y).components_, 2)
    assert np.linalg.norm(model.components_, 2) < 10 * scale


def test_a_given_number_of_components_is_kept(few_rows_at_once):
    X, y = noise_above_signal()
    model = lw.LMNN(n_components=3).fit(X, y)
    assert model.components_.shape == (3, 12)


@pytest.mark.parametrize("max_iter", [40, 60, 61, 80, 150])
def test_max_iter_counts_all_steps(few_rows_at_once, max_iter):
    X, y = noise_above_signal()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = lw.LMNN(tol=1e-6, max_iter=max_iter).fit(X, y)
    assert model.n_iter_ == max_iter


def scatter(Z):
    centred = Z - Z.mean(axis=0)
    return centred.T @ centred


def test_the_rotation_keeps_the_metric_of_the_kept_variance():
    random = np.random.default_rng(1)
    X = random.normal(size=(500, 140)) @ np.diag(np.r_[np.full(10, 10.0), np.full(130, 0.1)])
    L = random.normal(size=(140, 140)) / 140
    kept = growing_rank.leading_rows(L, lambda rows: scatter(X @ rows.T))
    assert len(kept) <= 10
    total, remaining = (X @ L.T).var(axis=0).sum(), (X @ kept.T).var(axis=0).sum()
    assert 0.95 * total <= remaining <= total
    for rows in (L[:100], np.eye(140)[:100]):
        assert growing_rank.leading_rows(rows, lambda rows: scatter(X @ rows.T)) is rows
    spherical = random.normal(size=(500, 140))
    assert growing_rank.leading_rows(L, lambda rows: scatter(spherical)) is L
