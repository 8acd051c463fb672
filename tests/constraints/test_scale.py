"""The rule of ``scale="auto"``, and that all learners with a margin follow it."""

import numpy as np
import pytest

import likewise as lw
from likewise.constraints import Pairs, target_neighbors, unit_sqdist


def test_zero_distances_count_unless_they_are_the_majority():
    assert unit_sqdist(np.array([0.0, 0.25, 9.0])) == 0.25
    assert unit_sqdist(np.array([0.0, 0.0, 4.0, 4.0])) == 2
    assert unit_sqdist(np.array([0.0, 0.0, 0.0, 4.0])) == 4


def test_all_pairs_are_used_where_similar_ones_coincide():
    assert unit_sqdist(np.zeros(3), np.array([0.0, 4.0, 4.0])) == 4
    assert unit_sqdist(np.zeros(3), np.zeros(4)) == 1
    assert unit_sqdist(np.zeros(0)) == 1


@pytest.mark.parametrize(
    "learner",
    [lw.DoubletSVM(), lw.PCML(), lw.LDML(), lw.PAMetric(random_state=0), lw.POLA(random_state=0)],
    ids=lambda learner: type(learner).__name__,
)
def test_pair_learners_follow_the_rule(learner):
    """With duplicates among the similar pairs, the explicit factor gives the same metric."""
    X = np.random.default_rng(1).normal(size=(40, 3))
    X[1] = X[0]
    index = np.arange(40).reshape(20, 2)
    same = np.arange(20) % 2 == 0
    squared = ((X[index[:, 0]] - X[index[:, 1]]) ** 2).sum(axis=1)
    assert squared[0] == 0
    auto = learner.fit_pairs(X, *Pairs(index, same)).components_
    learner.set_params(scale=unit_sqdist(squared[same], squared) ** -0.5)
    explicit = learner.fit_pairs(X, *Pairs(index, same)).components_
    np.testing.assert_allclose(auto, explicit, rtol=1e-9, atol=1e-12)


def test_lmnn_follows_the_rule():
    y = np.arange(60) % 2
    X = np.random.default_rng(2).normal(size=(60, 3)) + y[:, None]
    X[2] = X[0]
    rows, targets = target_neighbors(X, y, 3).T
    squared = ((X[rows] - X[targets]) ** 2).sum(axis=1)
    model = lw.LMNN(max_iter=500).fit(X, y)
    assert model.scale_ == pytest.approx(unit_sqdist(squared) ** -0.5)
