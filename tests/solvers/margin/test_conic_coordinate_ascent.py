"""Coordinate ascent over the hull of the pairs' matrices, against the interior-point method."""

import numpy as np
import pytest
from hull_projection import project_on_hull

from likewise.constraints import doublets, random_pairs
from likewise.losses import Hinge, SquaredHinge
from likewise.objectives import ConstraintMatrices, MarginProblem
from likewise.solvers.margin import _conic_interior_point, conic_interior_point
from likewise.solvers.margin._conic_coordinate_ascent import ConicBound, ConicCoordinateAscent
from likewise.solvers.margin._run import MarginRun


def make_problem(loss, C, n=120, d=4, n_jobs=None):
    random = np.random.default_rng(1)
    y = np.arange(n) % 3
    X = random.normal(size=(n, d))
    X[:, 0] += y
    matrices = ConstraintMatrices.from_pairs(X / 2, doublets(X, y, 1, 2), n_jobs)
    return MarginProblem(matrices, loss, C)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=repr)
@pytest.mark.parametrize("C", [1e-3, 0.3])
def test_the_minimum_is_that_of_the_interior_point_method(loss, C, monkeypatch):
    problem = make_problem(loss, C)
    run = MarginRun(problem, None, 1e-4, 5000)
    assert ConicCoordinateAscent(run, None).solve() == "converged"
    monkeypatch.setattr(_conic_interior_point, "MIN_FOR_SWEEPS", np.inf)
    other = conic_interior_point(problem, max_iter=500, tol=1e-6)
    assert other.status == "converged"
    assert run.value == pytest.approx(other.value, rel=1.1e-4)
    assert max(run.dual) <= other.value * (1 + 1e-12)
    # ½‖M‖² makes the objective grow at least so fast with the distance from the minimum.
    assert np.sum((run.M - other.x) ** 2) / 4 <= (run.gap + other.gap) * other.value
    assert project_on_hull(run.M, problem.matrices.differences) == pytest.approx(run.M, abs=1e-6)


def test_a_bound_holds_for_any_multipliers():
    """For any M and λ, the bound is below the objective of every member of the hull."""
    problem = make_problem(Hinge(), 0.1)
    matrices, conic = problem.matrices, ConicBound(problem.matrices)
    random = np.random.default_rng(0)
    for _ in range(20):
        multipliers = problem.balanced(random.uniform(0, 0.1, len(matrices)))
        M = matrices.combine(random.uniform(0, 0.01, len(matrices)))
        bound = problem.dual(multipliers, conic.matrix(M, multipliers))
        for _ in range(20):
            other = matrices.combine(random.exponential(1e-4, len(matrices)))
            q = matrices.inner(other)
            assert bound <= problem.primal(other, q, problem.intercept(q))


def test_threads_do_not_change_the_bits():
    first, second = (
        MarginRun(make_problem(Hinge(), 0.01, n_jobs=n_jobs), None, 1e-3, 200) for n_jobs in (1, 2)
    )
    for run in (first, second):
        ConicCoordinateAscent(run, None).solve()
    np.testing.assert_array_equal(first.M, second.M)


def test_separable_pairs_need_no_interior_point_method(monkeypatch):
    """Its steps cost more than all sweeps, and their number grew with the number of pairs."""
    random = np.random.default_rng(0)
    y = random.integers(4, size=500)
    X = random.normal(size=(500, 8)) + 6 * random.normal(size=(4, 8))[y]
    pairs = random_pairs(y, 3000, random_state=0)
    distance = np.linalg.norm(X[pairs.index[:, 0]] - X[pairs.index[:, 1]], axis=1)
    matrices = ConstraintMatrices.from_pairs(X / np.median(distance[pairs.same]), pairs)
    problem = MarginProblem(matrices, Hinge(), 1.0)
    monkeypatch.delattr(_conic_interior_point, "_ConicNewtonSteps")
    found = conic_interior_point(problem, max_iter=500, tol=1e-3)
    assert found.status == "converged"
    assert 0 <= found.gap <= 1e-3
    assert found.history["dual"].max() <= found.history["primal"].min()
    q = matrices.inner(found.x)
    assert problem.primal(found.x, q, problem.intercept(q)) == pytest.approx(found.value)
    V = matrices.differences
    assert project_on_hull(found.x, V) == pytest.approx(found.x, abs=1e-5 * found.x.max())
