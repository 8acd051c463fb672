"""The query-only plan in NumPy: one number per vector, and the order of the learned distance."""

import numpy as np
import pytest
from exported import MAPS, TIES, affine_map, assert_order, sqdist, vectors

from likewise.base import AffineMap
from likewise.export import QueryOnly


@pytest.mark.parametrize("normalize", [False, True])
def test_one_number_is_enough(normalize):
    """From x, the number and the query alone, by the formulas of the guide."""
    affine = affine_map(normalize=normalize)
    X, q = vectors(40).astype(np.float64), vectors(1, seed=5)[0].astype(np.float64)
    number = QueryOnly(affine).number(X)
    z = affine.transform(q[None])[0]
    a = affine.W.T @ z
    if normalize:
        squares = 2 - 2 * (X @ a - a @ affine.mean) * number
    else:
        M = affine.W.T @ affine.W
        centred = X - affine.mean
        np.testing.assert_allclose(number, np.einsum("ij,jk,ik->i", centred, M, centred))
        squares = z @ z - 2 * centred @ M @ (q - affine.mean) + number
    np.testing.assert_allclose(squares, sqdist(affine, q[None], X)[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", MAPS)
def test_order_and_distance(name):
    X, queries = vectors(100), vectors(6, seed=3)
    plan = QueryOnly(MAPS[name])
    stored, searched = plan.stored(X), plan.query(queries)
    assert stored.dtype == searched.dtype == np.float32
    assert stored.shape == (100, 9)
    products = searched @ stored.T
    expected = sqdist(MAPS[name], queries, X)
    slack = TIES * expected.max()
    assert_order(np.argsort(-products, axis=1)[:, :10], expected, 10, slack)
    np.testing.assert_allclose(plan.distance(queries, products) ** 2, expected, atol=slack)
    if name != "normalised":
        np.testing.assert_array_equal(stored[:, :-1], X)  # the vectors stay


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
def test_small_types(dtype):
    X = np.random.default_rng(0).integers(-9, 9, size=(20, 8)).astype(dtype)
    for affine in MAPS.values():
        plan = QueryOnly(affine)
        np.testing.assert_array_equal(plan.stored(X), plan.stored(X.astype(np.float32)))
        np.testing.assert_array_equal(plan.query(X), plan.query(X.astype(np.float32)))


def test_zero_vectors():
    affine = AffineMap(np.eye(2), np.zeros(2), normalize=True)
    plan = QueryOnly(affine)
    with pytest.raises(ValueError, match="row 1 of vectors is mapped to zero and has no direction"):
        plan.stored([[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="row 0 of queries is mapped to zero"):
        plan.query([[0.0, 0.0]])
    without = QueryOnly(AffineMap(np.eye(2), np.zeros(2), normalize=False))
    np.testing.assert_array_equal(without.stored([[0.0, 0.0]]), [[0, 0, 0]])
    with pytest.raises(ValueError, match="vectors has vectors of 3 numbers, but the model maps"):
        without.stored(np.zeros((1, 3)))


def test_assert_order_can_fail():
    distances = np.array([[0.0, 1.0, 2.0]])
    assert_order(np.array([[0, 1]]), distances, 2, slack=1e-9)
    for wrong in ([[1, 0]], [[0, 2]], [[0, 0]]):
        with pytest.raises(AssertionError):
            assert_order(np.array(wrong), distances, 2, slack=1e-9)
