"""Memory that evaluations fill again: what it holds, and that it changes no result."""

import numpy as np
import pytest

from likewise.objectives import GroupedPairs, LargeMargin
from likewise.objectives.evaluation_memory import EvaluationMemory


def test_arrays_are_handed_out_again_and_grow():
    memory = EvaluationMemory()
    first = memory.array("a", 3, 4)
    assert first.shape == (3, 4)
    assert first.dtype == np.float64
    assert np.shares_memory(memory.array("a", 2, 5), first)
    assert not np.shares_memory(memory.array("b", 3, 4), first)
    grown = memory.array("a", 5, 4)
    assert grown.shape == (5, 4)
    assert not np.shares_memory(grown, first)
    assert np.shares_memory(memory.array("a", 1), grown)
    assert memory.array("a", 5, dtype=np.float32).dtype == np.float32
    assert memory.array("a", 0, 4).shape == (0, 4)


def random_objective(n, dtype, seed):
    random = np.random.default_rng(seed)
    targets, impostors = (
        GroupedPairs.from_sorted(groups, n, groups, random.integers(0, n, len(groups)))
        for groups in (np.repeat(np.arange(n), 2), np.sort(random.integers(0, n, 5 * n)))
    )
    X = random.normal(size=(n, 4)).astype(dtype)
    return LargeMargin(X, targets, impostors, random.random(n), smoothing=0.1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_evaluations_in_one_memory_are_those_in_fresh_memory(dtype):
    shared = EvaluationMemory()
    random = np.random.default_rng(0)
    objectives = [random_objective(n, dtype, seed=n) for n in (30, 50, 20)]
    for _ in range(3):
        for objective in objectives:
            L = random.normal(size=(random.integers(1, 5), 4))
            expected_value, expected_gradient = objective.value_and_gradient_in(
                EvaluationMemory(), L
            )
            for value, gradient in (
                objective.value_and_gradient_in(shared, L),
                objective.value_and_gradient(L),
            ):
                assert value == expected_value
                assert gradient.tobytes() == expected_gradient.tobytes()


def test_an_objective_keeps_the_memory_of_its_evaluations():
    objective = random_objective(30, np.float64, seed=0)
    objective.value_and_gradient(np.eye(4))
    mapped = objective._memory.array("mapped", 30, 4)
    np.testing.assert_array_equal(mapped, objective.X)
    objective.value_and_gradient(2 * np.eye(4))
    np.testing.assert_array_equal(mapped, 2 * objective.X)


def test_later_evaluations_do_not_change_earlier_gradients():
    objective = random_objective(40, np.float64, seed=1)
    _, gradient = objective.value_and_gradient(np.eye(4))
    kept = gradient.copy()
    objective.value_and_gradient(2 * np.eye(4))
    np.testing.assert_array_equal(gradient, kept)


def test_the_gradient_is_that_of_every_triplet():
    """The loss of the paper, triplet by triplet, and its derivative."""
    objective = random_objective(12, np.float64, seed=2)
    L = np.random.default_rng(3).normal(size=(3, 4))
    value, gradient = objective.value_and_gradient(L)
    expected_value, expected = 0.0, np.zeros_like(L)
    X, targets, impostors = objective.X, objective.targets, objective.impostors

    def distance(a, b):
        difference = X[a] - X[b]
        mapped = L @ difference
        return mapped @ mapped, 2 * np.outer(mapped, difference)

    for g, weight in enumerate(objective.weights):
        for j in range(targets.indptr[g], targets.indptr[g + 1]):
            near, near_gradient = distance(targets.rows[j], targets.cols[j])
            expected_value += weight * 0.5 * near
            expected += weight * 0.5 * near_gradient
            for k in range(impostors.indptr[g], impostors.indptr[g + 1]):
                far, far_gradient = distance(impostors.rows[k], impostors.cols[k])
                violation = 1 + near - far
                slope = np.clip(violation / 0.1, 0, 1)
                loss = violation - 0.05 if violation > 0.1 else slope * violation / 2
                expected_value += weight * 0.5 * loss
                expected += weight * 0.5 * slope * (near_gradient - far_gradient)
    assert value == pytest.approx(expected_value, rel=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=1e-11, atol=1e-12)
