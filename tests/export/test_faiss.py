"""The map in faiss: re-index, and query-only."""

import gc

import numpy as np
import pytest
from exported import MAPS, TIES, assert_order, assert_same_images, images, learned, sqdist, vectors

from likewise.export import QueryOnly, faiss_index, write_faiss

faiss = pytest.importorskip("faiss", reason="faiss is part of likewise[export]")
MODELS = {**MAPS, "learner": learned()}


@pytest.mark.parametrize("name", MODELS)
def test_re_index(name, tmp_path):
    X, queries = vectors(300), vectors(5, seed=2)
    write_faiss(MODELS[name], tmp_path / "index.faiss", X)
    read = faiss.read_index(str(tmp_path / "index.faiss"))
    expected = sqdist(MODELS[name], queries, X)
    for index in (faiss_index(MODELS[name], X), read):
        assert index.ntotal == 300
        distances, found = index.search(queries, 10)
        assert_order(found, expected, 10, slack=1e-4)
        # faiss returns squares.
        np.testing.assert_allclose(distances, np.sort(expected)[:, :10], rtol=1e-3, atol=1e-4)
        stored = faiss.downcast_index(index.index).reconstruct_n(0, 300)
        assert_same_images(stored, images(MODELS[name], X))
        assert_same_images(stored, MODELS[name].transform(X))


def test_the_parts_are_not_freed():
    X = vectors(50)
    made = [faiss_index(MAPS["normalised"], X) for _ in range(20)]
    gc.collect()
    noise = [np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32) for _ in range(200)]
    assert len(noise) == 200
    for index in made:
        np.testing.assert_array_equal(index.search(X, 1)[1][:, 0], np.arange(50))


def test_an_index_of_ones_own():
    inner = faiss.IndexHNSWFlat(5, 8)
    X = vectors(100)
    index = faiss_index(MAPS["plain"], X, index=inner)
    assert inner.ntotal == 100
    assert (index.search(X, 1)[1][:, 0] == np.arange(100)).mean() > 0.95
    with pytest.raises(ValueError, match="index holds vectors of 7 numbers, but the model maps to"):
        faiss_index(MAPS["plain"], index=faiss.IndexFlatL2(7))


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
def test_small_types(dtype):
    X = np.random.default_rng(0).integers(-50, 50, size=(40, 8)).astype(dtype)
    found = faiss_index(MAPS["plain"], X).search(X.astype(np.float32), 1)[1]
    np.testing.assert_array_equal(found[:, 0], np.arange(40))


def test_wrong_dimension_adds_nothing():
    inner = faiss.IndexFlatL2(5)
    with pytest.raises(ValueError, match="vectors has vectors of 7 numbers"):
        faiss_index(MAPS["plain"], vectors(5, n_features=7), index=inner)
    assert inner.ntotal == 0


@pytest.mark.parametrize("name", MODELS)
def test_query_only_has_the_order_of_brute_force(name):
    X, queries = vectors(300), vectors(5, seed=2)
    plan = QueryOnly(MODELS[name])
    index = faiss.IndexFlatIP(9)
    index.add(plan.stored(X))
    products, found = index.search(plan.query(queries), 20)
    expected = sqdist(MODELS[name], queries, X)
    assert_order(found, expected, 20, slack=TIES * expected.max())
    distances = plan.distance(queries, products)
    np.testing.assert_allclose(distances**2, np.sort(expected)[:, :20], atol=TIES * expected.max())


@pytest.mark.parametrize("name", ["plain", "normalised"])
def test_query_only_of_a_hundred_thousand_vectors(name):
    """Few features, so that it is quick; brute force is a matrix product in double precision."""
    X, queries = vectors(100_000), vectors(4, seed=2)
    plan = QueryOnly(MAPS[name])
    index = faiss.IndexFlatIP(9)
    index.add(plan.stored(X))
    _, found = index.search(plan.query(queries), 100)
    expected = brute_force(MAPS[name], queries, X)
    assert_order(found, expected, 100, slack=TIES * expected.max())


def brute_force(affine, queries, X):
    Z, points = (affine.transform(rows.astype(np.float64)) for rows in (queries, X))
    return np.array([np.square(points - z).sum(axis=1) for z in Z])
