"""RCA against a double loop over its formula; labels, chunks and pairs agree."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

import likewise as lw


@pytest.fixture
def data():
    random = np.random.default_rng(5)
    y = np.repeat(["a", "b", "c"], [7, 11, 5])
    X = random.normal(size=(23, 3)) @ random.normal(size=(3, 3)) + (y == "b")[:, None] * 4.0
    return X, y


def by_the_formula(X, groups):
    """Mean outer product of the differences to the group's mean, by two loops; its inverse."""
    total, count = np.zeros((X.shape[1], X.shape[1])), 0
    for group in groups:
        mean = sum(X[i] for i in group) / len(group)
        for i in group:
            total += np.outer(X[i] - mean, X[i] - mean)
            count += 1
    return np.linalg.inv(total / count)


def test_labels_against_the_formula(data):
    X, y = data
    expected = by_the_formula(X, [np.flatnonzero(y == label) for label in "abc"])
    np.testing.assert_allclose(lw.RCA().fit(X, y).mahalanobis_matrix(), expected, rtol=1e-10)


def test_chunks_against_the_formula(data):
    X, _ = data
    groups = [[0, 3, 5], [20, 8], [1, 2, 9, 4]]
    expected = by_the_formula(X, groups)
    M = lw.RCA(shrinkage=None).fit_chunks(X, groups).mahalanobis_matrix()
    np.testing.assert_allclose(M, expected, rtol=1e-9)


def test_labels_chunks_and_pairs_agree(data):
    X, y = data
    codes = np.unique(y, return_inverse=True)[1]
    groups = [np.flatnonzero(codes == code) for code in range(3)]
    pairs = np.array([(group[0], other) for group in groups for other in group[1:]])
    M = lw.RCA().fit(X, y).mahalanobis_matrix()
    for fitted in (
        lw.RCA().fit_chunks(X, codes),
        lw.RCA().fit_chunks(X, groups),
        lw.RCA().fit_pairs(X, pairs, np.ones(len(pairs), dtype=bool)),
    ):
        np.testing.assert_allclose(fitted.mahalanobis_matrix(), M, rtol=1e-12)


def test_different_pairs_are_not_used(data):
    X, _ = data
    M = lw.RCA().fit_pairs(X, [[0, 1], [2, 3]], [True, True]).mahalanobis_matrix()
    more = lw.RCA().fit_pairs(X, [[0, 1], [4, 5], [2, 3]], [1, -1, 1])
    np.testing.assert_array_equal(more.mahalanobis_matrix(), M)


def test_a_class_of_one_sample_is_ignored(data):
    X, y = data
    M = lw.RCA().fit(X, y).mahalanobis_matrix()
    lonely = lw.RCA().fit(np.vstack([X, X[:1] + 9]), np.append(y, "d"))
    np.testing.assert_allclose(lonely.mahalanobis_matrix(), M, rtol=1e-12)


def test_samples_without_a_group_are_ignored(data):
    X, _ = data
    X = X[:4]
    M = lw.RCA().fit_chunks(X, [0, 0, 1, 1]).mahalanobis_matrix()
    more = lw.RCA().fit_chunks(np.vstack([X, X + 7]), [0, 0, 1, 1, -1, -1, -1, -1])
    np.testing.assert_array_equal(more.mahalanobis_matrix(), M)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scale_of_the_data_divides_the_metric(data, scale):
    X, y = data
    M = lw.RCA().fit(X, y).mahalanobis_matrix()
    np.testing.assert_allclose(
        lw.RCA().fit(X * scale, y).mahalanobis_matrix() * scale**2, M, rtol=1e-9
    )


def test_a_shift_changes_nothing(data):
    X, y = data
    M = lw.RCA().fit(X, y).mahalanobis_matrix()
    shifted = lw.RCA().fit(X + 1e6, y).mahalanobis_matrix()
    np.testing.assert_allclose(shifted, M, rtol=1e-7, atol=1e-8 * np.abs(M).max())


