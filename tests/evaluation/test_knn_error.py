"""Errors of the neighbours' vote against a loop over rows, neighbours and k."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from likewise.datasets import load
from likewise.evaluation import knn_error


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


def test_a_metric_is_applied(parts):
    X_train, y_train, X_test, y_test = parts
    pca = PCA(1).fit(X_train)
    expected = error_by_loops(pca.transform(X_train), y_train, pca.transform(X_test), y_test, 3)
    assert knn_error(*parts, metric=pca).error == pytest.approx(expected)


def test_a_label_that_training_rows_do_not_have_is_an_error():
    found = knn_error([[0.0], [1.0]], [1, 3], [[0.0], [1.0], [1.0]], [0, 2, 9], n_neighbors=1)
    assert found.error == 1.0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_neighbors": 0}, "n_neighbors=0 is not allowed"),
        ({"n_neighbors": "worst"}, "n_neighbors='worst' is not allowed"),
        ({"n_neighbors": 91}, "n_neighbors is 91, but there are 90 training rows"),
        ({"max_neighbors": 0}, "max_neighbors=0 is not allowed"),
    ],
)
def test_bad_parameters(parts, change, sentence):
    with pytest.raises(ValueError, match=sentence):
        knn_error(*parts, **change)


def test_bad_rows(parts):
    X_train, y_train, X_test, y_test = parts
    with pytest.raises(ValueError, match=r"X_test and y_test have shapes \(60, 4\) and \(59,\)"):
        knn_error(X_train, y_train, X_test, y_test[1:])
    with pytest.raises(ValueError, match=r"X_train and y_train have shapes .* at least one row"):
        knn_error(X_train[:0], y_train[:0], X_test, y_test)
    with pytest.raises(ValueError, match="X_test contains NaN"):
        knn_error(X_train, y_train, X_test * np.nan, y_test)


def test_labels_of_different_kinds_are_refused():
    with pytest.raises(ValueError, match="y_train holds labels such as 0 and y_test such as '0'"):
        knn_error([[0.0], [1.0]], [0, 1], [[0.0]], ["0"], n_neighbors=1)
