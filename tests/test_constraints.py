"""Pairs and triplets: builders against loops on grids full of ties, and complaints read."""

import time
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chisquare

from likewise.constraints import (
    Pairs,
    as_pairs,
    as_triplets,
    chunks_from_pairs,
    doublets,
    nearest_and_farthest_pairs,
    pairs_from_chunks,
    random_pairs,
    target_neighbors,
    triplets,
)


@st.composite
def labelled_grids(draw):
    """Few places for many rows: most distances are tied and many rows are equal."""
    sizes = draw(st.lists(st.integers(1, 7), min_size=2, max_size=3).filter(lambda s: max(s) > 3))
    y = np.repeat(np.array(["x", "b", "a"])[: len(sizes)], sizes)
    y = y[draw(st.permutations(range(len(y))))]
    d = draw(st.sampled_from([1, 2, 7]))
    X = draw(arrays(np.float64, (len(y), d), elements=st.integers(0, 2).map(float)))
    return X, y


def ranked(X, y, i, *, alike, farthest=False):
    """Rows of the own class or of the others, by distance to row i and then by number."""
    sign = -1 if farthest else 1
    others = [j for j in range(len(X)) if j != i and (y[j] == y[i]) == alike]
    return sorted(others, key=lambda j: (sign * sum((X[i] - X[j]) ** 2), j))


@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(deadline=None, max_examples=60)
@given(grid=labelled_grids(), k=st.integers(1, 3))
def test_target_neighbors_against_loops(grid, k):
    X, y = grid
    expected = [[i, j] for i in range(len(X)) for j in ranked(X, y, i, alike=True)[:k]]
    found = target_neighbors(X, y, k)
    assert found.dtype == np.int64
    assert found.tolist() == expected
    assert target_neighbors(X.astype(np.float32), y, k, n_jobs=1).tolist() == expected
    assert target_neighbors(X.astype(int).tolist(), y, k).tolist() == expected


@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(deadline=None, max_examples=60)
@given(grid=labelled_grids(), n_same=st.integers(1, 3), n_different=st.integers(1, 3))
def test_pair_and_triplet_builders_against_loops(grid, n_same, n_different):
    X, y = grid
    near, far, three = [], [], []
    for i in range(len(X)):
        same = ranked(X, y, i, alike=True)
        different = ranked(X, y, i, alike=False)[:n_different]
        farthest = ranked(X, y, i, alike=False, farthest=True)
        near += [(i, j, True) for j in same[:n_same]] + [(i, j, False) for j in different]
        far += [(i, j, True) for j in same[:n_same]] + [(i, j, False) for j in farthest[:n_same]]
        three += [[i, j, other] for j in same[:n_same] for other in different]
    for pairs, expected in (
        (doublets(X, y, n_same, n_different), near),
        (nearest_and_farthest_pairs(X, y, n_same), far),
    ):
        assert [(i, j, s) for (i, j), s in zip(pairs.index, pairs.same, strict=True)] == expected
        assert len(pairs) == len(expected)
    found = triplets(X, y, n_same, n_different)
    assert found.index.tolist() == three
    assert len(found) == len(three)


@pytest.mark.parametrize("d", [2, 9])
def test_a_row_is_never_its_own_neighbour_among_duplicates(d):
    X, y = np.zeros((12, d)), np.repeat([0, 1], 6)
    found = target_neighbors(X, y, 3)
    assert (found[:, 0] != found[:, 1]).all()
    assert found[:3].tolist() == [[0, 1], [0, 2], [0, 3]]
    assert found[6:9].tolist() == [[2, 0], [2, 1], [2, 3]]
    for index in (doublets(X, y).index, nearest_and_farthest_pairs(X, y).index):
        assert (index[:, 0] != index[:, 1]).all()


def test_builders_take_tables_and_any_labels():
    X = pd.DataFrame({"a": [0, 1, 5, 6], "b": [0, 0, 0, 0]})
    for y in (pd.Series(list("uuvv")), [True, True, False, False], [1.0, 1.0, 2.0, 2.0], "uuvv"):
        labels = list(y) if isinstance(y, str) else y
        assert target_neighbors(X, labels, 1)[:, 1].tolist() == [1, 0, 3, 2]


def test_a_shift_changes_no_neighbours():
    random = np.random.default_rng(0)
    X, y = random.integers(0, 1000, size=(60, 8)) / 64, random.integers(0, 2, 60)
    np.testing.assert_array_equal(target_neighbors(X + 1e6, y), target_neighbors(X, y))