@pytest.mark.filterwarnings("ignore::likewise.OverfitWarning")
def test_directions_in_which_no_group_varies_have_no_weight():
    X = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [5.0, 5.0, 3.0], [7.0, 7.0, 3.0]])
    metric = lw.RCA(shrinkage=None).fit(X, [0, 0, 1, 1])
    assert np.linalg.matrix_rank(metric.components_) == 1
    assert metric.pair_distance([[0.0, 0.0, 0.0]], [[0.0, 0.0, 9.0]]) == 0
    assert metric.pair_distance([[0.0, 0.0, 0.0]], [[1.0, -1.0, 0.0]]) == pytest.approx(
        0, abs=1e-12
    )
    assert metric.pair_distance([[0.0, 0.0, 0.0]], [[1.0, 1.0, 0.0]]) > 0


@pytest.mark.filterwarnings("ignore::likewise.OverfitWarning")
def test_more_features_than_rows_is_finite():
    X = np.random.default_rng(2).normal(size=(8, 20))
    y = np.repeat([0, 1], 4)
    L = lw.RCA(shrinkage=None).fit(X, y).components_
    assert np.isfinite(L).all()
    assert np.linalg.matrix_rank(L) == 6
    assert np.linalg.matrix_rank(lw.RCA().fit(X, y).components_) == 20


def test_very_many_small_groups_are_fast():
    n = 60_000
    X = np.random.default_rng(0).normal(size=(n, 3))
    pairs = np.arange(n).reshape(-1, 2)
    M = lw.RCA().fit_pairs(X, pairs, np.ones(len(pairs), dtype=bool)).mahalanobis_matrix()
    half = (X[::2] - X[1::2]) / 2
    np.testing.assert_allclose(M, np.linalg.inv(half.T @ half * 2 / n), rtol=1e-10)


def test_rca_helps_iris():
    X, y = load_iris(return_X_y=True)
    same = lw.RCA().fit(X, y)
    within = same.pair_distance(X[:49], X[1:50]).mean()
    between = same.pair_distance(X[:50], X[50:100]).mean()
    assert between > 3 * within


@pytest.mark.parametrize(
    ("learn", "message"),
    [
        (lambda m, X: m.fit(X, [1, 1, 1, 1]), r"y has one class \(1\), but RCA needs at least 2"),
        (lambda m, X: m.fit(X, [1, 2, 3, 4]), "Every group has one sample, but RCA needs a group"),
        (
            lambda m, X: m.fit([[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1]),
            "samples of each group are",
        ),
        (lambda m, X: m.fit_pairs(X, [[0, 1]], [False]), "same is False for every pair"),
        (lambda m, X: m.fit_pairs(X, [[0, 4]], [True]), "pairs holds row number 4, but X has rows"),
        (lambda m, X: m.fit_pairs(X, [[0, 0]], [True]), r"pairs\[0\] names row 0 twice"),
        (
            lambda m, X: m.fit_chunks(X, [[0, 9]]),
            "chunks holds row number 9, but X has rows 0 to 3",
        ),
        (
            lambda m, X: m.fit_chunks(X, [[0, -1]]),
            "chunks holds row number -1, but X has rows 0 to",
        ),
        (lambda m, X: m.fit_chunks(X, [[0, 1, 0]]), r"chunks\[0\] names row 0 twice"),
        (lambda m, X: m.fit_chunks(X, [0, 0, 1]), "chunks has 3 group numbers, but X has 4 rows"),
        (lambda m, X: m.fit_chunks(X, [[0], [1]]), "no group of two or more rows"),
        (lambda m, X: m.fit_chunks(X, []), "no group of two or more rows"),
    ],
)
def test_errors(learn, message):
    X = [[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [3.0, 3.0]]
    with pytest.raises(ValueError, match=message):
        learn(lw.RCA(), X)


def test_contradictory_pairs_are_counted():
    X = [[0.0], [1.0], [3.0]]
    with pytest.warns(UserWarning, match="1 pair of rows is marked both same and different"):
        lw.RCA().fit_pairs(X, [[0, 1], [1, 0], [1, 2]], [True, False, True])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.RCA().fit_pairs(X, [[0, 1], [0, 1], [1, 2]], [True, True, True])
