"""MCML against a double loop over the paper's formula and an independent solver."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import likewise as lw
from likewise.batch.mcml.psd_factor import minimise_on_psd
from likewise.objectives import MCMLObjective, SoftmaxNeighbours

cvxpy = pytest.importorskip("cvxpy")


@pytest.fixture
def data():
    X, y = load_iris(return_X_y=True)
    X, y = X[::10, :3] / X[:, :3].std(axis=0), y[::10].copy()
    y[-1] = 7  # a class of one sample
    return X, y


def divergence_by_loops(X, y, M):
    total = 0.0
    for i in range(len(X)):
        others = [j for j in range(len(X)) if j != i]
        own = [j for j in others if y[j] == y[i]]
        if not own:
            continue
        weight = {j: np.exp(-(X[i] - X[j]) @ M @ (X[i] - X[j])) for j in others}
        for j in own:
            total += np.log(1 / len(own) / (weight[j] / sum(weight.values()))) / len(own)
    return total


def test_the_objective_is_the_papers(data):
    X, y = data
    F = np.random.default_rng(0).normal(size=(3, 3))
    codes = np.unique(y, return_inverse=True)[1]
    value, _ = MCMLObjective(SoftmaxNeighbours.of(X, codes)).value_and_matrix_gradient(F)
    assert value == pytest.approx(divergence_by_loops(X, y, F.T @ F), rel=1e-11)


def test_the_gradient_matches_finite_differences(data):
    X, y = data
    objective = MCMLObjective(SoftmaxNeighbours.of(X, np.unique(y, return_inverse=True)[1]))
    random = np.random.default_rng(1)
    F, step = random.normal(size=(3, 3)), 1e-6 * random.normal(size=(3, 3))
    above, below = (objective.value_and_matrix_gradient(F + s * step)[0] for s in (1, -1))
    gradient = objective.value_and_matrix_gradient(F)[1]
    assert above - below == pytest.approx(2 * np.vdot(gradient, step.T @ F + F.T @ step), rel=1e-6)


def test_it_finds_what_an_independent_solver_finds(data):
    X, y = data
    mcml = lw.MCML(tol=1e-7).fit(X, y)
    assert mcml.converged_
    assert mcml.objective_ == pytest.approx(
        divergence_by_loops(X, y, mcml.mahalanobis_matrix()), rel=1e-9
    )
    M = cvxpy.Variable((3, 3), PSD=True)
    terms = []
    for i in range(len(X)):
        others = [j for j in range(len(X)) if j != i]
        own = [j for j in others if y[j] == y[i]]
        if own:
            square = {
                j: cvxpy.sum(cvxpy.multiply(np.outer(X[i] - X[j], X[i] - X[j]), M)) for j in others
            }
            mean = sum(square[j] for j in own) / len(own)
            spread = cvxpy.log_sum_exp(cvxpy.hstack([-square[j] for j in others]))
            terms.append(mean + spread - np.log(len(own)))
    problem = cvxpy.Problem(cvxpy.Minimize(sum(terms)))
    problem.solve(solver=cvxpy.CLARABEL)
    assert mcml.objective_ == pytest.approx(problem.value, rel=1e-6)
    np.testing.assert_allclose(
        mcml.mahalanobis_matrix(), M.value, atol=1e-3 * np.abs(M.value).max()
    )


def test_every_start_leads_to_the_same_minimum(data):
    """The problem is convex: a start of low rank must not end at a stationary point of low rank."""
    X, y = data
    objective = MCMLObjective(SoftmaxNeighbours.of(X, np.unique(y, return_inverse=True)[1]))
    ends = [
        minimise_on_psd(objective, start, max_iter=1000, tol=1e-7)
        for start in (np.eye(3), np.diag([1.0, 0.0, 0.0]), 1e-3 * np.ones((3, 3)))
    ]
    for end in ends:
        assert end.status == "converged"
        assert end.value == pytest.approx(ends[0].value, rel=1e-7)


def test_it_warns_when_iterations_ran_out(data):
    with pytest.warns(ConvergenceWarning, match="MCML stopped after max_iter=1 iterations"):
        mcml = lw.MCML(max_iter=1).fit(*data)
    assert mcml.optimality_ > mcml.tol


@pytest.mark.parametrize("call", [2, 5, 20])
def test_an_interrupt_keeps_the_best(data, call, monkeypatch):
    original, calls = MCMLObjective.value_and_matrix_gradient, []

    def interrupted(self, F):
        calls.append(F)
        if len(calls) == call:
            raise KeyboardInterrupt
        return original(self, F)

    monkeypatch.setattr(MCMLObjective, "value_and_matrix_gradient", interrupted)
    with pytest.warns(ConvergenceWarning, match="was interrupted after .* the best metric so far"):
        mcml = lw.MCML(tol=1e-9).fit(*data)
    assert mcml.objective_ == min(mcml.history_["objective"])
    assert mcml.objective_ == pytest.approx(
        divergence_by_loops(*data, mcml.mahalanobis_matrix()), rel=1e-9
    )


def test_classes_of_one_sample_raise():
    with pytest.raises(ValueError, match="Every class has one sample, but MCML needs a class with"):
        lw.MCML().fit([[0.0], [1.0], [2.0]], [0, 1, 2])


@pytest.mark.parametrize("tol", [0, -1, "small"])
def test_errors_of_tol(tol):
    with pytest.raises(ValueError, match=r"tol=.* is not allowed: MCML needs a finite"):
        lw.MCML(tol=tol).fit([[0.0], [1.0], [2.0]], [0, 0, 1])