X4, Y4 = [[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (
            lambda: target_neighbors(X4, Y4, 4),
            "n_neighbors=4 is not allowed: X has 4 rows, and a row is not its own neighbour",
        ),
        (
            lambda: target_neighbors(X4, [1, 2, 3, 4], 1),
            "Every class has 1 row, but at least one class needs 2",
        ),
        (lambda: doublets(X4, Y4, 5, 1), "n_same=5 is not allowed: X has 4 rows"),
        (lambda: triplets(X4, Y4, 5, 1), "n_same=5 is not allowed: X has 4 rows"),
        (
            lambda: doublets(X4, Y4, 1, 3),
            "n_different=3 is not allowed: a row has at most 2 rows of other classes",
        ),
        (lambda: doublets(X4, Y4, 1, 0), "n_different=0 is not allowed: a search needs an integer"),
        (
            lambda: target_neighbors(X4, Y4, 0),
            "n_neighbors=0 is not allowed: a search needs an integer",
        ),
        (lambda: target_neighbors(X4, Y4, 1.0), "n_neighbors=1.0 is not allowed"),
        (lambda: target_neighbors(X4, Y4, True), "n_neighbors=True is not allowed"),
        (lambda: doublets(X4, ["a"] * 4, 1, 1), r"y has one class \('a'\), but at least 2"),
        (lambda: nearest_and_farthest_pairs(X4, [3] * 4), r"y has one class \(3\), but at least 2"),
        (lambda: target_neighbors(X4, Y4[:3]), "X has 4 rows but y has 3 labels; they must match"),
        (lambda: target_neighbors([1.0, 2.0], Y4), "X has 1 dimension, but a table of rows"),
        (
            lambda: target_neighbors(sp.csr_array(X4), Y4),
            "X is sparse, but a dense table is needed",
        ),
        (
            lambda: target_neighbors([[0.0], [np.nan], [1.0], [2.0]], Y4, 1),
            r"X contains NaN in 1 row \(first in row 1, column 0\)",
        ),
        (lambda: target_neighbors(X4, [[1], [1], [2], [2]], 1), r"y has shape \(4, 1\), but one"),
        (lambda: target_neighbors(X4, [1.0, 1.0, np.nan, np.nan], 1), "y contains NaN, but every"),
        (
            lambda: target_neighbors(X4, np.array(["a", 1, "a", 1], dtype=object), 1),
            "y mixes labels of the types int and str, but they must be of one type",
        ),
    ],
)
def test_errors_of_builders(build, sentence):
    with pytest.raises(ValueError, match=sentence):
        build()


def test_few_rows_of_other_classes_warn():
    X, y = [[0.0], [1.0], [2.0], [9.0]], [7, 7, 7, 9]
    with pytest.warns(UserWarning, match="n_different is 2, but class 7 has 1 row outside it"):
        pairs = doublets(X, y, 1, 2)
    assert pairs.index[~pairs.same].tolist() == [[0, 3], [1, 3], [2, 3], [3, 2], [3, 1]]


# What users write: pairs and triplets.


def test_pairs_unpack_and_take_both_ways_to_say_same():
    for written in ([1, -1], [1.0, -1.0], [1, 0], [True, False]):
        assert as_pairs([[0, 1], [2, 0]], written, 3).same.tolist() == [True, False]
    index, same = as_pairs([[0, 1], [2, 0]], [1, -1], 3)
    assert (index.dtype, same.dtype) == (np.int64, np.bool_)
    assert index.tolist() == [[0, 1], [2, 0]]
    assert same.tolist() == [True, False]
    assert as_pairs(np.array([[0, 1]], dtype=np.uint8), np.array([-1.0]), 2).same.tolist() == [
        False
    ]
    again = as_pairs(index, same, 3)
    np.testing.assert_array_equal(again.index, index)


def test_triplets_may_be_given_checked():
    checked = as_triplets(np.asfortranarray([[0, 1, 2], [2, 1, 0]]), 3)
    assert checked.index.flags.c_contiguous
    np.testing.assert_array_equal(as_triplets(checked, 3).index, checked.index)
    with pytest.raises(ValueError, match="triplets holds row number 2, but X has rows 0 to 1"):
        as_triplets(checked, 2)


