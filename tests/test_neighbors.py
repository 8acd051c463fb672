"""Neighbour searches against a plain loop, on grids full of ties and at every scale and place."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from likewise._loops.distances import types
from likewise.neighbors import (
    TooManyPairs,
    _best_scores,
    _nearest,
    _radius,
    farthest,
    nearest,
    within_radius_of_other_class,
)


def loop(queries, points, k, sign, exclude_self):
    """Rank every point by (distance, row), one at a time."""
    index = []
    for i, query in enumerate(queries):
        ranked = []
        for j, point in enumerate(points):
            if exclude_self and i == j:
                continue
            total = 0.0
            for a, b in zip(query, point, strict=True):
                total += (float(a) - float(b)) ** 2
            ranked.append((sign * total, j))
        index.append([j for _, j in sorted(ranked)[:k]])
    return np.array(index)


@pytest.fixture(params=["few spare", "as it is"])
def spare(request, monkeypatch):
    """With no spare candidate nearly every row must be searched again."""
    if request.param == "few spare":
        monkeypatch.setattr(_nearest, "_SPARE", 0)


grids = st.tuples(st.integers(2, 25), st.integers(1, 10)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(0, 2).map(float))
)


@settings(max_examples=60, deadline=None)
@given(points=grids, data=st.data())
def test_grids_full_of_ties(points, data):
    k = data.draw(st.integers(1, len(points) - 1))
    dtype = data.draw(st.sampled_from([np.float32, np.float64, int]))
    algorithm = data.draw(st.sampled_from(["brute", "tree", "auto"]))
    points = points.astype(dtype)
    queries = points[::2] + dtype(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_nearest, "_SPARE", data.draw(st.integers(0, 3)))
        for exclude_self, q in ((False, queries), (True, points)):
            sqdist, index = nearest(q, points, k, exclude_self=exclude_self, algorithm=algorithm)
            assert index.tolist() == loop(q, points, k, 1, exclude_self).tolist()
            assert sqdist.tolist() == ((q[:, None] - points[index]) ** 2).sum(axis=2).tolist()
        sqdist, index = farthest(queries, points, k)
    assert index.tolist() == loop(queries, points, k, -1, False).tolist()
    assert sqdist.tolist() == ((queries[:, None] - points[index]) ** 2).sum(axis=2).tolist()


@pytest.mark.usefixtures("spare")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [2, 30])
@pytest.mark.parametrize("scale", [2.0**-27, 1.0, 2.0**27])  # about 1e∓8, and exact
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_any_scale_and_place(shift, scale, d, dtype):
    rng = np.random.default_rng(0)
    # Steps of 1/4 survive the shift in float64; float32 cannot hold them there.
    points = rng.integers(-40, 40, (150, d)) / 4 + (shift if dtype == np.float64 else 0)
    points = (points * scale).astype(dtype)
    for k in (1, 6):
        _, index = nearest(points, points, k, exclude_self=True)
        assert index.tolist() == loop(points, points, k, 1, True).tolist()
        _, index = farthest(points[:20], points, k)
        assert index.tolist() == loop(points[:20], points, k, -1, False).tolist()


@pytest.mark.parametrize("d", [2, 12])
@pytest.mark.parametrize("scale", [1e-161, 1e-162, 1e-165, 1e-200, 1e-320])
def test_distances_whose_squares_underflow(scale, d):
    """They are multiples of 2^-1074, and many are equal, unlike those that a search compares."""
    points = np.random.default_rng(0).normal(size=(150, d)) * scale
    _, index = nearest(points, points, 5, exclude_self=True)
    assert index.tolist() == loop(points, points, 5, 1, True).tolist()
    _, index = farthest(points, points, 5)
    assert index.tolist() == loop(points, points, 5, -1, False).tolist()
    sqdist = np.square(points[:, None] - points).sum(axis=2)  # exact: multiples of 2^-1074
    labels, radius2 = np.arange(150) % 3, np.sort(sqdist, axis=1)[:, 40]
    inside = (sqdist < radius2[:, None]) & (labels[:, None] != labels)
    for algorithm in ("tree", "brute"):
        rows, cols, found = within_radius_of_other_class(
            points, labels, radius2, algorithm=algorithm
        )
        assert np.column_stack([rows, cols]).tolist() == np.argwhere(inside).tolist()
        assert found.tobytes() == sqdist[inside].tobytes()


@st.composite
def many_points(draw):
    """Return points in float32 or float64: spread out, on a grid, all the same, or far away."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(30, 90)), draw(st.integers(6, 20))
    kind = draw(st.sampled_from(["normal", "grid", "same", "duplicates"]))
    points = {
        "normal": lambda: rng.normal(size=(n, d)) * 0.7 ** np.arange(d),
        "grid": lambda: rng.integers(0, 3, (n, d)).astype(float),
        "same": lambda: np.ones((n, d)),
        "duplicates": lambda: np.repeat(rng.normal(size=(n, d)), 3, axis=0)[:n],
    }[kind]()
    points = points * draw(st.sampled_from([1e-12, 1.0, 1e9])) + draw(st.sampled_from([0.0, 1e8]))
    return points.astype(draw(st.sampled_from([np.float32, np.float64])))


