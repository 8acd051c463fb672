"""The solver of hinges on problems whose answer is known."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from likewise.batch.lmnn.quasi_newton import Point, QuasiNewton
from likewise.batch.lmnn.working_set import Look, working_set_lbfgs
from likewise.losses import SmoothedHinge


class Rosenbrock:
    def value_and_gradient(self, x):
        return float(rosen(x)), rosen_der(x)


def test_quasi_newton_finds_the_bottom_of_a_bent_valley():
    memory, here = QuasiNewton(), Point(np.array([-1.2, 1.0]), np.inf, np.zeros(2))
    here = Point(here.x, *Rosenbrock().value_and_gradient(here.x))
    for _ in range(60):
        found = memory.step(Rosenbrock(), here)
        if found is None:
            break
        assert found.value < here.value
        here = found
    np.testing.assert_allclose(here.x, 1, atol=1e-6)


def test_quasi_newton_says_when_there_is_nothing_lower():
    at_the_bottom = Point(np.ones(2), 0.0, np.zeros(2))
    assert QuasiNewton().step(Rosenbrock(), at_the_bottom) is None


class Median:
    """``Σ |x - tᵢ|`` by two hinges each: the median is the answer, and the bound is known."""

    def __init__(self, points, flooded=lambda x: False):
        self.points = points
        self.flooded = flooded
        self.least = np.abs(points - np.median(points)).sum()
        self.looked_at = []

    def look(self, x, width):
        self.looked_at.append(float(x[0]))
        if self.flooded(x[0]):
            return None
        value = np.abs(x[0] - self.points).sum()
        rounded = self.rounded(width).value_and_gradient(x)[0]
        return Look(value, rounded, 0.0, self.least, self.least)

    def rounded(self, width):
        points = self.points

        class Rounded:
            def value_and_gradient(self, x):
                loss, away = SmoothedHinge(width), x[0] - points
                slope = loss.derivative(away).sum() - loss.derivative(-away).sum()
                return float((loss.value(away) + loss.value(-away)).sum()), np.array([slope])

        return Rounded()


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


def test_a_flood_is_never_the_answer(points):
    """Everything below 1 floods: the best that can be searched is found, and nothing raises."""
    problem = Median(points, flooded=lambda x: x < 1)
    found = working_set_lbfgs(problem, np.array([5.0]), max_iter=200, tol=1e-6)
    assert found.status == "stalled"
    assert min(problem.looked_at) < 1
    assert 1 <= found.x[0] < 1.2


def test_a_start_that_floods_is_a_failure(points):
    problem = Median(points, flooded=lambda x: True)
    assert working_set_lbfgs(problem, np.array([5.0]), max_iter=9, tol=0.1).status == "failed"


def test_steps_run_out(points):
    found = working_set_lbfgs(Median(points), np.array([50.0]), max_iter=1, tol=1e-9)
    assert found.status == "max_iter"
    assert found.n_iter == 1


def test_a_watcher_may_stop(points):
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


def test_an_interrupt_before_the_first_search_is_over_leaves_the_start():
    class Impatient:
        def look(self, x, width):
            raise KeyboardInterrupt

    found = working_set_lbfgs(Impatient(), np.array([5.0]), max_iter=9, tol=0.1)
    assert found.status == "interrupted"
    assert found.x == 5
    assert np.isnan(found.value)
    assert found.gap is None


def test_a_judge_decides(points):
    """It likes the start best, whatever the value."""
    found = working_set_lbfgs(
        Median(points),
        np.array([5.0]),
        max_iter=200,
        tol=1e-9,
        judge=lambda x: abs(x[0] - 5.0),
    )
    assert found.status == "converged"
    assert found.x[0] == 5.0
    assert found.value == pytest.approx(np.abs(5 - points).sum())
