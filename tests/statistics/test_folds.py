"""Stratified folds: balanced, random, and never through the middle of a group."""

import numpy as np
import pytest

from likewise.statistics import rows_to_test, stratified_folds


def test_classes_and_sizes_are_balanced():
    y = np.repeat(["a", "b", "c", "d"], [101, 52, 3, 1])
    folds = stratified_folds(y, 5)
    assert folds[-1] == -1, "a single row is always trained on"
    tested = folds >= 0
    assert np.ptp(np.bincount(folds[tested])) <= 1
    for label in "abc":
        counts = np.bincount(folds[tested & (y == label)], minlength=5)
        assert np.ptp(counts) <= 1
    assert len(set(folds[y == "c"])) == 3, "rows of a small class are in different folds"


def test_seeds_decide_and_repeats_differ():
    y = np.arange(100) % 3
    first, again = stratified_folds(y, random_state=1), stratified_folds(y, random_state=1)
    np.testing.assert_array_equal(first, again)
    rng = np.random.default_rng(1)
    one, other = stratified_folds(y, random_state=rng), stratified_folds(y, random_state=rng)
    assert (one != other).any()


def partition(folds):
    return {frozenset(np.flatnonzero(folds == fold)) for fold in range(5)}


def test_groups_stay_together_and_folds_are_balanced():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 60, 1000)
    y = rng.integers(0, 4, 60)[groups]  # speakers, say, of four dialects
    repeats = [stratified_folds(y, groups=groups, random_state=rng) for _ in range(3)]
    for folds in repeats:
        for group in range(60):
            assert len(set(folds[groups == group])) == 1
        assert np.ptp(np.bincount(folds)) < 80
        for label in range(4):
            counts = np.bincount(folds[y == label], minlength=5)
            assert counts.max() < 2.5 * counts.mean()
            assert counts.max() < (y == label).sum(), "the class is in every training part"
    assert partition(repeats[0]) != partition(repeats[1]) != partition(repeats[2])


def test_groups_of_distinct_sizes_are_not_always_in_the_same_folds():
    groups = np.repeat(np.arange(20), np.arange(5, 25))
    y = groups % 2
    partitions = [
        partition(stratified_folds(y, groups=groups, random_state=seed)) for seed in range(4)
    ]
    assert any(partitions[0] != other for other in partitions[1:])


def test_rows_of_a_class_in_one_group_only_are_not_tested():
    y = np.array(["a", "b"] * 6 + ["c", "c", "d"])
    groups = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 0, 0, 6])
    expected = (y == "a") | (y == "b")
    np.testing.assert_array_equal(rows_to_test(y, groups), expected)
    folds = stratified_folds(y, groups=groups)
    assert folds[14] == -1, "a group of nothing else is always trained on"
    assert folds[12] == folds[13] == folds[0], "no group is divided"
    np.testing.assert_array_equal(rows_to_test([1, 2, 2]), [False, True, True])


@pytest.mark.parametrize(
    ("y", "options", "sentence"),
    [
        ([0, 0, 1, 1], {}, "y has 4 rows of classes that occur in two or more rows, but 5 folds"),
        ([0, 1] * 6, {"groups": np.arange(12) // 4}, "y has 3 groups of classes"),
        ([0, 1] * 6, {"groups": [1, 2]}, r"groups has shape \(2,\)"),
        ([0, 1] * 6, {"n_folds": 1}, "n_folds=1 is not allowed"),
    ],
)
def test_bad_input(y, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        stratified_folds(y, **options)
