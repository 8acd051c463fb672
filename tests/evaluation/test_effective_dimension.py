"""The number of directions that matter to a metric."""

import numpy as np
import pytest

from likewise.batch import FDA
from likewise.datasets import load
from likewise.evaluation import effective_dimension


def test_equals_the_eigenvalues_of_the_matrix():
    rng = np.random.default_rng(0)
    for threshold in (1e-6, 1e-3, 0.1, 0.9):
        L = rng.normal(size=(6, 9)) * np.logspace(0, -3, 6)[:, None]
        eigenvalues = np.linalg.svd(L, compute_uv=False) ** 2
        expected = (eigenvalues > threshold * eigenvalues.max()).sum()
        assert effective_dimension(L, threshold) == expected
        assert effective_dimension(L.T, threshold) == expected


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_scale_does_not_matter(scale):
    assert effective_dimension(scale * np.diag([1.0, 1e-2, 1e-4])) == 2


def test_a_fitted_metric():
    iris = load("iris")
    assert effective_dimension(FDA().fit(iris.X, iris.y)) == 2


def test_nothing_matters_to_a_zero_metric():
    assert effective_dimension(np.zeros((3, 4))) == 0
    assert effective_dimension(np.empty((0, 4))) == 0


@pytest.mark.parametrize(
    ("metric", "threshold", "sentence"),
    [
        (np.eye(2), 0, "threshold is 0, but it must be at least 1e-12"),
        (np.eye(2), 1, "threshold is 1"),
        ([1.0, 2.0], 0.1, r"components of shape \(2,\)"),
        ([[np.nan]], 0.1, "a matrix of finite numbers"),
    ],
)
def test_bad_input(metric, threshold, sentence):
    with pytest.raises(ValueError, match=sentence):
        effective_dimension(metric, threshold)
