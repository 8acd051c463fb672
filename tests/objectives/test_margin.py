"""The margin problem: products against plain loops, the dual's gradient against differences."""

import numpy as np
import pytest

from likewise.cones import PSD, Symmetric
from likewise.constraints import doublets, triplets
from likewise.losses import Hinge, Logistic, SquaredHinge
from likewise.objectives import ConstraintMatrices, MarginProblem

LOSSES = [Hinge(), SquaredHinge(), Logistic()]


def data(n_samples=30, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n_samples) % 3
    return random.normal(size=(n_samples, 4)) + y[:, None] * [1.0, 0, 0, 0.3], y


def matrices(kind):
    X, y = data()
    if kind == "pairs":
        pairs = doublets(X, y)
        V = X[pairs.index[:, 0]] - X[pairs.index[:, 1]]
        return ConstraintMatrices.from_pairs(X, pairs), np.einsum("li,lj->lij", V, V)
    chosen = triplets(X, y)
    anchor, near, far = (X[column] for column in chosen.index.T)
    T = np.einsum("li,lj->lij", anchor - far, anchor - far)
    T -= np.einsum("li,lj->lij", anchor - near, anchor - near)
    return ConstraintMatrices.from_triplets(X, chosen), T


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_products_with_the_matrices(kind):
    rows, explicit = matrices(kind)
    random = np.random.default_rng(1)
    M = random.normal(size=(4, 4))
    M = M + M.T
    weights = random.normal(size=len(rows))
    np.testing.assert_allclose(rows.inner(M), np.einsum("lij,ij->l", explicit, M), atol=1e-12)
    np.testing.assert_allclose(
        rows.combine(weights), np.einsum("l,lij->ij", weights, explicit), atol=1e-11
    )
    some = np.array([5, 2, 17])
    gram = np.einsum("lij,mij->lm", explicit[some], explicit[some])
    np.testing.assert_allclose(rows.gram(some), gram, atol=1e-11)
    coordinates = rows.coordinates(Symmetric().project(M), some)
    np.testing.assert_allclose(coordinates @ coordinates.T, gram, atol=1e-11)
    assert rows.has_intercept == (kind == "pairs")


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
@pytest.mark.parametrize("cone", [Symmetric(), PSD()], ids=repr)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_gradient_of_the_dual_by_differences(kind, cone, loss):
    """It is 1 - loss*'(λ/C) - h⟨P(A(λ)), X⟩."""
    rows, _ = matrices(kind)
    problem = MarginProblem(rows, loss, 2.0)
    random = np.random.default_rng(2)
    multipliers = random.uniform(0.1, 1.9, size=len(rows))

    def dual(at):
        return problem.dual(at, cone.project(rows.combine(at * rows.sign)).projection)

    q = rows.inner(cone.project(rows.combine(multipliers * rows.sign)).projection)
    gradient = 1 - loss.conjugate_derivative(multipliers / 2.0) - rows.sign * q
    for _ in range(5):
        direction = random.normal(size=len(rows))
        step = 1e-5
        change = dual(multipliers + step * direction) - dual(multipliers - step * direction)
        assert change / (2 * step) == pytest.approx(gradient @ direction, rel=1e-5)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_the_intercept_is_the_best(loss, seed):
    rows, _ = matrices("pairs")
    problem = MarginProblem(rows, loss, 1.0)
    q = np.random.default_rng(seed).normal(size=len(rows)) * 3
    M = np.zeros((4, 4))
    best = min(problem.primal(M, q, b) for b in np.linspace(-12, 12, 4801))
    assert problem.primal(M, q, problem.intercept(q)) <= best + 1e-12


def test_triplets_have_no_intercept():
    rows, _ = matrices("triplets")
    assert MarginProblem(rows, Hinge(), 1.0).intercept(rows.sign) == 0


def test_balanced_multipliers_sum_to_zero_and_do_not_grow():
    rows, _ = matrices("pairs")
    problem = MarginProblem(rows, Hinge(), 1.0)
    given = np.random.default_rng(3).uniform(size=len(rows))
    balanced = problem.balanced(given)
    assert abs(balanced @ rows.sign) < 1e-12
    assert (balanced <= given).all()
    assert not problem.balanced(np.where(rows.sign > 0, given, 0.0)).any()