@pytest.mark.parametrize(
    ("pairs", "same", "sentence"),
    [
        ([[0, 3]], [True], "pairs holds row number 3, but X has rows 0 to 2"),
        ([[0, 1], [-1, 2]], [True, True], "pairs holds row number -1, but X has rows 0 to 2"),
        ([[0.0, 1.0]], [True], "pairs holds float64 values, but row numbers must be integers"),
        ([[True, False]], [True], "pairs holds bool values, but row numbers must be integers"),
        ([["0", "1"]], [True], "values, but row numbers must be integers"),
        ([[0, 1], [2]], [True, True], "pairs has rows of different lengths"),
        ([], [], "pairs is empty, but at least one row of 2 numbers is needed"),
        (np.zeros((0, 2), dtype=int), [], "pairs is empty"),
        ([0, 1], [True], r"pairs has shape \(2,\), but \(n, 2\) is needed"),
        ([[0, 1, 2]], [True], r"pairs has shape \(1, 3\), but \(n, 2\) is needed"),
        ([[0, 1], [2, 2]], [True, True], r"pairs\[1\] names row 2 twice, but its rows must be"),
        ([[0, 1]], [True, False], r"same has shape \(2,\), but 1 pairs need shape \(1,\)"),
        ([[0, 1]], True, r"same has shape \(\), but 1 pairs need"),
        ([[0, 1]], [[True]], r"same has shape \(1, 1\), but 1 pairs need"),
        ([[0, 1], [1, 2]], [0, -1], "same holds both 0 and -1, but only one of them may mean"),
        ([[0, 1]], [2], "same holds 2, but only True/False, 1/0 or 1/-1 are allowed"),
        ([[0, 1]], [np.nan], "same holds nan, but only True/False, 1/0 or 1/-1 are allowed"),
        ([[0, 1]], ["yes"], "same holds 'yes', but only True/False, 1/0 or 1/-1 are allowed"),
        ([[0, 1]], [None], "same holds None, but only True/False, 1/0 or 1/-1 are allowed"),
    ],
)
def test_errors_of_pairs(pairs, same, sentence):
    with pytest.raises(ValueError, match=sentence):
        as_pairs(pairs, same, 3)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([[0, 1]], r"triplets has shape \(1, 2\), but \(n, 3\) is needed"),
        ([[0, 1, 0]], r"triplets\[0\] names row 0 twice"),
        ([[0, 1, 1]], r"triplets\[0\] names row 1 twice"),
        ([[0, 0, 1]], r"triplets\[0\] names row 0 twice"),
        ([[0, 1, 9]], "triplets holds row number 9, but X has rows 0 to 2"),
        ([], "triplets is empty, but at least one row of 3 numbers"),
    ],
)
def test_errors_of_triplets(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        as_triplets(given, 3)


def test_contradictions_warn_with_their_number():
    pairs = [[0, 1], [1, 0], [2, 3], [2, 3], [0, 2], [0, 2], [1, 3]]
    same = [True, False, False, True, True, True, False]
    with pytest.warns(UserWarning, match=r"^2 pairs of rows are marked both same and diff"):
        as_pairs(pairs, same, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_pairs(pairs[4:], same[4:], 4)


# Random pairs.


def test_triplets_in_both_orders_warn():
    triplets = [[0, 1, 2], [0, 2, 1], [0, 1, 2], [3, 1, 2], [3, 2, 1], [1, 0, 2], [2, 0, 1]]
    with pytest.warns(UserWarning, match=r"^2 triplets are given in both orders of the rows to"):
        as_triplets(triplets, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_triplets([[0, 1, 2], [0, 1, 2], [0, 2, 3], [1, 2, 0]], 4)


def test_random_pairs_say_what_labels_say():
    y = np.random.default_rng(0).integers(0, 4, size=50)
    pairs = random_pairs(y, 501, random_state=0)
    assert len(pairs) == 501
    assert pairs.same.sum() == 251
    assert (pairs.index[:, 0] != pairs.index[:, 1]).all()
    np.testing.assert_array_equal(y[pairs.index[:, 0]] == y[pairs.index[:, 1]], pairs.same)


def test_seeds_decide_random_pairs():
    y = list("aabbbcc")
    first, again = (random_pairs(y, 30, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first.index, again.index)
    assert (first.index != random_pairs(y, 30, random_state=8).index).any()
    stream = np.random.RandomState(7)
    np.testing.assert_array_equal(random_pairs(y, 30, random_state=stream).index, first.index)
    assert (random_pairs(y, 30, random_state=stream).index != first.index).any()


def test_random_pairs_are_uniform_over_all_pairs():
    """Classes of very different size, shuffled: every ordered pair is as likely as every other."""
    y = np.array(list("abacbaccad"))
    pairs = random_pairs(y, 60_000, random_state=0)
    for alike in (True, False):
        possible = [
            (i, j) for i in range(10) for j in range(10) if i != j and (y[i] == y[j]) == alike
        ]
        drawn = [tuple(pair) for pair in pairs.index[pairs.same == alike].tolist()]
        counts = [drawn.count(pair) for pair in possible]
        assert sum(counts) == len(drawn) == 30_000
        assert chisquare(counts).pvalue > 1e-3


def test_random_pairs_where_only_one_kind_exists():
    assert random_pairs(["a"] * 5, 9, random_state=0).same.all()
    assert not random_pairs(range(5), 9, random_state=0).same.any()


def unordered(pairs):
    return [tuple(sorted(pair)) for pair in pairs.index.tolist()]


def test_unbalanced_pairs_are_uniform_over_all_pairs():
    y = np.array(list("abacbaccad"))
    pairs = random_pairs(y, 60_000, balanced=False, random_state=0)
    np.testing.assert_array_equal(y[pairs.index[:, 0]] == y[pairs.index[:, 1]], pairs.same)
    counts = np.zeros((10, 10))
    np.add.at(counts, tuple(pairs.index.T), 1)
    assert (np.diag(counts) == 0).all()
    assert chisquare(counts[~np.eye(10, dtype=bool)]).pvalue > 1e-3


@pytest.mark.parametrize("balanced", [True, False])
def test_distinct_pairs_are_uniform_and_never_repeat(balanced):
    y = np.array(list("abacbaccad"))
    drawn = []
    for seed in range(3000):
        pairs = random_pairs(y, 8, balanced=balanced, distinct=True, random_state=seed)
        assert len(set(unordered(pairs))) == len(pairs) == 8
        np.testing.assert_array_equal(y[pairs.index[:, 0]] == y[pairs.index[:, 1]], pairs.same)
        if balanced:
            assert pairs.same.sum() == 4
        drawn += map(tuple, pairs.index.tolist())
    possible = [(i, j) for i in range(10) for j in range(10) if i != j]
    alike = np.array([y[i] == y[j] for i, j in possible])
    counts = np.array([drawn.count(pair) for pair in possible])
    assert counts.sum() == 24_000
    for kind in (alike, ~alike) if balanced else (np.ones_like(alike),):
        assert chisquare(counts[kind]).pvalue > 1e-3


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("y", ["aabbbc", "abcdef", "aaaaaa", "aaaaab"])
def test_as_many_distinct_pairs_as_there_are(y, balanced):
    """15 pairs of 6 rows: all of them, whatever the kinds; fewer of one kind are made up for."""
    options = {"balanced": balanced, "distinct": True, "random_state": 0}
    every = {(i, j) for i in range(6) for j in range(i + 1, 6)}
    assert set(unordered(random_pairs(list(y), 15, **options))) == every
    with pytest.warns(UserWarning, match="n_pairs=16, but 6 labels have 15 distinct pairs: all of"):
        assert set(unordered(random_pairs(list(y), 16, **options))) == every
    for n_pairs in range(1, 15):
        pairs = random_pairs(list(y), n_pairs, **options)
        assert len(set(unordered(pairs))) == n_pairs
        n_same = sum(y[i] == y[j] for i, j in every)
        if balanced:
            assert pairs.same.sum() == np.clip(-(-n_pairs // 2), n_pairs - 15 + n_same, n_same)


def test_random_pairs_of_a_million_labels_are_fast():
    y = np.random.default_rng(0).integers(0, 1000, size=1_000_000)
    begin = time.perf_counter()
    for options in ({}, {"distinct": True}, {"distinct": True, "balanced": False}):
        pairs = random_pairs(y, 100_000, random_state=0, **options)
        assert len(pairs) == 100_000
    assert time.perf_counter() - begin < 10
    np.testing.assert_array_equal(y[pairs.index[:, 0]] == y[pairs.index[:, 1]], pairs.same)


@pytest.mark.parametrize(
    ("y", "n_pairs", "sentence"),
    [
        ("ab", 0, "n_pairs=0 is not allowed: random_pairs needs an integer of at least 1"),
        ("ab", 1.5, "n_pairs=1.5 is not allowed"),
        ("a", 1, "y has length 1, but a pair needs at least 2 labels"),
        ("", 1, "y has length 0, but a pair needs at least 2 labels"),
    ],
)
def test_errors_of_random_pairs(y, n_pairs, sentence):
    with pytest.raises(ValueError, match=sentence):
        random_pairs(list(y), n_pairs)
    with pytest.raises(ValueError, match=sentence):
        random_pairs(list(y), n_pairs, distinct=True)


@pytest.mark.parametrize("option", ["balanced", "distinct"])
def test_options_of_random_pairs(option):
    with pytest.raises(ValueError, match=f"{option}=2 is not allowed"):
        random_pairs([0, 1], 1, **{option: 2})


# Chunks.


@settings(deadline=None)
@given(numbers=arrays(np.int64, st.integers(2, 12), elements=st.integers(-1, 4)))
def test_chunks_survive_the_way_through_pairs(numbers):
    grouped = numbers >= 0
    sizes = np.bincount(numbers[grouped], minlength=1)
    kept = np.zeros(len(numbers), dtype=bool)
    kept[grouped] = sizes[numbers[grouped]] > 1
    if not kept.any():
        with pytest.raises(ValueError, match="no group of two or more rows"):
            pairs_from_chunks(numbers)
        return
    pairs = pairs_from_chunks(numbers, len(numbers))
    assert pairs.same.all()
    back = chunks_from_pairs(pairs, len(numbers))
    np.testing.assert_array_equal(back >= 0, kept)
    for i in np.flatnonzero(kept):
        np.testing.assert_array_equal(back[kept] == back[i], numbers[kept] == numbers[i])
    # Numbered by their first row: 0, 1, 2 … in the order in which they come.
    _, first = np.unique(back[kept], return_index=True)
    assert (np.diff(first) > 0).all()


def test_groups_as_lists_arrays_and_tables_of_rows():
    for chunks in ([[0, 1], [4, 3]], [(0, 1), np.array([4, 3])], np.array([[0, 1], [4, 3]])):
        assert pairs_from_chunks(chunks, 5).index.tolist() == [[0, 1], [4, 3]]
    assert pairs_from_chunks([[0, 1], [2], []]).index.tolist() == [[0, 1]]


def test_only_same_pairs_join():
    pairs = Pairs(np.array([[0, 1], [1, 2], [3, 4]]), np.array([True, False, True]))
    assert chunks_from_pairs(pairs, 6).tolist() == [0, 0, -1, 1, 1, -1]


def test_very_many_chunks_are_fast():
    begin = time.perf_counter()
    pairs = pairs_from_chunks(np.arange(200_000) // 2, 200_000)
    assert time.perf_counter() - begin < 5
    assert len(pairs) == 100_000


@pytest.mark.parametrize(
    ("chunks", "sentence"),
    [
        ([0, 0, -2, 1], "chunks holds group number -2, but only -1"),
        ([0, 0, 1], "chunks has 3 group numbers, but X has 4 rows; they must match"),
        ([0.0, 0.0, 1.0, 1.0], "chunks holds float64 values, but row numbers must be integers"),
        (["a", "a", "b", "b"], "values, but row numbers must be integers"),
        ([[0, 4]], "chunks holds row number 4, but X has rows 0 to 3"),
        ([[0, 1], [2, -1]], "chunks holds row number -1, but X has rows 0 to 3"),
        ([[0, 1], [2, 3, 2]], r"chunks\[1\] names row 2 twice, but its rows must be different"),
        ([[0], [1]], "chunks has no group of two or more rows, but at least one is needed"),
        ([], "chunks has no group of two or more rows"),
        ([-1, -1, -1, -1], "chunks has no group of two or more rows"),
    ],
)
def test_errors_of_chunks(chunks, sentence):
    with pytest.raises(ValueError, match=sentence):
        pairs_from_chunks(chunks, 4)


def test_without_a_number_of_rows_negative_ones_are_still_refused():
    with pytest.raises(ValueError, match="chunks holds row number -1, but X has rows 0"):
        pairs_from_chunks([[0, -1]])


@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(deadline=None, max_examples=40)
@given(grid=labelled_grids(), small=st.integers(0, 6))
def test_small_and_large_classes_are_searched_alike(grid, small):
    X, y = grid
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("likewise.constraints._from_labels._SMALL_CLASS", small)
        patch.setattr("likewise.constraints._from_labels._PAIRS_AT_ONCE", 20)
        mixed = (doublets(X, y, 2, 2).index, nearest_and_farthest_pairs(X, y, 2).index)
        patch.setattr("likewise.constraints._from_labels._SMALL_CLASS", 0)
        one_by_one = (doublets(X, y, 2, 2).index, nearest_and_farthest_pairs(X, y, 2).index)
    for found, expected in zip(mixed, one_by_one, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_thousands_of_small_classes_are_fast():
    X, y = np.random.default_rng(0).normal(size=(20_000, 8)), np.arange(20_000) // 2
    begin = time.perf_counter()
    partner = target_neighbors(X, y, 1)[:, 1]
    np.testing.assert_array_equal(partner, np.arange(20_000) ^ 1)
    doublets(X[:4000], y[:4000], 1, 1)
    assert time.perf_counter() - begin < 10
