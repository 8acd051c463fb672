"""Projections on cones, against optimality conditions, finite differences and a generic solver."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from likewise.cones import PSD, ConicHull, Symmetric
from likewise.constraints import doublets
from likewise.losses import Hinge
from likewise.objectives import ConstraintMatrices, MarginProblem

DIRECTIONS = np.random.default_rng(0).normal(size=(7, 4))
CONES = [Symmetric(), PSD(), ConicHull(DIRECTIONS)]
NAMES = ["symmetric", "psd", "hull"]

entries = st.floats(-5, 5, allow_subnormal=False).map(lambda value: round(value, 3))
squares = arrays(float, (4, 4), elements=entries)
weights = arrays(float, 7, elements=st.floats(0, 3))


def member(cone, root, alpha):
    """Return a member of the cone, made without its projection."""
    if isinstance(cone, Symmetric):
        return root + root.T
    if isinstance(cone, PSD):
        return root @ root.T
    return sum(a * np.outer(v, v) for a, v in zip(alpha, cone.directions, strict=True))


@pytest.mark.parametrize("cone", CONES, ids=NAMES)
@settings(deadline=None, max_examples=60)
@given(matrix=squares, root=squares, alpha=weights)
def test_the_projection_is_the_nearest_point(cone, matrix, root, alpha):
    """Moreau: P is nearest to A in a cone K exactly if ⟨A−P, P⟩ = 0 and ⟨A−P, K⟩ ≤ 0."""
    P = cone.project(matrix)
    tiny = 1e-9 * max(1.0, np.abs(matrix).max()) ** 2
    assert abs(np.vdot(matrix - P, P)) <= tiny
    assert np.vdot(matrix - P, member(cone, root, alpha)) <= 100 * tiny


@pytest.mark.parametrize("cone", CONES, ids=NAMES)
@settings(deadline=None, max_examples=60)
@given(root=squares, alpha=weights)
def test_members_of_the_cone_are_fixed_points(cone, root, alpha):
    inside = member(cone, root, alpha)
    tiny = 1e-9 * max(1.0, np.abs(inside).max())
    np.testing.assert_allclose(cone.project(inside), inside, atol=tiny)
    projected = cone.project(root)
    np.testing.assert_allclose(cone.project(projected), projected, atol=tiny)


@settings(deadline=None, max_examples=30)
@given(matrix=squares)
def test_hull_weights_are_not_negative_and_make_the_projection(matrix):
    hull = ConicHull(DIRECTIONS)
    alpha = hull.weights(matrix)
    assert (alpha >= 0).all()
    expected = sum(a * np.outer(v, v) for a, v in zip(alpha, DIRECTIONS, strict=True))
    np.testing.assert_allclose(hull.project(matrix), expected, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_hull_against_a_generic_solver(seed):
    A = np.random.default_rng(seed + 1).normal(size=(4, 4))
    A = A + A.T
    alpha = cp.Variable(7, nonneg=True)
    combined = sum(alpha[i] * np.outer(v, v) for i, v in enumerate(DIRECTIONS))
    cp.Problem(cp.Minimize(cp.sum_squares(combined - A))).solve()
    np.testing.assert_allclose(ConicHull(DIRECTIONS).project(A), combined.value, atol=1e-5)


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_projection_on_the_hull_is_scale_equivariant(unit, scale):
    """SciPy must not treat small numbers as zero: all weights would silently be 0."""
    A = DIRECTIONS.T @ DIRECTIONS - np.eye(4)
    expected = ConicHull(DIRECTIONS).project(A)
    found = ConicHull(DIRECTIONS * unit).project(A * scale)
    np.testing.assert_allclose(found / scale, expected, atol=1e-9)


def test_hull_with_zero_and_repeated_directions():
    v = np.array([1.0, 2.0])
    hull = ConicHull(np.array([v, np.zeros(2), v]))
    np.testing.assert_allclose(hull.project(3 * np.outer(v, v)), 3 * np.outer(v, v), atol=1e-12)
    assert hull.weights(np.outer(v, v))[1] == 0
    assert not hull.project(-np.eye(2)).any()
    assert not hull.project(np.zeros((2, 2))).any()


def test_projections_are_symmetric_to_the_bit():
    A = np.random.default_rng(9).normal(size=(4, 4))
    for cone in CONES:
        P = cone.project(A)
        np.testing.assert_array_equal(P, P.T)


@pytest.mark.parametrize("cone", CONES[:2], ids=NAMES[:2])
@pytest.mark.parametrize("seed", range(4))
def test_the_jacobian_is_that_of_the_projection(cone, seed):
    random = np.random.default_rng(seed)
    A = random.normal(size=(5, 5))
    A = A + A.T
    jacobian = cone.project_with_jacobian(A)
    np.testing.assert_allclose(jacobian.projection, cone.project(A), atol=1e-12)
    V = random.normal(size=(6, 5))
    rows = jacobian.coordinates(V)
    assert rows.shape == (6, jacobian.n_coordinates)
    step = 1e-6
    for v, row in zip(V, rows, strict=True):
        moved = cone.project(A + step * np.outer(v, v)) - cone.project(A - step * np.outer(v, v))
        expected = [np.vdot(moved, np.outer(u, u)) / (2 * step) for u in V]
        np.testing.assert_allclose(rows @ row, expected, rtol=1e-5, atol=1e-6)


def test_the_jacobian_at_a_negative_matrix_has_no_coordinates():
    jacobian = PSD().project_with_jacobian(-np.eye(3))
    assert jacobian.n_coordinates == 0
    assert jacobian.coordinates(np.ones((2, 3))).shape == (2, 0)


def test_a_hull_of_other_constraints_raises():
    X, y = np.eye(4), np.array([0, 0, 1, 1])
    matrices = ConstraintMatrices.from_pairs(X, doublets(X, y, 1, 1))
    with pytest.raises(ValueError, match="8 constraints and the hull 7 directions"):
        ConicHull(DIRECTIONS).minimise(MarginProblem(matrices, Hinge(), 1.0), max_iter=1, tol=0.1)
