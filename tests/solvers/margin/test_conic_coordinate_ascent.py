"""Coordinate ascent over sums of the pairs' own matrices: the interior-point method's minimum."""

import numpy as np
import pytest

from likewise.cones import ConicHull
from likewise.constraints import doublets
from likewise.losses import Hinge, SquaredHinge
from likewise.objectives import ConstraintMatrices, MarginProblem
from likewise.solvers.margin import _conic_interior_point, conic_interior_point
from likewise.solvers.margin._conic_coordinate_ascent import ConicBound, ConicCoordinateAscent
from likewise.solvers.margin._run import MarginRun


def problem(loss, C, n=120, d=4, n_jobs=None):
    random = np.random.default_rng(1)
    y = np.arange(n) % 3
    X = random.normal(size=(n, d))
    X[:, 0] += y
    matrices = ConstraintMatrices.from_pairs(X / 2, doublets(X, y, 1, 2), n_jobs)
    return MarginProblem(matrices, loss, C, ConicHull(matrices.differences))


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=repr)
@pytest.mark.parametrize("C", [1e-3, 0.3])
def test_the_minimum_is_that_of_the_interior_point_method(loss, C, monkeypatch):
    asked = problem(loss, C)
    run = MarginRun(asked, 1e-4, 5000, None)
    assert ConicCoordinateAscent(run, None).take() == "converged"
    monkeypatch.setattr(_conic_interior_point, "WORTH_SWEEPING", np.inf)
    other = conic_interior_point(asked, max_iter=500, tol=1e-6)
    assert other.status == "converged"
    assert run.value == pytest.approx(other.value, rel=1.1e-4)
    assert max(run.dual) <= other.value * (1 + 1e-12)
    # ½‖M‖² makes the objective grow at least so fast with the distance from the minimum.
    assert np.sum((run.M - other.x) ** 2) / 4 <= (run.gap + other.gap) * other.value
    assert ConicHull(asked.matrices.differences).project(run.M) == pytest.approx(run.M, abs=1e-6)


def test_a_bound_holds_for_any_multipliers():
    """Whatever M and λ, the bound is below the value of every sum of the pairs' matrices."""
    asked = problem(Hinge(), 0.1)
    matrices, hull = asked.matrices, ConicBound(asked.matrices)
    random = np.random.default_rng(0)
    for _ in range(20):
        multipliers = asked.balanced(random.uniform(0, 0.1, len(matrices)))
        M = matrices.combine(random.uniform(0, 0.01, len(matrices)))
        bound = asked.dual(multipliers, hull.matrix(M, multipliers))
        for _ in range(20):
            other = matrices.combine(random.exponential(1e-4, len(matrices)))
            q = matrices.inner(other)
            assert bound <= asked.primal(other, q, asked.intercept(q))


def test_the_same_bits_for_any_number_of_threads():
    first, second = (
        MarginRun(problem(Hinge(), 0.01, n_jobs=n_jobs), 1e-3, 200, None) for n_jobs in (1, 2)
    )
    for run in (first, second):
        ConicCoordinateAscent(run, None).take()
    np.testing.assert_array_equal(first.M, second.M)
