"""Cyclic Bregman projections: on half-spaces they are Hildreth's method, with a known limit."""

import numpy as np
import pytest

from likewise.batch.itml.bregman import bregman_cycles


class NearestPoint:
    """The point of ``{x : a·x ≥ b for all rows a}`` nearest to the start."""

    def __init__(self, A, b):
        self.A, self.b = A, b
        self.multipliers = np.zeros(len(b))
        self.start = np.zeros(A.shape[1])

    def sweep(self, x):
        for k, (a, b) in enumerate(zip(self.A, self.b, strict=True)):
            step = max(-self.multipliers[k], (b - a @ x) / (a @ a))
            self.multipliers[k] += step
            x += step * a

    def value(self, x):
        return float(np.square(x - self.start).sum() / 2)


@pytest.fixture
def problem():
    return NearestPoint(np.array([[1.0, 0.0], [1.0, 2.0], [-1.0, 5.0]]), np.array([1.0, 4.0, -9.0]))


def test_it_finds_the_nearest_point(problem):
    found = bregman_cycles(problem, np.zeros(2), max_iter=1000, tol=1e-12)
    assert found.status == "converged"
    np.testing.assert_allclose(found.x, [1.0, 1.5], atol=1e-9)  # where the first two are active
    assert found.value == pytest.approx((1 + 1.5**2) / 2)
    assert len(found.history["change"]) == found.n_iter


def test_max_iter(problem):
    found = bregman_cycles(problem, np.zeros(2), max_iter=2, tol=1e-12)
    assert (found.status, found.n_iter) == ("max_iter", 2)


def test_inactive_constraints_converge_at_once(problem):
    problem.b = np.full(3, -10.0)
    found = bregman_cycles(problem, np.zeros(2), max_iter=5, tol=0.0)
    assert (found.status, found.n_iter, found.value) == ("converged", 1, 0.0)


def test_a_watcher_stops_it(problem):
    found = bregman_cycles(
        problem, np.zeros(2), max_iter=99, tol=0.0, watcher=lambda step: step.number == 3
    )
    assert (found.status, found.n_iter) == ("interrupted", 3)
    assert found.value == problem.value(found.x)


def test_a_multiplier_that_is_nan_stalls(problem):
    sweep = problem.sweep

    def spoiled(x):
        sweep(x)
        problem.multipliers[0] = np.nan

    problem.sweep = spoiled
    found = bregman_cycles(problem, np.zeros(2), max_iter=9, tol=0.0)
    assert found.status == "stalled"
    np.testing.assert_array_equal(found.x, np.zeros(2))
