"""Projections on cones, against their optimality conditions and finite differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from likewise.cones import PSD, Symmetric

CONES = [Symmetric(), PSD()]

entries = st.floats(-5, 5, allow_subnormal=False).map(lambda value: round(value, 3))
squares = arrays(float, (4, 4), elements=entries)


def member(cone, root):
    """Return a member of the cone, made without its projection."""
    return root + root.T if isinstance(cone, Symmetric) else root @ root.T


@pytest.mark.parametrize("cone", CONES, ids=repr)
@settings(deadline=None, max_examples=60)
@given(matrix=squares, root=squares)
def test_the_projection_is_the_nearest_point(cone, matrix, root):
    """Moreau: P is nearest to A in a cone K exactly if ⟨A−P, P⟩ = 0 and ⟨A−P, K⟩ ≤ 0."""
    P = cone.project(matrix).projection
    tiny = 1e-9 * max(1.0, np.abs(matrix).max()) ** 2
    assert abs(np.vdot(matrix - P, P)) <= tiny
    assert np.vdot(matrix - P, member(cone, root)) <= 100 * tiny


@pytest.mark.parametrize("cone", CONES, ids=repr)
@settings(deadline=None, max_examples=60)
@given(root=squares)
def test_members_of_the_cone_are_fixed_points(cone, root):
    inside = member(cone, root)
    tiny = 1e-9 * max(1.0, np.abs(inside).max())
    np.testing.assert_allclose(cone.project(inside).projection, inside, atol=tiny)
    projected = cone.project(root).projection
    np.testing.assert_allclose(cone.project(projected).projection, projected, atol=tiny)


@pytest.mark.parametrize("cone", CONES, ids=repr)
def test_projections_are_symmetric_to_the_bit(cone):
    P = cone.project(np.random.default_rng(9).normal(size=(4, 4))).projection
    np.testing.assert_array_equal(P, P.T)


@pytest.mark.parametrize("cone", CONES, ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_the_jacobian_is_that_of_the_projection(cone, seed):
    random = np.random.default_rng(seed)
    A = random.normal(size=(5, 5))
    A = A + A.T
    jacobian = cone.project(A)
    V = random.normal(size=(6, 5))
    rows = jacobian.coordinates(V)
    assert rows.shape == (6, jacobian.n_coordinates)
    step = 1e-6
    for v, row in zip(V, rows, strict=True):
        up, down = (cone.project(A + h * np.outer(v, v)).projection for h in (step, -step))
        expected = [np.vdot(up - down, np.outer(u, u)) / (2 * step) for u in V]
        np.testing.assert_allclose(rows @ row, expected, rtol=1e-5, atol=1e-6)


def test_the_jacobian_at_a_negative_matrix_has_no_coordinates():
    jacobian = PSD().project(-np.eye(3))
    assert jacobian.n_coordinates == 0
    assert jacobian.coordinates(np.ones((2, 3))).shape == (2, 0)
