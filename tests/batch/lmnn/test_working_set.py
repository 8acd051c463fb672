"""The working-set solver and its L-BFGS steps on problems with known solutions."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from likewise.batch.lmnn.lbfgs_memory import LBFGSMemory, Point
from likewise.batch.lmnn.working_set import Evaluation, working_set_lbfgs
from likewise.losses import SmoothedHinge


class Rosenbrock:
    def value_and_gradient(self, x):
        return float(rosen(x)), rosen_der(x)


def test_lbfgs_steps_minimise_the_rosenbrock_function():
    memory, point = LBFGSMemory(), Point(np.array([-1.2, 1.0]), np.inf, np.zeros(2))
    point = Point(point.x, *Rosenbrock().value_and_gradient(point.x))
    for _ in range(60):
        found = memory.step(Rosenbrock(), point)
        if found is None:
            break
        assert found.value < point.value
        point = found
    np.testing.assert_allclose(point.x, 1, atol=1e-6)


def test_lbfgs_returns_none_at_a_minimum():
    minimum = Point(np.ones(2), 0.0, np.zeros(2))
    assert LBFGSMemory().step(Rosenbrock(), minimum) is None


class Median:
    """``Σ |x - tᵢ|`` as two hinges each: the median is the minimiser, and the bound is known."""

    zero = 0.0

    def __init__(self, points, overflows=lambda x: False):
        self.points = points
        self.overflows = overflows
        self.minimum = np.abs(points - np.median(points)).sum()
        self.evaluated = []

    def evaluate_exactly(self, x, smoothing):
        self.evaluated.append(float(x[0]))
        if self.overflows(x[0]):
            return None
        value = np.abs(x[0] - self.points).sum()
        smoothed = self.smoothed(smoothing).value_and_gradient(x)[0]
        loss, difference = SmoothedHinge(smoothing), x[0] - self.points
        multipliers = loss.derivative(difference) - loss.derivative(-difference)
        error = value - multipliers @ difference
        return Evaluation(value, smoothed, error, 0.0, self.minimum, self.minimum)

    def smoothed(self, smoothing):
        points = self.points

        class Smoothed:
            def value_and_gradient(self, x):
                loss, difference = SmoothedHinge(smoothing), x[0] - points
                value = (loss.value(difference) + loss.value(-difference)).sum()
                derivative = loss.derivative(difference) - loss.derivative(-difference)
                return float(value), np.array([derivative.sum()])

        return Smoothed()

    def descent_path(self, x, smoothing):
        return None


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=101)


def test_converges_to_a_kink(points):
    found = working_set_lbfgs(Median(points), np.array([5.0]), max_iter=200, tol=1e-6)
    assert found.status == "converged"
    assert found.gap <= 1e-6
    assert found.x[0] == pytest.approx(np.median(points), abs=1e-3)
    assert (np.diff(found.history["n_iter"]) >= 0).all()
    assert found.history["objective"].min() == found.value


def test_an_overflow_is_never_the_solution(points):
    """Every point below 1 overflows: the best point that can be evaluated is returned."""
    problem = Median(points, overflows=lambda x: x < 1)
    found = working_set_lbfgs(problem, np.array([5.0]), max_iter=200, tol=1e-6)
    assert found.status == "stalled"
    assert min(problem.evaluated) < 1
    assert 1 <= found.x[0] < 1.2


def test_a_start_that_overflows_fails(points):
    problem = Median(points, overflows=lambda x: True)
    assert working_set_lbfgs(problem, np.array([5.0]), max_iter=9, tol=0.1).status == "failed"


def test_max_iter(points):
    found = working_set_lbfgs(Median(points), np.array([50.0]), max_iter=1, tol=1e-9)
    assert found.status == "max_iter"
    assert found.n_iter == 1


def test_a_watcher_can_stop(points):
    seen = []

    def watcher(iteration):
        seen.append(iteration.value)
        return len(seen) == 2

    found = working_set_lbfgs(
        Median(points), np.array([50.0]), max_iter=99, tol=1e-9, watcher=watcher
    )
    assert found.status == "interrupted"
    assert found.value == min(found.history["objective"])
    assert len(seen) == 2


def test_an_interrupt_during_the_first_evaluation_returns_the_start():
    class Interrupted:
        def evaluate_exactly(self, x, smoothing):
            raise KeyboardInterrupt

    found = working_set_lbfgs(Interrupted(), np.array([5.0]), max_iter=9, tol=0.1)
    assert found.status == "interrupted"
    assert found.x == 5
    assert np.isnan(found.value)
    assert found.gap is None


def test_the_lowest_validation_error_is_returned(points):
    """The validation error is lowest at the start, where the objective is not."""
    found = working_set_lbfgs(
        Median(points),
        np.array([5.0]),
        max_iter=200,
        tol=1e-9,
        validation_error=lambda x: abs(x[0] - 5.0),
    )
    assert found.status == "converged"
    assert found.x[0] == 5.0
    assert found.value == pytest.approx(np.abs(5 - points).sum())
