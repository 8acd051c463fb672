"""The chapter's alternating solvers reach the minimum of PCML and NCML."""

from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from likewise.batch import NCML, PCML
from likewise.constraints import nearest_and_farthest_pairs
from likewise.experiments._alternating import alternating_ncml, alternating_pcml, solve_svm
from likewise.objectives import ConstraintMatrices


@pytest.fixture(scope="module")
def problem():
    X, y = load_iris(return_X_y=True)
    X = (X / X.std(axis=0))[::2]
    pairs = nearest_and_farthest_pairs(X, y[::2], 1)
    return X, pairs, ConstraintMatrices.from_pairs(X, pairs, n_jobs=1)


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize(
    ("learner", "alternating"), [(PCML, alternating_pcml), (NCML, alternating_ncml)]
)
def test_reaches_the_minimum(problem, learner, alternating, C):
    X, pairs, matrices = problem
    expected = learner(C=C, scale=1.0, tol=1e-4).fit_pairs(X, pairs.index, pairs.same)
    found = alternating(matrices, C, max_iter=80)
    assert found.primal[-1] == pytest.approx(expected.objective_, rel=2e-3)
    assert found.dual[-1] == pytest.approx(expected.objective_, rel=2e-3)
    # Each half of an iteration maximises the dual objective.
    assert (np.diff(found.dual) >= -1e-4 * abs(found.dual[-1])).all()
    np.testing.assert_allclose(
        found.M, expected.matrix_, atol=0.05 * np.abs(expected.matrix_).max()
    )


def test_stops_when_the_gap_hardly_changes(problem):
    matrices = problem[2]
    found = alternating_pcml(matrices, 0.1, max_iter=50, decrease=0.01)
    gaps = np.subtract(found.primal, found.dual)
    assert 1 < len(gaps) < 50
    assert abs(gaps[-1] - gaps[-2]) < 0.01 * gaps[0]
    assert all(abs(b - a) >= 0.01 * gaps[0] for a, b in pairwise(gaps[:-1]))


def test_without_offsets_it_is_the_usual_svm(problem):
    matrices = problem[2]
    kernel = matrices.gram(np.arange(len(matrices)))
    svm = SVC(kernel="precomputed", C=0.1, tol=1e-6).fit(kernel, matrices.sign)
    expected = np.zeros(len(matrices))
    expected[svm.support_] = svm.dual_coef_[0]
    found = solve_svm(kernel, matrices.sign, np.zeros(len(matrices)), 0.1)
    np.testing.assert_allclose(kernel @ found, kernel @ expected, atol=1e-2)


def test_offsets_are_those_of_the_quadratic_program():
    random = np.random.default_rng(0)
    F = random.normal(size=(30, 4))
    kernel, sign = F @ F.T, np.where(random.random(30) < 0.5, -1.0, 1.0)
    offset = 3 * random.normal(size=30)
    found = solve_svm(kernel, sign, offset, 0.7)

    multipliers = cp.Variable(30)
    dual = (1 - sign * offset) @ multipliers - cp.sum_squares(
        F.T @ cp.multiply(sign, multipliers)
    ) / 2
    feasible = [multipliers >= 0, multipliers <= 0.7, sign @ multipliers == 0]
    best = cp.Problem(cp.Maximize(dual), feasible).solve()
    ours = (1 - sign * offset) @ (found * sign) - found @ kernel @ found / 2
    assert ours == pytest.approx(best, rel=1e-4)
    assert abs(found.sum()) < 1e-8
