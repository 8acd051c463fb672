"""LMNN with few rows of L: the same minimum, proved by the same bound, for fewer operations."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import likewise as lw
from likewise.batch.lmnn import growing_rank


def noise_above_signal(n=160, d=12, seed=0):
    """Classes that differ in directions with little of the variance only."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * np.r_[np.full(4, 20.0), np.ones(d - 4)]
    y = np.arange(n) % 4
    X[:, 4] += 6 * (y % 2)
    X[:, 5] += 6 * (y // 2)
    return X, y


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
    calls = []
    original = growing_rank.working_set_lbfgs

    def recorded(problem, start, **options):
        calls.append((len(start), options["max_iter"]))
        return original(problem, start, **options)

    monkeypatch.setattr(growing_rank, "working_set_lbfgs", recorded)
    model = lw.LMNN(tol=1e-3).fit(X, y)
    (first_rows, first_steps), (second_rows, second_steps) = calls
    assert (first_rows, second_rows) == (4, 12)
    assert second_steps < first_steps
    assert model.converged_
    assert model.duality_gap_ <= 1e-3
    assert (np.diff(model.history_["n_iter"]) >= 0).all()
    assert model.history_["n_iter"][-1] == model.n_iter_
    assert (np.diff(model.history_["lower_bound"]) >= 0).all()
    monkeypatch.setattr(growing_rank, "_MIN_FEATURES", 100)
    direct = lw.LMNN(tol=1e-3).fit(X, y)
    assert model.objective_ == pytest.approx(direct.objective_, rel=2e-3)


def test_a_given_number_of_components_is_kept(few_rows_at_once):
    X, y = noise_above_signal()
    model = lw.LMNN(n_components=3).fit(X, y)
    assert model.components_.shape == (3, 12)


def test_max_iter_counts_the_steps_of_both_parts(few_rows_at_once):
    X, y = noise_above_signal()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = lw.LMNN(tol=1e-6, max_iter=150).fit(X, y)
    assert model.n_iter_ <= 150


def test_the_rotation_keeps_the_metric_of_the_kept_variance():
    random = np.random.default_rng(1)
    X = random.normal(size=(500, 140)) @ np.diag(np.r_[np.full(10, 10.0), np.full(130, 0.1)])
    L = random.normal(size=(140, 140)) / 140
    kept = growing_rank.leading_rows(L, lambda rows: X @ rows.T)
    assert len(kept) <= 10
    total, remaining = (X @ L.T).var(axis=0).sum(), (X @ kept.T).var(axis=0).sum()
    assert 0.95 * total <= remaining <= total
    for rows in (L[:100], np.eye(140)[:100]):
        assert growing_rank.leading_rows(rows, lambda rows: X @ rows.T) is rows
    spherical = random.normal(size=(500, 140))
    assert growing_rank.leading_rows(L, lambda rows: spherical) is L
