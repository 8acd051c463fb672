"""Maps of queries only: stored vectors stay as they are, in every target and plan."""

import numpy as np
import pytest
from exported import QUERY_SIDE, assert_order, query_side_sqdist, vectors
from sklearn.datasets import load_digits

import likewise as lw
from likewise.base import AffineMap
from likewise.export import (
    QueryOnly,
    faiss_index,
    plans,
    read_numpy,
    rerank,
    shortlist_recall,
    write_faiss,
    write_numpy,
)

X, QUERIES = vectors(120), vectors(5, seed=2)
EXPECTED = query_side_sqdist(QUERIES, X)


def test_the_plan_is_query_only():
    (plan,) = plans(QUERY_SIDE, n_vectors=1000)
    assert (plan.name, plan.exact, plan.stored_bytes, plan.once_flops) == ("query-only", True, 0, 0)
    assert "only queries are mapped" in str(plans(QUERY_SIDE, n_vectors=1000))


def test_query_only():
    plan = QueryOnly(QUERY_SIDE)
    products = plan.query(QUERIES) @ plan.stored(X).T
    assert plan.stored(X).shape == X.shape
    assert_order(np.argsort(-products, axis=1)[:, :20], EXPECTED, 20, slack=1e-5)
    np.testing.assert_allclose(plan.distance(QUERIES, products) ** 2, EXPECTED, atol=1e-5)


def test_the_file_remembers_the_side(tmp_path):
    write_numpy(QUERY_SIDE, tmp_path / "map.npz")
    assert read_numpy(tmp_path / "map.npz").side == "query"
    np.savez(tmp_path / "older.npz", W=np.eye(2), mean=np.zeros(2), normalize=True)
    assert read_numpy(tmp_path / "older.npz").side == "both"


def test_faiss(tmp_path):
    faiss = pytest.importorskip("faiss", reason="faiss is part of likewise[export]")
    write_faiss(QUERY_SIDE, tmp_path / "index.faiss", X)
    read = faiss.read_index(str(tmp_path / "index.faiss"))
    for index in (faiss_index(QUERY_SIDE, X), read):
        assert index.ntotal == len(X)
        squares, found = index.search(QUERIES, 20)
        assert_order(found, EXPECTED, 20, slack=1e-5)
        np.testing.assert_allclose(squares, np.sort(EXPECTED)[:, :20], atol=1e-5)


def test_rerank_and_recall():
    everything = np.tile(np.arange(len(X)), (len(QUERIES), 1))
    distances, found = rerank(QUERY_SIDE, QUERIES, X, everything, k=10)
    assert_order(found, EXPECTED, 10, slack=1e-9)
    np.testing.assert_allclose(distances**2, np.sort(EXPECTED)[:, :10], atol=1e-6)
    assert shortlist_recall(QUERY_SIDE, QUERIES, X, k=5, sizes=[120]).scores[0].value == 1


def test_an_adapter_of_queries():
    rows, y = load_digits(return_X_y=True)
    rows = rows[:200] / np.linalg.norm(rows[:200], axis=1)[:, None]
    adapter = lw.EmbeddingAdapter(side="query").fit(rows, y[:200])
    affine = AffineMap.from_model(adapter)
    assert affine.side == "query"
    plan = QueryOnly(adapter)
    products = (plan.query(rows[:9]) * plan.stored(rows[9:18])).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        plan.distance(rows[:9], products)[:, 0],
        adapter.pair_distance(rows[:9], rows[9:18]),
        atol=1e-5,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.eye(2), np.zeros(2), True, "stored"), "side is 'stored', but it must be 'both' or"),
        ((np.eye(2), np.zeros(2), False, "query"), "normalize must be True and W square"),
        ((np.ones((1, 2)), np.zeros(2), True, "query"), "normalize must be True and W square"),
    ],
)
def test_bad_sides(arguments, message):
    with pytest.raises(ValueError, match=message):
        AffineMap(*arguments)
