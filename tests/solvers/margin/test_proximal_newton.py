"""Newton steps on the dual objective: feasible, uphill, and right where few multipliers move."""

import numpy as np
import pytest

from likewise.cones import PSD, Symmetric
from likewise.constraints import doublets, triplets
from likewise.losses import Hinge, SquaredHinge
from likewise.objectives import ConstraintMatrices, MarginProblem
from likewise.solvers.margin._coordinate_ascent import CoordinateAscent
from likewise.solvers.margin._newton_steps import NewtonSteps
from likewise.solvers.margin._proximal_newton import ProximalNewton
from likewise.solvers.margin._run import MarginRun


def make_problem(kind, loss, C):
    random = np.random.default_rng(3)
    y = np.arange(90) % 3
    X = random.normal(size=(90, 4))
    X[:, 0] += y
    if kind == "pairs":
        return MarginProblem(ConstraintMatrices.from_pairs(X, doublets(X, y, 2, 2)), loss, C)
    return MarginProblem(ConstraintMatrices.from_triplets(X, triplets(X, y, 2, 2)), loss, C)


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=repr)
@pytest.mark.parametrize("cone", [Symmetric(), PSD()], ids=repr)
def test_steps_are_feasible_and_increase_the_dual_objective_to_its_maximum(kind, loss, cone):
    problem = make_problem(kind, loss, C=0.2)
    run, other = (MarginRun(problem, cone.project, 1e-6, 1000) for _ in range(2))
    assert NewtonSteps(other, np.arange(len(problem.matrices))).solve() == "converged"
    curvature = float(loss.conjugate_curvature(np.ones(1))[0]) / problem.C
    newton = ProximalNewton(run, problem.C * loss.max_derivative, curvature)
    multipliers, proximity = problem.balanced(np.full(len(problem.matrices), 0.02)), 1.0
    duals = []
    while proximity < 1e12:
        step = newton.step(multipliers, proximity)
        if step is None:
            proximity *= 1000  # a short step along the gradient is uphill
            continue
        multipliers, _, proximity = step
        jacobian, _ = run.evaluate(multipliers)
        duals.append(problem.dual(multipliers, jacobian.projection))
        assert multipliers.min() >= 0
        assert multipliers.max() <= problem.C * loss.max_derivative
        if problem.matrices.has_intercept:
            assert abs(multipliers @ problem.matrices.sign) <= 1e-10 * multipliers.sum()
    assert (np.diff(duals) >= -1e-12 * other.value).all()
    assert duals[-1] <= other.value * (1 + 1e-12)
    assert duals[-1] >= other.value * (1 - 1e-3)


@pytest.mark.parametrize("C", [50.0, 5000.0])
def test_a_large_c_has_the_minimum_of_the_interior_point_method(C):
    """The upper bound of the multipliers begins far below C, and grows."""
    problem = make_problem("pairs", Hinge(), C)
    run, other = (MarginRun(problem, PSD().project, 1e-4, 2000) for _ in range(2))
    ascent = CoordinateAscent(run, None)
    assert ascent.upper_bound < C
    assert ascent.solve() == "converged"
    assert ascent.upper_bound == C
    assert NewtonSteps(other, np.arange(len(problem.matrices))).solve() == "converged"
    assert run.value == pytest.approx(other.value, rel=2e-4)
    assert max(run.dual) <= min(other.primal) * (1 + 1e-12)
    A = problem.matrices.combine(run.multipliers * problem.matrices.sign)
    np.testing.assert_allclose(run.M, PSD().project(A).projection, atol=1e-10 * np.abs(A).max())


def test_the_jacobian_is_the_derivative_of_the_projection():
    random = np.random.default_rng(0)
    A, direction = (matrix + matrix.T for matrix in random.normal(size=(2, 6, 6)))
    step = 1e-6
    ahead, behind = (PSD().project(A + sign * step * direction).projection for sign in (1, -1))
    expected = (ahead - behind) / (2 * step)
    np.testing.assert_allclose(PSD().project(A).apply(direction), expected, atol=1e-7)
    np.testing.assert_array_equal(Symmetric().project(A).apply(direction), direction)
