"""Memory of the search for nearest points, whatever their order and however many are equal."""

import tracemalloc

import numpy as np
import pytest

from likewise.neighbors import _nearest, nearest
from likewise.neighbors._best_scores import BestScores

MB = 1e6


def peak_of_nearest(queries, points, k):
    """Return the most memory that is taken at a time, by one thread, and what is found."""
    nearest(points[:2000], points[:2000], 2, n_jobs=1)  # imports
    tracemalloc.start()
    try:
        found = nearest(queries, points, k, n_jobs=1)
        return tracemalloc.get_traced_memory()[1], found
    finally:
        tracemalloc.stop()


def assert_nearest(found, queries, points, k):
    """Compare with all distances of each query, added up feature by feature."""
    for query, sqdist, index in zip(queries, *found, strict=True):
        every = np.zeros(len(points))
        for feature in (points - query).T:
            every += feature**2
        expected = np.argsort(every, kind="stable")[:k]
        np.testing.assert_array_equal(index, expected)
        np.testing.assert_array_equal(sqdist, every[expected])


def integers(n, d, seed=0):
    """Return rows whose squared distances are exact: sums in any order are the same."""
    return np.random.default_rng(seed).integers(-1000, 1000, (n, d)).astype(np.float64)


def test_the_helper_fails_on_a_wrong_neighbour():
    points = np.array([[0.0], [1.0], [1.0]])
    assert_nearest((np.array([[1.0]]), np.array([[1]])), [[2.0]], points, 1)
    with pytest.raises(AssertionError):
        assert_nearest((np.array([[1.0]]), np.array([[2]])), [[2.0]], points, 1)


def test_equal_points_take_little_more_memory_than_others(monkeypatch):
    monkeypatch.setattr(_nearest, "_BLOCK_VALUES", 1 << 18)  # of rows that are searched again
    points = integers(30_000, 20)
    ordinary, _ = peak_of_nearest(points[:140], points, 3)
    equal = np.random.default_rng(1).permutation(30_000)[:20_000]
    points[equal] = points[0]
    queries = np.concatenate([points[equal[:128]], points[:12]])
    peak, found = peak_of_nearest(queries, points, 3)
    assert peak < ordinary + 30 * MB  # 20,000 scores of 128 queries took 70 MB
    assert_nearest(found, queries, points, 3)


def test_points_that_come_nearer_take_little_more_memory_than_others():
    """Scores of every tile are the best so far."""
    points, queries = integers(200_000, 6), integers(128, 6, seed=1) // 100
    ordinary, found = peak_of_nearest(queries, points, 300)
    assert_nearest([part[:9] for part in found], queries[:9], points, 300)
    points = points[np.argsort(-np.square(points).sum(axis=1))]
    peak, found = peak_of_nearest(queries, points, 300)
    assert peak < ordinary + 10 * MB  # all that were the best at a time took 81 MB
    assert_nearest([part[:9] for part in found], queries[:9], points, 300)


def test_many_neighbours_of_fewer_queries_at_a_time():
    points = integers(140_000, 6)
    peak, found = peak_of_nearest(points[:64], points, 2000)
    assert peak < 55 * MB  # tiles of 128 queries took 83 MB
    assert_nearest([part[:9] for part in found], points[:9], points, 2000)


@pytest.mark.parametrize("most", [1, 3, 1000])
@pytest.mark.parametrize("kind", ["normal", "ties", "equal", "ascending", "descending"])
def test_best_scores_are_those_of_all_tiles(kind, most, monkeypatch):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(7, 600)).astype(np.float32)
    if kind == "ties":
        scores = np.round(scores)
    elif kind == "equal":
        scores[:] = 1
        scores[3, 100] = 2
    elif kind != "normal":
        scores = np.sort(scores, axis=1)[:, :: 1 if kind == "ascending" else -1].copy()
    monkeypatch.setattr("likewise.neighbors._best_scores._HELD_PER_BEST", most)
    found, width = BestScores(7, 5), 5
    for first in range(0, 600, 40):
        so_far = np.sort(scores[:, : first + 40], axis=1)
        least = so_far[:, -width] - np.float32(0.5)
        tile = scores[:, first : first + 40].copy()
        found.add(tile, first, least, np.empty(tile.shape, dtype=bool))
    points, best = found.best()
    np.testing.assert_array_equal(best, np.sort(scores, axis=1)[:, : -width - 1 : -1])
    np.testing.assert_array_equal(np.take_along_axis(scores, points, axis=1), best)
    assert all(len(set(row)) == width for row in points.tolist())


def test_rows_per_tile_do_not_change_the_result(monkeypatch):
    points = np.random.default_rng(0).normal(size=(9000, 8))
    expected = nearest(points[:300], points, 4)
    for rows, fewest in ((128, 128), (20, 3), (1, 1)):
        monkeypatch.setattr(_nearest, "_SCORED_ROWS", rows)
        monkeypatch.setattr(_nearest, "_MIN_SCORED_ROWS", fewest)
        for found, part in zip(nearest(points[:300], points, 4), expected, strict=True):
            assert found.tobytes() == part.tobytes()