@settings(max_examples=80, deadline=None)
@given(points=many_points(), k=st.integers(1, 5), spare=st.integers(0, 4), held=st.integers(1, 4))
def test_proposals_in_single_precision(points, k, spare, held):
    """They are settled by exact distances: neighbours and bits of the proposals in double."""
    n_queries = len(points) // 2
    expected = nearest(points[:n_queries], points, k), nearest(points, points, k, exclude_self=True)
    calls = []
    propose = _nearest._Search.propose_in_single_precision

    def counted(self):
        calls.append(self)
        return propose(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_nearest, "_FEW_DISTANCES", 0)
        patch.setattr(_nearest, "_MIN_GROUPS", 12)
        patch.setattr(_nearest, "_GROUPS_PER_PROPOSED", 1)
        patch.setattr(_nearest, "_MIN_GROUP_SIZE", 1)
        patch.setattr(_nearest, "_MAX_NORM_RATIO", 1e300)
        patch.setattr(_nearest, "_SCORED_ROWS", 20)
        patch.setattr(_nearest, "_SCORED_POINTS", 25)
        patch.setattr(_nearest, "_SPARE", spare)
        patch.setattr(_best_scores, "_HELD_PER_BEST", held)
        patch.setattr(_nearest._Search, "propose_in_single_precision", counted)
        found = (
            nearest(points[:n_queries], points, k),
            nearest(points, points, k, exclude_self=True),
        )
    assert len(calls) == 2
    for a, b in zip(found, expected, strict=True):
        assert a[0].tobytes() == b[0].tobytes()
        assert a[1].tobytes() == b[1].tobytes()


def test_many_points_are_proposed_in_single_precision_unless_one_is_far_away(monkeypatch):
    points = np.random.default_rng(0).normal(size=(1200, 7))
    monkeypatch.setattr(_nearest._Search, "propose_by_comparing", None)  # a call would fail
    index = nearest(points, points, 3, exclude_self=True)[1]
    assert index[:9].tolist() == loop(points[:9], points, 4, 1, False)[:, 1:].tolist()
    far = np.vstack([points, np.full((1, 7), 1e4)])
    with pytest.raises(TypeError, match="NoneType"):
        nearest(far, far, 3, exclude_self=True)


def test_translation_changes_nothing():
    points = np.random.default_rng(1).integers(0, 1000, (300, 12)) / 64.0
    for search in (nearest, farthest):
        here, there = search(points, points, 5), search(points + 1e6, points + 1e6, 5)
        assert here[0].tobytes() == there[0].tobytes()
        assert here[1].tobytes() == there[1].tobytes()


@pytest.mark.parametrize("d", [3, 40])
def test_same_bits_for_any_number_of_threads(d):
    rng = np.random.default_rng(2)
    points, labels = rng.normal(size=(2500, d)), rng.integers(0, 5, 2500)
    for run in (
        lambda n_jobs: nearest(points, points, 4, exclude_self=True, n_jobs=n_jobs),
        lambda n_jobs: farthest(points, points, 4, n_jobs=n_jobs),
        lambda n_jobs: within_radius_of_other_class(points, labels, d / 2.0, n_jobs=n_jobs),
    ):
        one, two, five = (run(n_jobs) for n_jobs in (1, 2, 5))
        for a, b, c in zip(one, two, five, strict=True):
            assert a.tobytes() == b.tobytes() == c.tobytes()


def test_duplicates_are_neighbours_but_a_point_is_not_its_own():
    points = np.ones((30, 9))
    sqdist, index = nearest(points, points, 2, exclude_self=True)
    assert index[:4].tolist() == [[1, 2], [0, 2], [0, 1], [0, 1]]
    assert not sqdist.any()
    assert farthest(points, points, 3)[1].tolist() == [[0, 1, 2]] * 30


def test_all_points_are_asked_for():
    points = np.arange(5.0)[:, None]
    assert nearest(points[:1], points, 5)[1].tolist() == [[0, 1, 2, 3, 4]]
    assert farthest(points[:1], points, 5)[1].tolist() == [[4, 3, 2, 1, 0]]
    assert nearest(points, points, 4, exclude_self=True)[1][2].tolist() == [1, 3, 0, 4]


def test_no_queries():
    sqdist, index = nearest(np.empty((0, 2)), np.ones((3, 2)), 2)
    assert sqdist.shape == index.shape == (0, 2)


def test_result_types():
    points = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    for sqdist, index in (nearest(points, points, 2), farthest(points, points, 2)):
        assert sqdist.dtype == np.float64
        assert index.dtype == np.int64


