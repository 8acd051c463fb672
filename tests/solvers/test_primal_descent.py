"""L-BFGS in M and b of a logistic margin problem, against Newton's method and SciPy."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import likewise as lw


@pytest.fixture
def pairs():
    random = np.random.default_rng(0)
    X, first = random.normal(size=(60, 3)), random.integers(60, size=200)
    index = np.column_stack([first, (first + random.integers(1, 60, size=200)) % 60])
    difference = X[index[:, 0]] - X[index[:, 1]]
    return X, index, difference[:, 0] ** 2 + random.normal(size=200) < 1


def objective(x, difference, h):
    """``½‖M‖² + C Σ log(1 + exp(-h(vᵀMv + b)))`` with C = 1, and its gradient."""
    M, b = x[:9].reshape(3, 3), x[9]
    z = h * (np.einsum("ij,jk,ik->i", difference, M, difference) + b)
    weights = -h * expit(-z)
    gradient = M + np.einsum("i,ij,ik->jk", weights, difference, difference)
    return (M**2).sum() / 2 + np.logaddexp(0, -z).sum(), np.append(gradient, weights.sum())


def test_the_minimum_is_that_of_scipy(pairs):
    X, index, same = pairs
    model = lw.LDML(scale=1.0, psd=False, tol=1e-7).fit_pairs(X, index, same)
    difference, h = X[index[:, 0]] - X[index[:, 1]], np.where(same, -1.0, 1.0)
    found = minimize(objective, np.zeros(10), args=(difference, h), jac=True, tol=1e-10)
    assert model.objective_ == pytest.approx(found.fun, rel=1e-6)
    np.testing.assert_allclose(model.matrix_, found.x[:9].reshape(3, 3), atol=1e-3)


def test_the_matrix_is_that_of_the_multipliers(pairs):
    X, index, same = pairs
    model = lw.LDML(scale=1.0, psd=False).fit_pairs(X, index, same)
    difference = (X[index[:, 0]] - X[index[:, 1]])[model.support_pairs_]
    combined = np.einsum("i,ij,ik->jk", model.dual_coef_, difference, difference)
    np.testing.assert_allclose(model.matrix_, combined, atol=1e-10)
