"""The oracle for conic hulls is itself the projection: by optimality, and by a generic solver."""

import cvxpy as cp
import numpy as np
import pytest
from hull_projection import hull_weights, project_on_hull
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

DIRECTIONS = np.random.default_rng(0).normal(size=(7, 4))

entries = st.floats(-5, 5, allow_subnormal=False).map(lambda value: round(value, 3))
squares = arrays(float, (4, 4), elements=entries)
weights = arrays(float, 7, elements=st.floats(0, 3))


def combination(alpha):
    return sum(a * np.outer(v, v) for a, v in zip(alpha, DIRECTIONS, strict=True))


@settings(deadline=None, max_examples=60)
@given(matrix=squares, alpha=weights)
def test_the_projection_is_the_nearest_point(matrix, alpha):
    """Moreau: P is nearest to A in a cone K exactly if ⟨A−P, P⟩ = 0 and ⟨A−P, K⟩ ≤ 0."""
    P = project_on_hull(matrix, DIRECTIONS)
    tiny = 1e-9 * max(1.0, np.abs(matrix).max()) ** 2
    assert abs(np.vdot(matrix - P, P)) <= tiny
    assert np.vdot(matrix - P, combination(alpha)) <= 100 * tiny
    np.testing.assert_array_equal(P, P.T)


@settings(deadline=None, max_examples=60)
@given(root=squares, alpha=weights)
def test_members_of_the_hull_are_fixed_points(root, alpha):
    for inside in (combination(alpha), project_on_hull(root, DIRECTIONS)):
        tiny = 1e-9 * max(1.0, np.abs(inside).max())
        np.testing.assert_allclose(project_on_hull(inside, DIRECTIONS), inside, atol=tiny)


@settings(deadline=None, max_examples=30)
@given(matrix=squares)
def test_weights_are_not_negative_and_make_the_projection(matrix):
    alpha = hull_weights(matrix, DIRECTIONS)
    assert (alpha >= 0).all()
    projected = project_on_hull(matrix, DIRECTIONS)
    np.testing.assert_allclose(projected, combination(alpha), atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_against_a_generic_solver(seed):
    A = np.random.default_rng(seed + 1).normal(size=(4, 4))
    A = A + A.T
    alpha = cp.Variable(7, nonneg=True)
    combined = sum(alpha[i] * np.outer(v, v) for i, v in enumerate(DIRECTIONS))
    cp.Problem(cp.Minimize(cp.sum_squares(combined - A))).solve()
    np.testing.assert_allclose(project_on_hull(A, DIRECTIONS), combined.value, atol=1e-5)


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_projection_is_scale_equivariant(unit, scale):
    """SciPy must not treat small numbers as zero: all weights would silently be 0."""
    A = DIRECTIONS.T @ DIRECTIONS - np.eye(4)
    expected = project_on_hull(A, DIRECTIONS)
    found = project_on_hull(A * scale, DIRECTIONS * unit)
    np.testing.assert_allclose(found / scale, expected, atol=1e-9)


def test_zero_and_repeated_directions():
    v = np.array([1.0, 2.0])
    directions = np.array([v, np.zeros(2), v])
    outer = np.outer(v, v)
    np.testing.assert_allclose(project_on_hull(3 * outer, directions), 3 * outer, atol=1e-12)
    assert hull_weights(outer, directions)[1] == 0
    assert not project_on_hull(-np.eye(2), directions).any()
    assert not project_on_hull(np.zeros((2, 2)), directions).any()
