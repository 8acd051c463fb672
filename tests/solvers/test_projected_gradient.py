"""FISTA on convex sets: known minima and its rate; the projection onto the simplex."""

import numpy as np
import pytest

from likewise.solvers import fista, project_to_simplex

CURVATURE = np.logspace(0, 4, 9)
TARGET = np.linspace(-2, 3, 9)


class Bowl:
    """``½ Σ h (x - target)²``: separable, so on a box the minimum is the clipped target."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return CURVATURE * (x - TARGET)


def below_1(x):
    return np.minimum(x, 1)


def test_it_finds_the_minimum_on_a_box():
    found, converged = fista(
        Bowl(), below_1, np.zeros(9), lipschitz=CURVATURE.max(), max_iter=10_000, tol=1e-12
    )
    assert converged
    np.testing.assert_allclose(found, below_1(TARGET), atol=1e-6)


def test_steps_grow_as_the_root_of_the_condition_number():
    """Plain steps would need about 10⁴ log(1/tol), accelerated ones 10² log(1/tol)."""
    bowl = Bowl()
    _, converged = fista(
        bowl, below_1, np.zeros(9), lipschitz=CURVATURE.max(), max_iter=10_000, tol=1e-9
    )
    assert converged
    assert bowl.calls < 100 * np.log(1e9)


def test_the_minimum_on_simplices_is_optimal():
    """The solution is a fixed point of projected gradient steps of any length."""
    random = np.random.default_rng(0)
    root, X = random.normal(size=(6, 4)), random.normal(size=(20, 6))
    gram, product = root.T @ root, X @ root

    def gradient(W):
        return W @ gram - product

    W, converged = fista(
        gradient,
        project_to_simplex,
        np.full((20, 4), 0.25),
        lipschitz=np.linalg.eigvalsh(gram)[-1],
        max_iter=5000,
        tol=1e-12,
    )
    assert converged
    for length in (0.01, 1.0, 100.0):
        np.testing.assert_allclose(project_to_simplex(W - length * gradient(W)), W, atol=1e-7)


def test_max_iter():
    bowl = Bowl()
    found, converged = fista(
        bowl, below_1, np.zeros(9), lipschitz=CURVATURE.max(), max_iter=5, tol=1e-12
    )
    assert not converged
    assert bowl.calls == 5
    assert (found <= 1).all()


def test_an_optimal_start_stays():
    found, converged = fista(
        Bowl(), below_1, below_1(TARGET), lipschitz=CURVATURE.max(), max_iter=1, tol=1e-12
    )
    assert converged
    np.testing.assert_array_equal(found, below_1(TARGET))


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
def test_the_projection_is_the_nearest_point_of_the_simplex(size):
    """From the nearest point p of a convex set, no vertex lies in the direction of the row."""
    random = np.random.default_rng(1)
    rows = size * np.vstack([random.normal(size=(40, 5)), np.ones((1, 5)), np.zeros((1, 5))])
    weights = project_to_simplex(rows)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-9)
    towards = np.einsum("nf,ncf->nc", rows - weights, np.eye(5) - weights[:, None])
    assert (towards <= 1e-9 * max(1.0, size)).all()


def test_points_of_the_simplex_are_their_own_projection():
    weights = np.random.default_rng(2).dirichlet(np.ones(4), size=10)
    np.testing.assert_allclose(project_to_simplex(weights), weights, atol=1e-15)
    np.testing.assert_array_equal(project_to_simplex(np.array([[-7.0]])), [[1.0]])
