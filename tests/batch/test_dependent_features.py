"""Features that are constant next to the others, or linear functions of others."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import likewise as lw

DEPENDENT = {
    "sum": lambda X: X.sum(axis=1),
    "2a + 3b": lambda X: 2 * X[:, 0] + 3 * X[:, -1],
    "other unit": lambda X: 2.54 * X[:, 0],
    "Fahrenheit": lambda X: 1.8 * X[:, 0] + 32,
}


def dependent_tables(kind, n_tables, n_features=30, n_samples=3000):
    """Yield random tables of rank d with d + 1 columns, and labels."""
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(2, n_features))
        n = int(rng.integers(d + 5, n_samples))
        X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.3 * rng.normal(size=(d, d)))
        X *= 10.0 ** rng.uniform(-2, 2, d)
        y = rng.integers(0, 3, n)
        X[:, 0] += y * X[:, 0].std()
        yield np.column_stack([X, DEPENDENT[kind](X)]), y


@pytest.mark.parametrize("kind", DEPENDENT)
@pytest.mark.parametrize("name", ["Whitening", "RCA"])
def test_exactly_dependent_columns_get_no_direction(name, kind):
    for X, y in dependent_tables(kind, 200):
        components = getattr(lw, name)(shrinkage=None).fit(X, y).components_
        assert np.count_nonzero(components.any(axis=1)) == X.shape[1] - 1
        assert np.abs(components * X.std(axis=0)).max() < 1e4


@pytest.mark.parametrize("kind", DEPENDENT)
def test_dependent_columns_do_not_change_distances(kind):
    for X, y in dependent_tables(kind, 20):
        for learner in (lw.Whitening, lw.RCA, lw.FDA):
            metric = learner(shrinkage=None)
            distances = metric.fit(X, y).pair_distance(X[1:], X[:-1])
            independent = metric.fit(X[:, :-1], y).pair_distance(X[1:, :-1], X[:-1, :-1])
            np.testing.assert_allclose(distances, independent, rtol=1e-6)


@pytest.mark.parametrize("kind", DEPENDENT)
def test_a_singular_prior_raises_an_error(kind):
    for X, y in dependent_tables(kind, 50):
        rank = X.shape[1] - 1
        with pytest.raises(ValueError, match=rf"singular: X varies in {rank} of {rank + 1}"):
            lw.ITML(prior="covariance").fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["MMC", "DMLEig"])
@pytest.mark.parametrize("kind", DEPENDENT)
def test_similar_pairs_with_dependent_columns(name, kind):
    for X, y in dependent_tables(kind, 20, n_features=7, n_samples=300):
        X = X / X.std(axis=0)
        metric = getattr(lw, name)(shrinkage=0, max_iter=2).fit(X, y)
        null = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][-1]
        size = np.linalg.norm(metric.components_)
        assert np.linalg.norm(metric.components_ @ null) < 1e-5 * size


@pytest.mark.parametrize("name", ["Whitening", "RCA", "FDA"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_features_without_spread_are_named(name, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(scale=0.05, size=(200, 6)).astype(dtype)
    y = rng.integers(0, 3, 200)
    X[:, 0] += y
    X[:, 2] *= dtype(1e-32)
    X[:, 4] *= dtype(1e-7)
    metric = getattr(lw, name)()
    with pytest.warns(
        lw.DegenerateMetricWarning, match=r"2 features vary .* columns 2 \(\S+\), 4 \("
    ):
        metric.fit(X, y)
    assert not metric.components_[:, 2].any()
    assert metric.components_[:, 4].any()
    without = getattr(lw, name)().fit(np.delete(X, [2, 4], axis=1), y)
    assert np.isfinite(metric.mahalanobis_matrix()).all()
    assert without.components_.any()
    table = pd.DataFrame(X, columns=list("abcdef"))
    with pytest.warns(lw.DegenerateMetricWarning, match=re.escape("columns c (")):
        metric.fit(table, y)


def test_the_warning_names_ten_features():
    X = np.random.default_rng(0).normal(size=(100, 40))
    X[:, 1:16] *= 1e-9
    with pytest.warns(lw.DegenerateMetricWarning, match=r"15 features .*10 \(\S+\), 5 more\."):
        lw.Whitening().fit(X)


def test_a_covariance_prior_names_them_too():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    X[:, 1] *= 1e-7
    with pytest.warns(lw.DegenerateMetricWarning, match=r"column 1 \(8e-08\)"):
        lw.ITML(prior="covariance").fit(X, y)


def test_constant_features_are_no_reason_to_warn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)) + 5, rng.integers(0, 2, 60)
    X[:, 1] = 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for metric in (lw.Whitening(), lw.RCA(), lw.FDA()):
            assert not metric.fit(X, y).components_[:, 1].any()
