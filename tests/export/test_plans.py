"""Plans with their costs, and shortlists with their recall."""

import numpy as np
import pytest
from exported import MAPS, affine_map, labelled, learned, sqdist, vectors

import likewise as lw
from likewise.export import plans, rerank, shortlist_recall


def local_models():
    X, y = labelled()
    return [lw.MultiMetricLMNN(max_iter=30, tol=0.1).fit(X, y), lw.PLML(n_metrics=3).fit(X, y)]


@pytest.fixture(scope="module", name="local")
def fitted_local_models():
    return local_models()


def test_costs_are_counted():
    affine = affine_map(normalize=False)
    again, query_only, shortlist = plans(affine, 1000, shortlist=50)
    # W is 5 × 8; a float has 4 bytes, and a product of n numbers 2n operations.
    assert (again.stored_bytes, again.once_flops) == (1000 * 5 * 4, 1000 * 2 * 40)
    assert again.query_flops == 2 * 40 + 1000 * 2 * 5
    assert (query_only.stored_bytes, query_only.once_flops) == (1000 * 4, 1000 * 2 * 40)
    assert query_only.query_flops == 2 * 2 * 40 + 1000 * 2 * 9
    assert (shortlist.stored_bytes, shortlist.once_flops) == (0, 0)
    assert shortlist.query_flops == 1000 * 2 * 8 + 51 * 2 * 40
    assert [plan.exact for plan in (again, query_only, shortlist)] == [True, True, False]
    assert plans(affine_map(normalize=True), 1000)[1].stored_bytes == 1000 * 9 * 4


def test_the_table():
    shown = str(plans(affine_map(normalize=True), 1_000_000))
    first = " ".join(shown.splitlines()[1].split())
    assert first == "re-index yes 19.1 MiB 80.0 Mflop 10.0 Mflop"
    assert "query-only: the vectors stay; x/s and 1/s are stored" in shown
    assert "none" in shown.splitlines()[3]


def test_a_local_model_has_one_plan(local):
    for model in local:
        assert [plan.name for plan in plans(model, 500)] == ["shortlist"]


def test_bad_numbers():
    with pytest.raises(ValueError, match="n_vectors=0 is not allowed"):
        plans(MAPS["plain"], 0)
    with pytest.raises(ValueError, match="n_features is 9, but the model maps vectors of 8"):
        plans(MAPS["plain"], 10, n_features=9)


@pytest.mark.parametrize("name", MAPS)
def test_rerank_all_is_the_exact_search(name):
    X, queries = vectors(40), vectors(4, seed=2)
    expected = np.sqrt(sqdist(MAPS[name], queries, X))
    shuffled = np.array([np.random.default_rng(i).permutation(40) for i in range(4)])
    distances, index = rerank(MAPS[name], queries, X, shuffled, 10)
    np.testing.assert_array_equal(index, np.argsort(expected, axis=1)[:, :10])
    np.testing.assert_allclose(distances, np.sort(expected, axis=1)[:, :10], rtol=1e-4, atol=1e-5)


def test_rerank_by_a_local_model(local):
    X, _ = labelled()
    queries = vectors(5, seed=7) + 0.5
    everything = np.tile(np.arange(60)[::-1], (5, 1))
    for model in local:
        wanted, nearest = model.kneighbors(queries, 8)
        distances, index = rerank(model, queries, X, everything, 8)
        np.testing.assert_array_equal(index, nearest)
        np.testing.assert_allclose(distances, wanted, rtol=1e-5)


def test_recall_of_shortlists():
    X, queries = vectors(80), vectors(6, seed=2)
    model = learned()
    truth = np.argsort(sqdist(model, queries, X), axis=1)[:, :4]
    plain = np.argsort(np.linalg.norm(queries[:, None] - X, axis=2), axis=1)
    found = shortlist_recall(model, queries, X, k=4, sizes=(4, 20, 80, 500), distance="euclidean")
    assert found.sizes == (4, 20, 80)
    for size, score in zip(found.sizes, found.scores, strict=True):
        hits = [len(set(a) & set(b[:size])) / 4 for a, b in zip(truth, plain, strict=True)]
        np.testing.assert_allclose(score.per_query, hits)
        assert score.interval[0] <= score.value <= score.interval[1]
    assert found.scores[-1].value == 1
    assert "shortlist of 20" in str(found)


def test_recall_of_a_local_model(local):
    X, _ = labelled()
    for model in local:
        found = shortlist_recall(model, vectors(5, seed=7) + 0.5, X, k=3, sizes=[5, 60])
        assert 0 < found.scores[0].value <= found.scores[1].value == 1


def test_bad_shortlists(local):
    X, queries = vectors(10), vectors(2)
    for arguments, message in [
        (([[0, 1]], 1), r"candidates has shape \(1, 2\), but one row for each of the 2 queries"),
        (([[0, 1], [1, 10]], 1), "candidates holds row number 10, but there are vectors 0 to 9"),
        (([[0, 1], [1, 2]], 3), "k is 3, but there are 2 candidates per query"),
        (([[0.5], [1.0]], 1), "candidates holds float64 values"),
    ]:
        with pytest.raises(ValueError, match=message):
            rerank(MAPS["plain"], queries, X, *arguments)
    with pytest.raises(ValueError, match="sizes has none of at most 10, the number of vectors"):
        shortlist_recall(MAPS["plain"], queries, X, k=2, sizes=[20])
    with pytest.raises(ValueError, match="MultiMetricLMNN needs the rows that it was fitted on"):
        shortlist_recall(local[0], queries, X, k=2)
    for model in local:
        with pytest.raises(ValueError, match=r"index holds row number 60, but .* 0 to 59"):
            model.distances_to(queries, [[60], [0]])
        with pytest.raises(ValueError, match=r"index has shape .1, 1., but one row for each"):
            model.distances_to(queries, [[0]])
