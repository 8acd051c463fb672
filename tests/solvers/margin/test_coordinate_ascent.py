"""Coordinate ascent on multipliers, against the interior-point method and LIBSVM."""

import numpy as np
import pytest
from sklearn.svm import SVC

from likewise.cones import PSD, Symmetric
from likewise.constraints import doublets, triplets
from likewise.losses import Hinge, SquaredHinge
from likewise.objectives import ConstraintMatrices, MarginProblem
from likewise.solvers.margin._coordinate_ascent import CoordinateAscent
from likewise.solvers.margin._newton_steps import NewtonSteps
from likewise.solvers.margin._run import MarginRun

SYMMETRIC = Symmetric().project


def rows(n=120, d=5):
    random = np.random.default_rng(1)
    y = np.arange(n) % 3
    X = random.normal(size=(n, d))
    X[:, 0] += y
    return X / 2, y


def make_problem(kind, loss, C=0.3, n_jobs=None):
    X, y = rows()
    if kind == "pairs":
        matrices = ConstraintMatrices.from_pairs(X, doublets(X, y, 2, 3), n_jobs)
    else:
        matrices = ConstraintMatrices.from_triplets(X, triplets(X, y, 2, 3), n_jobs)
    return MarginProblem(matrices, loss, C)


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=repr)
@pytest.mark.parametrize("cone", [Symmetric(), PSD()], ids=repr)
def test_the_minimum_is_that_of_newtons_method(kind, loss, cone):
    problem = make_problem(kind, loss)
    projection = cone.project
    run, other = (MarginRun(problem, projection, 1e-5, 20_000) for _ in range(2))
    assert CoordinateAscent(run, None).solve() == "converged"
    assert NewtonSteps(other, np.arange(len(problem.matrices))).solve() == "converged"
    assert run.value == pytest.approx(other.value, rel=2e-5)
    # ½‖M‖² makes the objective grow at least so fast with the distance from the minimum.
    assert np.sum((run.M - other.M) ** 2) / 4 <= (run.gap + other.gap) * other.value
    assert max(run.dual) <= other.value * (1 + 1e-12)
    assert max(other.dual) <= min(run.primal) * (1 + 1e-12)
    A = problem.matrices.combine(run.multipliers * problem.matrices.sign)
    np.testing.assert_allclose(run.M, cone.project(A).projection, atol=1e-12)
    assert run.multipliers.min() >= 0
    assert run.multipliers.max() <= problem.C * loss.max_derivative


def test_the_multipliers_are_those_of_libsvm():
    problem = make_problem("pairs", Hinge())
    V, h = problem.matrices.differences, problem.matrices.sign
    run = MarginRun(problem, SYMMETRIC, 1e-6, 5000)
    CoordinateAscent(run, None).solve()
    svc = SVC(kernel="poly", degree=2, gamma=1, coef0=0, C=problem.C, tol=1e-7).fit(V, h)
    weights = svc.dual_coef_[0]
    M = np.einsum("l,li,lj->ij", weights, V[svc.support_], V[svc.support_])
    assert np.sum((run.M - M) ** 2) / 2 <= 2e-6 * run.value
    assert abs(run.multipliers @ h) <= 1e-10 * run.multipliers.sum()


def test_a_start_at_the_optimum_converges_sooner():
    """The multipliers of the last fit are optimal for the next."""
    problem = make_problem("pairs", Hinge())
    first, second = (MarginRun(problem, SYMMETRIC, 1e-4, 5000) for _ in range(2))
    CoordinateAscent(first, None).solve()
    CoordinateAscent(second, first.multipliers).solve()
    assert second.n_steps < first.n_steps


def test_threads_do_not_change_the_bits():
    found = []
    for n_jobs in (1, 2, 3):
        run = MarginRun(make_problem("triplets", Hinge(), n_jobs=n_jobs), SYMMETRIC, 1e-3, 5000)
        CoordinateAscent(run, None).solve()
        found.append(run.M)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_it_stops_where_its_budget_would_not_suffice():
    run = MarginRun(make_problem("pairs", Hinge()), SYMMETRIC, 1e-9, 5000)
    assert CoordinateAscent(run, None).solve(budget=0.0) is None
    assert len(run.primal) == 1
