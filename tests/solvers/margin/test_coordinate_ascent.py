"""Coordinate ascent on multipliers: the minimum of the interior-point method, by another way."""

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


def rows(n=120, d=5):
    random = np.random.default_rng(1)
    y = np.arange(n) % 3
    X = random.normal(size=(n, d))
    X[:, 0] += y
    return X / 2, y


def problem(kind, loss, C=0.3, cone=None, n_jobs=None):
    X, y = rows()
    if kind == "pairs":
        matrices = ConstraintMatrices.from_pairs(X, doublets(X, y, 2, 3), n_jobs)
    else:
        matrices = ConstraintMatrices.from_triplets(X, triplets(X, y, 2, 3), n_jobs)
    return MarginProblem(matrices, loss, C, cone or Symmetric())


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=repr)
@pytest.mark.parametrize("cone", [Symmetric(), PSD()], ids=repr)
def test_the_minimum_is_that_of_newtons_method(kind, loss, cone):
    asked = problem(kind, loss, cone=cone)
    run, other = (MarginRun(asked, 1e-5, 20_000, None) for _ in range(2))
    assert CoordinateAscent(run, None).take() == "converged"
    assert NewtonSteps(other, np.arange(len(asked.matrices))).take() == "converged"
    assert run.value == pytest.approx(other.value, rel=2e-5)
    # ½‖M‖² makes the objective grow at least so fast with the distance from the minimum.
    assert np.sum((run.M - other.M) ** 2) / 4 <= (run.gap + other.gap) * other.value
    assert max(run.dual) <= other.value * (1 + 1e-12)
    assert max(other.dual) <= min(run.primal) * (1 + 1e-12)
    A = asked.matrices.combine(run.multipliers * asked.matrices.sign)
    np.testing.assert_allclose(run.M, cone.project(A), atol=1e-12)
    assert run.multipliers.min() >= 0
    assert run.multipliers.max() <= asked.C * loss.max_derivative


def test_the_multipliers_are_those_of_libsvm():
    asked = problem("pairs", Hinge())
    V, h = asked.matrices.differences, asked.matrices.sign
    run = MarginRun(asked, 1e-6, 5000, None)
    CoordinateAscent(run, None).take()
    svc = SVC(kernel="poly", degree=2, gamma=1, coef0=0, C=asked.C, tol=1e-7).fit(V, h)
    weights = svc.dual_coef_[0]
    M = np.einsum("l,li,lj->ij", weights, V[svc.support_], V[svc.support_])
    assert np.sum((run.M - M) ** 2) / 2 <= 2e-6 * run.value
    assert abs(run.multipliers @ h) <= 1e-10 * run.multipliers.sum()


def test_multipliers_of_the_minimum_are_at_rest():
    """The last fit's multipliers end the next one after a single look."""
    asked = problem("pairs", Hinge())
    first, second = (MarginRun(asked, 1e-4, 5000, None) for _ in range(2))
    CoordinateAscent(first, None).take()
    CoordinateAscent(second, first.multipliers).take()
    assert second.n_steps < first.n_steps


def test_the_bits_do_not_depend_on_threads():
    found = []
    for n_jobs in (1, 2, 3):
        run = MarginRun(problem("triplets", Hinge(), n_jobs=n_jobs), 1e-3, 5000, None)
        CoordinateAscent(run, None).take()
        found.append(run.M)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_it_gives_way_where_it_would_cost_more():
    run = MarginRun(problem("pairs", Hinge()), 1e-9, 5000, None)
    assert CoordinateAscent(run, None).take(affordable=0.0) is None
    assert len(run.primal) == 1
