"""The model before the first judgement, from models that decide or map otherwise than a metric."""

import numpy as np
import pytest
from judging import same_bits, toy_items
from sklearn.frozen import FrozenEstimator

import likewise as lw
from likewise.live import start_model

ITEMS, Y = toy_items(300)
X = ITEMS.vectors


@pytest.fixture
def unit_rows():
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_the_threshold_of_a_classifier_is_that_of_the_start():
    metric = lw.Whitening().fit(X)
    classifier = lw.PairClassifier(metric=FrozenEstimator(metric)).fit(X, Y)
    start = start_model(X, classifier)
    pairs = np.random.default_rng(0).integers(len(X), size=(1000, 2))
    left, right = X[pairs[:, 0]], X[pairs[:, 1]]
    accepted = metric.pair_distance(left, right) <= classifier.threshold_
    assert 0 < accepted.sum() < len(pairs)
    np.testing.assert_array_equal(start.pair_distance(left, right) <= start.threshold_, accepted)


def test_a_threshold_between_images_of_length_1_is_not_that_of_the_map():
    adapter = lw.EmbeddingAdapter(normalize=True).fit(X, Y)
    classifier = lw.PairClassifier(metric=FrozenEstimator(adapter)).fit(X, Y)
    assert same_bits(start_model(X, classifier), start_model(X, adapter))


def test_an_online_learner_keeps_its_own_threshold():
    learner = lw.PAMetric().partial_fit(X, Y)
    classifier = lw.PairClassifier(metric=FrozenEstimator(learner)).fit(X, Y)
    assert same_bits(start_model(X, classifier), learner)


def test_a_map_of_queries_alone_is_no_metric(unit_rows):
    adapter = lw.EmbeddingAdapter(normalize=True, side="query").fit(unit_rows, Y)
    with pytest.raises(ValueError, match="with side='query', but only one that maps both sides"):
        start_model(unit_rows, adapter)
