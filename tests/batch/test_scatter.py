"""Means, covariances and their inverses against NumPy, also at extreme scales."""

import numpy as np
import pytest

from likewise._numerics.spread import rounding_errors
from likewise.batch._scatter import covariance, group_means, whitener


@pytest.fixture
def grouped():
    random = np.random.default_rng(3)
    X = random.normal(size=(500, 4)) @ random.normal(size=(4, 4))
    return X, random.integers(0, 7, size=500)


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_means_match_numpy(grouped, shift, monkeypatch):
    X, groups = grouped
    monkeypatch.setattr("likewise.batch._scatter._BLOCK_ROWS", 64)
    expected = [X[groups == group].mean(axis=0) for group in range(7)]
    np.testing.assert_allclose(group_means(X + shift, groups) - shift, expected, atol=1e-9)


def test_an_outlying_first_sample_costs_the_other_means_no_digits(grouped):
    X, groups = grouped
    X[0], groups[0] = 1e12, 7
    expected = [X[groups == group].mean(axis=0) for group in range(7)]
    np.testing.assert_allclose(group_means(X, groups)[:7], expected, atol=1e-14)


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
    monkeypatch.setattr("likewise._runtime.memory.free_memory", lambda: 1000)
    monkeypatch.setattr("likewise._runtime.memory.UNCHECKED_BYTES", 0)
    X = np.zeros((3, 40))
    with pytest.raises(MemoryError, match="covariance of 40 features needs about"):
        covariance(X, np.zeros((1, 40)), np.zeros(3, dtype=np.int64))


def test_rounding_is_that_of_the_data():
    X = np.array([[1.0, -8.0], [0.5, 2.0]])
    np.testing.assert_array_equal(rounding_errors(X), [2.0**-52, 2.0**-49])
    np.testing.assert_array_equal(rounding_errors(X.astype(np.float32)), [2.0**-23, 2.0**-20])


def whitened(X):
    together = np.zeros(len(X), dtype=np.int64)
    return whitener(X, group_means(X, together), together)


def test_whitener_inverts_in_units_sixteen_orders_apart():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 5)) @ random.normal(size=(5, 5))
    units = 10.0 ** np.array([-8.0, -4.0, 0.0, 4.0, 8.0])
    L = whitened(X * units)
    # Read in the features' own units, the metric is that of the features in equal units.
    expected = np.linalg.inv(np.cov(X, rowvar=False, bias=True))
    np.testing.assert_allclose((L.T @ L) * units * units[:, None], expected, rtol=1e-8)


def test_a_direction_of_rounding_errors_gets_weight_zero():
    random = np.random.default_rng(0)
    first = random.normal(size=100)
    X = np.column_stack([first, first + 1.5e-7 * random.normal(size=100)])
    assert np.linalg.matrix_rank(whitened(X)) == 2
    assert np.linalg.matrix_rank(whitened(X.astype(np.float32))) == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_few_rows_give_what_their_covariance_gives(dtype):
    X = np.random.default_rng(0).normal(size=(9, 20)).astype(dtype)
    X[:, 3] = 5.0
    few, many = whitened(X), whitened(np.repeat(X, 4, axis=0))  # the same covariance
    assert np.linalg.matrix_rank(few) == 8
    np.testing.assert_allclose(few.T @ few, many.T @ many, rtol=1e-6, atol=1e-9)


def test_few_rows_ask_for_memory_first(monkeypatch):
    monkeypatch.setattr("likewise._runtime.memory.free_memory", lambda: 1000)
    monkeypatch.setattr("likewise._runtime.memory.UNCHECKED_BYTES", 0)
    with pytest.raises(MemoryError, match="axes of 3 samples of 40 features needs about"):
        whitened(np.zeros((3, 40)))


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
def test_scales_whose_squares_overflow_or_underflow(size):
    X = np.random.default_rng(0).normal(size=(50, 3))
    np.testing.assert_allclose(whitened(X * size) * size, whitened(X), rtol=1e-9, atol=1e-12)
