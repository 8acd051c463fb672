"""Functions of the distances of dissimilar pairs against finite differences and loops."""

import numpy as np
import pytest

import likewise as lw
from likewise.objectives import (
    DissimilarPairs,
    SoftMinimum,
    SumOfDistances,
    WeightedFeatures,
    dissimilar_pairs,
)


@pytest.mark.parametrize("separation", [SumOfDistances(), SoftMinimum(0.3)])
def test_the_gradient_matches_finite_differences(separation):
    random = np.random.default_rng(0)
    pairs = lw.constraints.as_pairs([[i, i + 1] for i in range(19)], random.random(19) < 0.5, 20)
    objective = DissimilarPairs.of(random.normal(size=(20, 5)), pairs, separation)
    F, step = random.normal(size=(5, 5)), 1e-6 * random.normal(size=(5, 5))
    above, below = (objective.value_and_matrix_gradient(F + s * step)[0] for s in (1, -1))
    gradient = objective.value_and_matrix_gradient(F)[1]
    change = step.T @ F + F.T @ step  # of FᵀF
    assert above - below == pytest.approx(2 * np.vdot(gradient, change), rel=1e-6)


def test_gradient_and_curvature_in_weights_match_loops(monkeypatch):
    monkeypatch.setattr(dissimilar_pairs, "_BLOCK_PAIRS", 4)
    random = np.random.default_rng(0)
    X = random.normal(size=(20, 5))
    X[1] = X[0]  # a distance of 0, whatever the weights
    same = random.random(19) < 0.5
    same[0] = False
    objective = WeightedFeatures.of(
        X, lw.constraints.as_pairs([[i, i + 1] for i in range(19)], same, 20)
    )
    weights = random.random(5)
    value, gradient, curvature = objective.value_gradient_and_curvature(weights)
    expected, first, second = 0.0, np.zeros(5), np.zeros((5, 5))
    for i in np.flatnonzero(~same)[1:]:
        squares = np.square(X[i] - X[i + 1])
        distance = np.sqrt(squares @ weights)
        expected += distance
        first += squares / distance / 2
        second += np.outer(squares, squares) / distance**3 / 4
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, first, rtol=1e-12)
    np.testing.assert_allclose(curvature, second, rtol=1e-12)
