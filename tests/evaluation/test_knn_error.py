"""Errors of the neighbours' vote against a loop over rows, neighbours and k."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from likewise.datasets import load
from likewise.evaluation import knn_error, leave_one_out_error


def error_by_loops(X_train, y_train, X_test, y_test, k):
    wrong = 0
    for x, truth in zip(X_test, y_test, strict=True):
        order = np.argsort(((X_train - x) ** 2).sum(axis=1), kind="stable")
        for shrunk in range(k, 0, -1):
            labels, counts = np.unique(y_train[order[:shrunk]], return_counts=True)
            if (counts == counts.max()).sum() == 1:
                break
        wrong += labels[counts.argmax()] != truth
    return wrong / len(y_test)


@pytest.fixture
def parts():
    iris = load("iris")
    order = np.random.default_rng(0).permutation(150)
    X, y = iris.X[order] - 5.0, np.array(iris.classes)[iris.y[order]]
    return X[:90], y[:90], X[90:], y[90:]


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 90])
def test_equals_the_loops(parts, k):
    found = knn_error(*parts, n_neighbors=k)
    assert found.error == pytest.approx(error_by_loops(*parts, k))
    assert (found.n_neighbors, found.errors.tolist()) == (k, [found.error])


def test_best_tries_every_k_and_takes_the_smallest(parts):
    found = knn_error(*parts, n_neighbors="best")
    expected = [error_by_loops(*parts, k) for k in range(1, 26)]
    np.testing.assert_allclose(found.errors, expected)
    assert found.n_neighbors == int(np.argmin(expected)) + 1
    assert found.error == min(expected)


def test_best_with_few_rows(parts):
    X_train, y_train, X_test, y_test = parts
    assert len(knn_error(X_train[:4], y_train[:4], X_test, y_test, n_neighbors="best").errors) == 4
    few = knn_error(*parts, n_neighbors="best", max_neighbors=2)
    assert len(few.errors) == 2


def test_one_neighbour_is_scikit_learns(parts):
    X_train, y_train, X_test, y_test = parts
    score = KNeighborsClassifier(1).fit(X_train, y_train).score(X_test, y_test)
    assert knn_error(*parts, n_neighbors=1).error == pytest.approx(1 - score)


@pytest.mark.parametrize("k", [1, 2, 4, 6, 25])
def test_ties_for_the_first_class_as_in_scikit_learn(k):
    """Points in general position: no equal distances, but tied votes."""
    rng = np.random.default_rng(0)
    X_train, y_train = rng.normal(size=(60, 3)), rng.choice(list("abc"), 60)
    X_test, y_test = rng.normal(size=(200, 3)), rng.choice(list("abc"), 200)
    score = KNeighborsClassifier(k).fit(X_train, y_train).score(X_test, y_test)
    found = knn_error(X_train, y_train, X_test, y_test, n_neighbors=k, ties="first")
    assert found.error == pytest.approx(1 - score)
    shrunk = knn_error(X_train, y_train, X_test, y_test, n_neighbors=k)
    assert (shrunk.error == found.error) == (k == 1)
    one_out = cross_val_predict(KNeighborsClassifier(k), X_test, y_test, cv=LeaveOneOut())
    found = leave_one_out_error(X_test, y_test, n_neighbors=k, ties="first")
    assert found.error == pytest.approx(np.mean(one_out != y_test))


def test_a_metric_is_applied(parts):
    X_train, y_train, X_test, y_test = parts
    pca = PCA(1).fit(X_train)
    expected = error_by_loops(pca.transform(X_train), y_train, pca.transform(X_test), y_test, 3)
    assert knn_error(*parts, metric=pca).error == pytest.approx(expected)


def test_a_label_that_training_rows_do_not_have_is_an_error():
    found = knn_error([[0.0], [1.0]], [1, 3], [[0.0], [1.0], [1.0]], [0, 2, 9], n_neighbors=1)
    assert found.error == 1.0


@pytest.mark.parametrize("k", [1, 3, 6])
def test_balanced_error_is_that_of_scikit_learn(parts, k):
    """Classes of 30, 12 and 5 test rows count the same."""
    X_train, y_train, X_test, y_test = parts
    kept = np.concatenate(
        [
            np.flatnonzero(y_test == c)[:n]
            for c, n in zip(np.unique(y_test), (30, 12, 5), strict=True)
        ]
    )
    X_test, y_test = X_test[kept] + 0.3, y_test[kept]
    found = knn_error(X_train, y_train, X_test, y_test, n_neighbors=k, balanced=True)
    one_by_one = [
        1 - error_by_loops(X_train, y_train, X_test[[i]], y_test[[i]], k) for i in range(len(kept))
    ]
    predicted = np.where(np.array(one_by_one) == 1, y_test, "wrong")
    with pytest.warns(UserWarning, match="not in y_true"):
        expected = 1 - balanced_accuracy_score(y_test, predicted)
    assert found.error == pytest.approx(expected)
    assert found.error != knn_error(X_train, y_train, X_test, y_test, n_neighbors=k).error


def test_balanced_error_of_labels_that_training_rows_do_not_have():
    found = knn_error(
        [[0.0], [1.0]],
        [1, 3],
        [[0.0], [0.0], [1.0], [1.0]],
        [1, 1, 2, 9],
        n_neighbors=1,
        balanced=True,
    )
    assert found.error == pytest.approx(2 / 3)


@pytest.mark.parametrize("k", [1, 2, 5, 149])
def test_leave_one_out_equals_the_loops(k):
    iris = load("iris")
    y = np.array(iris.classes)[iris.y]
    wrong = [
        error_by_loops(np.delete(iris.X, i, 0), np.delete(y, i), iris.X[[i]], y[[i]], k)
        for i in range(150)
    ]
    assert leave_one_out_error(iris.X, y, n_neighbors=k).error == pytest.approx(np.mean(wrong))
    by_class = [np.mean(np.array(wrong)[y == c]) for c in iris.classes]
    found = leave_one_out_error(iris.X, y, n_neighbors=k, balanced=True)
    assert found.error == pytest.approx(np.mean(by_class))


def test_leave_one_out_as_in_scikit_learn():
    X, y = load("wine").X, load("wine").y
    predicted = cross_val_predict(KNeighborsClassifier(1), X, y, cv=LeaveOneOut())
    assert leave_one_out_error(X, y, n_neighbors=1).error == pytest.approx(np.mean(predicted != y))
    pca = PCA(2).fit(X)
    found = leave_one_out_error(X, y, metric=pca, n_neighbors="best")
    assert found.error == leave_one_out_error(pca.transform(X), y, n_neighbors="best").error
    assert len(found.errors) == 25
    assert len(leave_one_out_error(X[:4], y[:4], n_neighbors="best").errors) == 3


def test_leave_one_out_needs_two_rows():
    with pytest.raises(ValueError, match="X has one row, but to leave one out"):
        leave_one_out_error([[0.0]], [1])
    with pytest.raises(ValueError, match=r"X and y have shapes \(2, 1\) and \(1,\)"):
        leave_one_out_error([[0.0], [1.0]], [1])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_neighbors": 0}, "n_neighbors=0 is not allowed"),
        ({"n_neighbors": "worst"}, "n_neighbors='worst' is not allowed"),
        ({"n_neighbors": 91}, "n_neighbors is 91, but there are 90 training rows"),
        ({"max_neighbors": 0}, "max_neighbors=0 is not allowed"),
        ({"balanced": "yes"}, "balanced='yes' is not allowed"),
        ({"ties": "random"}, "ties='random' is not allowed"),
    ],
)
def test_bad_parameters(parts, change, sentence):
    with pytest.raises(ValueError, match=sentence):
        knn_error(*parts, **change)
    with pytest.raises(ValueError, match=sentence.replace("training", "other")):
        leave_one_out_error(np.ones((91, 1)), np.ones(91), **change)


def test_bad_rows(parts):
    X_train, y_train, X_test, y_test = parts
    with pytest.raises(ValueError, match=r"X_test and y_test have shapes \(60, 4\) and \(59,\)"):
        knn_error(X_train, y_train, X_test, y_test[1:])
    with pytest.raises(ValueError, match=r"X_train and y_train have shapes .* at least one row"):
        knn_error(X_train[:0], y_train[:0], X_test, y_test)
    with pytest.raises(ValueError, match="X_test contains NaN"):
        knn_error(X_train, y_train, X_test * np.nan, y_test)


@pytest.mark.parametrize(
    ("X_test", "y_test", "metric", "sentence"),
    [
        ([[0.0]], [0], None, "X_train has 2 features and X_test 1, but they must have the same"),
        ([["a", "b"]], [0], None, "X_test holds 'a', but only real numbers are allowed"),
        ([[0.0, 1.0], [2.0]], [0, 1], None, "X_test has rows of different lengths"),
        ([[0.0, 1.0]], [np.nan], None, "y_test contains NaN, but every row needs a label"),
        ([[0.0, 1.0]], [0], 3, "metric=3 is not allowed: knn_error needs a fitted transformer"),
    ],
    ids=["features", "text", "ragged", "NaN", "metric"],
)
def test_bad_test_rows(X_test, y_test, metric, sentence):
    with pytest.raises(ValueError, match=sentence):
        knn_error(np.eye(2), [0, 1], X_test, y_test, n_neighbors=1, metric=metric)


def test_labels_of_different_kinds_are_refused():
    with pytest.raises(ValueError, match="y_train holds labels such as 0 and y_test such as '0'"):
        knn_error([[0.0], [1.0]], [0, 1], [[0.0]], ["0"], n_neighbors=1)
