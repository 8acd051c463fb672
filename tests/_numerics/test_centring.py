"""The point amid the rows, and that no row far off, wherever it stands, costs the others digits."""

import numpy as np
import pytest

import likewise as lw
from likewise._numerics.centring import centred, robust_centre


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 7, 128])
def test_it_is_the_lower_median_of_few_rows(n, dtype):
    X = np.random.default_rng(n).normal(size=(n, 3)).astype(dtype)
    found = robust_centre(X)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.sort(X, axis=0)[(n - 1) // 2])


@pytest.mark.parametrize("period", [3, 4, 7, 8, 16])
@pytest.mark.parametrize("n", [512, 2048, 4099, 100_000])
def test_many_rows_far_off_do_not_move_it_whatever_their_period(n, period):
    X = np.random.default_rng(0).uniform(-1, 1, size=(n, 2))
    X[::period] = 1e9
    X[: n // 10] = -1e9
    assert np.abs(robust_centre(X)).max() < 1


def test_nothing_is_copied_for_nothing():
    X = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    assert centred(X, np.zeros(2, dtype=np.float32)) is X
    assert centred(X, np.zeros(2)).dtype == np.float64
    np.testing.assert_array_equal(centred(X, X[1]), X - X[1])


def with_a_row_far_off(dtype, size):
    """Two classes near zero, and a row far off: first, or last."""
    random = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = random.normal(size=(60, 3)) + 2.0 * y[:, None]
    far = np.full((1, 3), size)
    first = np.vstack([far, X]).astype(dtype), np.concatenate([[0], y])
    last = np.vstack([X, far]).astype(dtype), np.concatenate([y, [0]])
    return first, last


def of_the_many(n_rows, far_first):
    """Row numbers without the row far off."""
    return np.arange(1, n_rows) if far_first else np.arange(n_rows - 1)


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e8), (np.float64, 1e12)])
@pytest.mark.parametrize("several", [False, True], ids=["MetricKNN", "MultiMetricLMNN"])
def test_neighbours_of_the_many(several, dtype, size):
    for far_first, (X, y) in zip((True, False), with_a_row_far_off(dtype, size), strict=True):
        many = of_the_many(len(X), far_first)
        if several:
            counts = np.isin(np.arange(len(X)), many)
            fitted = lw.MultiMetricLMNN(1, clusters=np.zeros(len(X)))
            fitted.fit(X, y, anchor_weight=counts)
            components = fitted.components_[0]
        else:
            fitted, components = lw.MetricKNN(1, metric=lw.Euclidean()).fit(X, y), np.eye(3)
        Z = X[many].astype(np.longdouble) @ components.T.astype(np.longdouble)
        exact = np.sqrt(np.square(Z[:, None] - Z).sum(axis=2))
        distance, index = fitted.kneighbors(X[many], 5)
        np.testing.assert_array_equal(index, many[np.argsort(exact, axis=1, kind="stable")[:, :5]])
        eps = np.finfo(dtype).eps
        expected = np.sort(exact, axis=1)[:, :5]
        np.testing.assert_allclose(distance, expected, rtol=100 * eps, atol=100 * eps * exact.max())


def test_energies_do_not_depend_on_the_place_of_a_row_far_off():
    found = []
    for far_first, (X, y) in zip((True, False), with_a_row_far_off(np.float64, 1e9), strict=True):
        model = lw.EnergyClassifier(lw.Euclidean(), n_neighbors=2).fit(X, y)
        found.append(model.energies(X[of_the_many(len(X), far_first)]))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


def test_lmnn_in_single_precision_beside_a_row_far_off():
    """The row pulls and pushes nobody, and so should not matter at all."""
    for X, y in with_a_row_far_off(np.float32, 1e8):
        near = np.abs(X[:, 0]) < 1e6
        alone = lw.LMNN(2, tol=1e-3).fit(X[near].astype(np.float64), y[near])
        beside = lw.LMNN(2, tol=1e-3).fit(X, y, anchor_weight=near.astype(float))
        assert beside.components_.dtype == np.float32
        assert beside.objective_ == pytest.approx(alone.objective_, rel=2e-3)
        A, B = X[near][:30], X[near][30:]
        np.testing.assert_allclose(beside.pair_distance(A, B), alone.pair_distance(A, B), rtol=0.05)
