"""Scores of clusters, against loops over pairs and triples of items."""

import itertools

import numpy as np
import pytest
from sklearn.metrics.cluster import pair_confusion_matrix

from likewise.evaluation import b_cubed_scores, pairwise_scores


def b_cubed_by_loops(true, predicted):
    """Mean over items of the share of its cluster (entity) that is of its entity (cluster)."""
    n = len(true)
    precision = recall = 0.0
    for i in range(n):
        cluster = entity = both = 0
        for j in range(n):
            cluster += predicted[i] == predicted[j]
            entity += true[i] == true[j]
            both += predicted[i] == predicted[j] and true[i] == true[j]
        precision += both / cluster / n
        recall += both / entity / n
    return precision, recall


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n", [1, 2, 15, 60])
def test_scores_are_those_of_loops(n, seed):
    rng = np.random.default_rng([n, seed])
    true, predicted = rng.integers(0, 6, n), rng.integers(0, 8, n)
    found = b_cubed_scores(true, predicted)
    precision, recall = b_cubed_by_loops(true, predicted)
    assert (found.precision, found.recall) == pytest.approx((precision, recall))
    assert found.f1 == pytest.approx(2 * precision * recall / (precision + recall))
    pairs = list(itertools.combinations(range(n), 2))
    together = {(i, j) for i, j in pairs if predicted[i] == predicted[j]}
    belong = {(i, j) for i, j in pairs if true[i] == true[j]}
    found = pairwise_scores(true, predicted)
    assert found.precision == (len(together & belong) / len(together) if together else 1)
    assert found.recall == (len(together & belong) / len(belong) if belong else 1)


def test_pairwise_scores_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    true, predicted = rng.integers(0, 40, 500), rng.integers(0, 60, 500)
    (_, false_together), (missed, right) = pair_confusion_matrix(true, predicted)
    found = pairwise_scores(true, predicted)
    assert found.precision == pytest.approx(right / (right + false_together))
    assert found.recall == pytest.approx(right / (right + missed))
    assert found.f1 == pytest.approx(2 * right / (2 * right + false_together + missed))


def test_extreme_clusters():
    true = ["a", "a", "b", "b"]
    for score in (pairwise_scores, b_cubed_scores):
        assert score(true, [7, 7, 3, 3]).f1 == 1
        assert score(true, [0] * 4).recall == 1
        assert score(true, range(4)).precision == 1
    assert pairwise_scores(true, range(4)).f1 == 0
    assert b_cubed_scores(true, range(4)).recall == 0.5


@pytest.mark.parametrize("score", [pairwise_scores, b_cubed_scores])
@pytest.mark.parametrize(
    ("true", "predicted", "sentence"),
    [
        ([], [], r"labels_true has shape \(0,\), but one label for each item"),
        ([[1]], [1], r"labels_true has shape \(1, 1\)"),
        ([1, 2], [1], "labels_true has 2 labels and labels_pred has 1, but they must be about"),
        ([1, 2], [1.0, np.nan], "labels_pred contains NaN"),
    ],
)
def test_bad_input(score, true, predicted, sentence):
    with pytest.raises(ValueError, match=sentence):
        score(true, predicted)
