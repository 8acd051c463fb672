"""Means, covariances and their inverses against NumPy on paper's formulas, at hostile scales."""

import numpy as np
import pytest

from likewise.batch._scatter import covariance, group_means, rounding_of, whitener


@pytest.fixture
def grouped():
    random = np.random.default_rng(3)
    X = random.normal(size=(500, 4)) @ random.normal(size=(4, 4))
    return X, random.integers(0, 7, size=500)


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_means_are_numpys(grouped, shift, monkeypatch):
    X, groups = grouped
    monkeypatch.setattr("likewise.batch._scatter._MEAN_ROWS", 64)
    expected = [X[groups == group].mean(axis=0) for group in range(7)]
    np.testing.assert_allclose(group_means(X + shift, groups) - shift, expected, atol=1e-9)


def test_means_of_very_many_groups_take_no_loop_over_them():
    n = 100_000
    X = np.arange(2.0 * n).reshape(n, 2)
    groups = np.arange(n) // 2
    np.testing.assert_array_equal(group_means(X, groups), (X[::2] + X[1::2]) / 2)


def test_covariance_is_the_mean_outer_product(grouped):
    X, groups = grouped
    means = group_means(X, groups)
    expected = np.zeros((4, 4))
    for row, group in zip(X, groups, strict=True):
        expected += np.outer(row - means[group], row - means[group]) / len(X)
    np.testing.assert_allclose(covariance(X, means, groups), expected, rtol=1e-12)


def test_covariance_asks_for_memory_first(monkeypatch):
    monkeypatch.setattr("likewise._memory.free_memory", lambda: 1000)
    X = np.zeros((3, 40))
    with pytest.raises(MemoryError, match="covariance of 40 features needs about"):
        covariance(X, np.zeros((1, 40)), np.zeros(3, dtype=np.int64))


def test_rounding_is_that_of_the_data():
    X = np.array([[1.0, -8.0], [0.5, 2.0]])
    np.testing.assert_array_equal(rounding_of(X), [2.0**-52, 2.0**-49])
    np.testing.assert_array_equal(rounding_of(X.astype(np.float32)), [2.0**-23, 2.0**-20])


def test_whitener_inverts_in_units_sixteen_orders_apart():
    random = np.random.default_rng(0)
    root = random.normal(size=(5, 5))
    correlated = root @ root.T + np.eye(5)
    units = 10.0 ** np.array([-8.0, -4.0, 0.0, 4.0, 8.0])
    L = whitener(correlated * units * units[:, None], np.zeros(5))
    # Read in the features' own units, the metric is that of the features in equal units.
    np.testing.assert_allclose(
        (L.T @ L) * units * units[:, None], np.linalg.inv(correlated), rtol=1e-9, atol=1e-12
    )


def test_a_direction_that_only_rounding_fills_is_empty():
    # Variances 1 and 1, correlation 1 - 1e-14: the difference has the variance of float32 noise.
    matrix = np.array([[1.0, 1 - 1e-14], [1 - 1e-14, 1.0]])
    assert np.linalg.matrix_rank(whitener(matrix, np.full(2, 1e-9))) == 2
    assert np.linalg.matrix_rank(whitener(matrix, np.full(2, 2.0**-23))) == 1
