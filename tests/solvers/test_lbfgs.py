"""L-BFGS on problems with known solutions, and every status."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from likewise.solvers import lbfgs


class Function:
    """A value and a gradient as an objective that counts its calls."""

    def __init__(self, value, gradient):
        self.value, self.gradient, self.calls = value, gradient, 0

    def value_and_gradient(self, x):
        self.calls += 1
        return float(self.value(x)), self.gradient(x)


ROSENBROCK = (rosen, rosen_der)


def quadratic(n=6, seed=0):
    random = np.random.default_rng(seed)
    root = random.normal(size=(n, n))
    H, b = root @ root.T + np.eye(n), random.normal(size=n)
    return H, b, Function(lambda x: x @ H @ x / 2 - b @ x, lambda x: H @ x - b)


def test_quadratic_against_a_linear_solve():
    H, b, problem = quadratic()
    found = lbfgs(problem, np.zeros(6), max_iter=200, tol=1e-14)
    np.testing.assert_allclose(found.x, np.linalg.solve(H, b), atol=1e-6)
    assert found.status == "converged"


def test_rosenbrock():
    found = lbfgs(Function(*ROSENBROCK), np.full(5, -1.0), max_iter=500, tol=1e-10)
    np.testing.assert_allclose(found.x, np.ones(5), atol=1e-4)
    assert found.status == "converged"
    assert found.gap is None


def test_what_is_returned_belongs_together():
    """Value and gradient norm are those at x, also when the run is cut off."""
    for max_iter in (1, 3, 10, 500):
        problem = Function(*ROSENBROCK)
        found = lbfgs(problem, np.full(4, -1.0), max_iter=max_iter, tol=1e-9)
        value, gradient = problem.value_and_gradient(found.x)
        assert found.value == value == found.history["objective"][-1]
        assert found.grad_norm == np.linalg.norm(gradient)
        assert found.n_iter == len(found.history["objective"]) - 1


def test_history_starts_at_the_start_and_never_rises():
    start = np.full(4, -1.0)
    history = lbfgs(Function(*ROSENBROCK), start, max_iter=500, tol=1e-9).history["objective"]
    assert history[0] == rosen(start)
    assert (np.diff(history) <= 0).all()


def test_a_matrix_in_gives_a_matrix_out():
    target = np.arange(6.0).reshape(2, 3)
    shapes = set()

    def value(x):
        shapes.add(x.shape)
        return ((x - target) ** 2).sum()

    found = lbfgs(
        Function(value, lambda x: 2 * (x - target)), np.zeros((2, 3)), max_iter=99, tol=1e-12
    )
    assert shapes == {(2, 3)}
    np.testing.assert_allclose(found.x, target, atol=1e-6)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_the_scale_of_the_objective_does_not_matter(unit):
    """SciPy's own test of progress is absolute for small values and would stop at once."""
    H, b, _ = quadratic()
    problem = Function(lambda x: unit * (x @ H @ x / 2 - b @ x), lambda x: unit * (H @ x - b))
    found = lbfgs(problem, np.zeros(6), max_iter=200, tol=1e-12)
    assert found.status == "converged"
    np.testing.assert_allclose(found.x, np.linalg.solve(H, b), atol=1e-5)


def test_an_optimal_start_counts_as_one_iteration():
    found = lbfgs(Function(*ROSENBROCK), np.ones(3), max_iter=50, tol=1e-8)
    assert (found.n_iter, found.status, found.value) == (1, "converged", 0.0)


def test_the_start_is_not_written_to():
    start = np.full(3, 5.0)
    lbfgs(Function(*ROSENBROCK), start, max_iter=50, tol=1e-8)
    np.testing.assert_array_equal(start, np.full(3, 5.0))


def test_an_objective_may_reuse_its_gradient_array():
    """What it writes there while it is being interrupted is not the gradient at the best point."""
    H, b, problem = quadratic()
    kept = np.empty(6)

    def gradient(x):
        kept[:] = H @ x - b
        if problem.calls == 6:
            kept[:] = 999
            raise KeyboardInterrupt
        return kept

    problem.gradient = gradient
    found = lbfgs(problem, np.zeros(6), max_iter=200, tol=1e-14)
    assert found.status == "interrupted"
    assert found.grad_norm == np.linalg.norm(H @ found.x - b)


def test_max_iter():
    found = lbfgs(Function(*ROSENBROCK), np.full(4, -1.0), max_iter=3, tol=1e-12)
    assert (found.n_iter, found.status) == (3, "max_iter")


def test_a_watcher_stops_it():
    seen = []

    def watcher(iteration):
        seen.append(iteration)
        return iteration.number == 4

    found = lbfgs(Function(*ROSENBROCK), np.full(4, -1.0), max_iter=99, tol=1e-12, watcher=watcher)
    assert (found.n_iter, found.status) == (4, "interrupted")
    assert [iteration.number for iteration in seen] == [1, 2, 3, 4]
    np.testing.assert_array_equal(found.x, seen[-1].x)
    assert [iteration.value for iteration in seen] == list(found.history["objective"][1:])
    assert all(iteration.value == rosen(iteration.x) for iteration in seen)


@pytest.mark.parametrize("call", [2, 5, 12])
def test_a_keyboard_interrupt_keeps_the_best(call):
    problem = Function(*ROSENBROCK)

    def value(x):
        if problem.calls == call:
            raise KeyboardInterrupt
        return rosen(x)

    problem.value = value
    start = np.full(4, -1.0)
    found = lbfgs(problem, start, max_iter=99, tol=1e-12)
    assert found.status == "interrupted"
    assert found.value == rosen(found.x) == min(found.history["objective"])
    assert found.value <= rosen(start)
    assert found.n_iter >= 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_no_value_at_the_start(bad):
    found = lbfgs(Function(lambda x: bad, np.zeros_like), np.ones(2), max_iter=9, tol=1e-6)
    assert found.status == "failed"
    np.testing.assert_array_equal(found.x, np.ones(2))


def test_no_gradient_at_the_start():
    found = lbfgs(
        Function(lambda x: 0.0, lambda x: np.full(2, np.nan)), np.ones(2), max_iter=9, tol=1e-6
    )
    assert found.status == "failed"


def test_a_wrong_gradient_stalls():
    problem = Function(rosen, lambda x: -rosen_der(x))
    found = lbfgs(problem, np.full(3, -1.0), max_iter=50, tol=1e-8)
    assert found.status == "stalled"
    assert found.value == rosen(found.x) <= rosen(np.full(3, -1.0))


@pytest.mark.parametrize("outside", [np.nan, np.inf])
def test_a_region_without_values_is_not_entered(outside):
    """There is no value beyond x = 1, where the gradient leads."""
    problem = Function(lambda x: outside if x[0] > 1 else (x[0] - 3) ** 2, lambda x: 2 * (x - 3))
    found = lbfgs(problem, np.array([0.0]), max_iter=50, tol=1e-10)
    assert np.isfinite(found.value)
    assert found.value == (found.x[0] - 3) ** 2 <= 9
    assert found.x[0] <= 1


def test_an_unbounded_objective_does_not_converge():
    problem = Function(lambda x: -(x[0] ** 3), lambda x: -3 * x**2)
    with np.errstate(over="ignore"):
        found = lbfgs(problem, np.ones(1), max_iter=400, tol=1e-9)
    assert found.status != "converged"
    assert np.isfinite(found.value)