@settings(max_examples=60, deadline=None)
@given(Z=grids, data=st.data())
def test_radius_search_on_grids(Z, data):
    labels = np.array(data.draw(st.lists(st.integers(-1, 1), min_size=len(Z), max_size=len(Z))))
    radius2 = np.array(
        data.draw(st.lists(st.integers(-1, 6), min_size=len(Z), max_size=len(Z))), float
    )
    expected = [
        (i, j, float(((Z[i] - Z[j]) ** 2).sum()))
        for i in range(len(Z))
        for j in range(len(Z))
        if labels[i] != labels[j] and ((Z[i] - Z[j]) ** 2).sum() < radius2[i]
    ]
    algorithm = data.draw(st.sampled_from(["brute", "tree"]))
    search = partial(within_radius_of_other_class, Z, labels, radius2, algorithm=algorithm)
    found = search(max_pairs=len(expected))
    assert list(zip(*(part.tolist() for part in found), strict=True)) == expected
    if expected:
        with pytest.raises(TooManyPairs):
            search(max_pairs=len(expected) - 1)


@pytest.mark.parametrize("d", [1, 3, 7])
@pytest.mark.parametrize("place", [0.0, 1e6])
@pytest.mark.parametrize(
    ("scale", "dtype"),
    [(1.0, np.float32), (1e-100, np.float64), (1.0, np.float64), (1e70, np.float64)],
)
def test_trees_find_what_comparing_finds(d, place, scale, dtype, monkeypatch):
    monkeypatch.setattr(_radius, "_MAX_CANDIDATES", 1000)
    rng = np.random.default_rng(d)
    Z = ((rng.normal(size=(500, d)) + place) * scale).astype(dtype)
    labels = rng.integers(0, 4, len(Z))
    radius2 = (0.3 * d * rng.random(len(Z)) * scale) ** 2
    radius2[:5], radius2[5] = -1.0, np.inf
    for n_jobs in (1, 3):
        found, expected = (
            within_radius_of_other_class(Z, labels, radius2, algorithm=algorithm, n_jobs=n_jobs)
            for algorithm in ("tree", "brute")
        )
        for a, b in zip(found, expected, strict=True):
            assert a.tobytes() == b.tobytes()
    assert len(found[0]) > 1000


@pytest.mark.parametrize(
    ("n", "d", "n_classes", "trees"),
    [(400, 3, 2, True), (400, 4, 2, False), (200, 3, 2, False), (400, 3, 8, False)],
)
def test_trees_are_taken_for_many_rows_of_few_features_and_classes(
    monkeypatch, n, d, n_classes, trees
):
    monkeypatch.setattr(_radius, "_TREE_MIN_ROWS", 300)
    monkeypatch.setattr(_radius, "_TREE_MIN_ROWS_PER_CLASS", 60)
    taken = []
    scan = _radius._scan_trees
    monkeypatch.setattr(_radius, "_scan_trees", lambda *a, **k: taken.append(1) or scan(*a, **k))
    Z, labels = np.random.default_rng(0).normal(size=(n, d)), np.arange(n) % n_classes
    found = within_radius_of_other_class(Z, labels, 0.05)
    assert bool(taken) == trees
    for part, expected in zip(
        found, within_radius_of_other_class(Z, labels, 0.05, algorithm="brute"), strict=True
    ):
        np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize("labels", [np.int8, np.uint16, bool])
def test_radius_search_takes_any_integer_codes(labels):
    Z = np.arange(4.0)[:, None]
    rows, cols, _ = within_radius_of_other_class(Z, np.array([0, 1, 0, 1], labels), 1.5)
    assert list(zip(rows.tolist(), cols.tolist(), strict=True)) == [
        *((0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2))
    ]


def test_one_class_has_no_pairs():
    found = within_radius_of_other_class(np.ones((9, 2)), np.zeros(9, int), np.inf)
    assert [len(part) for part in found] == [0, 0, 0]


def test_flooding_is_detected():
    with pytest.raises(TooManyPairs, match="max_pairs=10"):
        within_radius_of_other_class(np.ones((99, 2)), np.arange(99), np.inf, max_pairs=10)
    assert TooManyPairs is types.TooManyPairs


def test_bad_arguments_get_a_sentence():
    X = np.zeros((5, 2))
    for words, call in [
        ("k must lie in 1 to 5, .* but it is 6", lambda: nearest(X, X, 6)),
        ("k must lie in 1 to 4", lambda: nearest(X, X, 5, exclude_self=True)),
        ("k must lie in 1 to 5", lambda: farthest(X, X, 0)),
        ("queries must be points", lambda: nearest(X[:3], X, 1, exclude_self=True)),
        ("queries must have as many features", lambda: nearest(X[:, :1], X, 1)),
        ("points must be finite", lambda: nearest(X, X + np.nan, 1)),
        ("points must be finite", lambda: nearest(X, X - np.inf, 1)),
        ("queries must lie within ±1e150", lambda: nearest(X - 1e160, X, 1)),
        ("points must be a matrix", lambda: nearest(X, X[0], 1)),
        ("n_jobs", lambda: nearest(X, X, 1, n_jobs=0)),
        ("algorithm='ball' .* 'auto', 'brute', 'tree'", lambda: nearest(X, X, 1, algorithm="ball")),
        ("labels must be integer codes", lambda: within_radius_of_other_class(X, ["a"] * 5, 1)),
        ("labels must hold 5", lambda: within_radius_of_other_class(X, [1], 1)),
        ("radius2 must hold 5", lambda: within_radius_of_other_class(X, [1] * 5, [1.0, 2.0])),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
