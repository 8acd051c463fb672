"""ITML against the paper's algorithm, an independent solver and the dual, and its errors."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import likewise as lw
from likewise.constraints import random_pairs

cvxpy = pytest.importorskip("cvxpy")


def in_extended_precision(X, pairs, same, bounds, gamma, n_sweeps, prior=None):
    """The paper's algorithm 1, every number a longdouble; the bounds are distances."""
    X = np.asarray(X, dtype=np.longdouble)
    gamma = np.longdouble(gamma)
    M = np.eye(X.shape[1], dtype=np.longdouble) if prior is None else prior.astype(np.longdouble)
    order = [k for k in range(len(same)) if same[k]] + [k for k in range(len(same)) if not same[k]]
    slack = {k: np.longdouble(bounds[0 if same[k] else 1]) ** 2 for k in order}
    dual = dict.fromkeys(order, np.longdouble(0))
    for _ in range(n_sweeps):
        for k in order:
            v = X[pairs[k][0]] - X[pairs[k][1]]
            p = v @ M @ v
            delta = 1 if same[k] else -1
            alpha = min(dual[k], delta * gamma / (gamma + 1) * (1 / p - 1 / slack[k]))
            beta = delta * alpha / (1 - delta * alpha * p)
            slack[k] = gamma * slack[k] / (gamma + delta * alpha * slack[k])
            dual[k] -= alpha
            M = M + beta * np.outer(M @ v, M @ v)
    return M


@pytest.fixture
def data():
    X, y = load_iris(return_X_y=True)
    return X, y, random_pairs(y, 60, random_state=0)


def objective_of(M, X, pairs, same, bounds, gamma, prior):
    """The paper's objective at M with the best slack variables, pair by pair."""
    ratio = np.linalg.solve(prior, M)
    value = np.trace(ratio) - np.linalg.slogdet(ratio)[1] - len(M)
    for (i, j), similar in zip(pairs, same, strict=True):
        p = (X[i] - X[j]) @ M @ (X[i] - X[j])
        s = p / bounds[0 if similar else 1] ** 2
        if (s > 1) == similar:
            value += gamma * (s - np.log(s) - 1)
    return value


@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
def test_the_minimum_of_the_papers_algorithm(data, gamma):
    X, _, (pairs, same) = data
    itml = lw.ITML(gamma, bounds=(0.7, 3.0), tol=1e-12).fit_pairs(X, pairs, same)
    expected = in_extended_precision(X, pairs, same, (0.7, 3.0), gamma, 1500).astype(float)
    M = itml.mahalanobis_matrix()
    np.testing.assert_allclose(M, expected, rtol=0, atol=1e-5 * np.abs(M).max())
    assert itml.converged_
    assert itml.objective_ <= objective_of(
        expected, X, pairs, same, (0.7, 3.0), gamma, np.eye(4)
    ) * (1 + 1e-12)


def test_another_prior(data):
    X, _, (pairs, same) = data
    root = np.random.default_rng(0).normal(size=(4, 4))
    prior = root @ root.T + np.eye(4)
    itml = lw.ITML(prior=prior, bounds=(0.7, 3.0), tol=1e-12).fit_pairs(X, pairs, same)
    M = itml.mahalanobis_matrix()
    expected = in_extended_precision(X, pairs, same, (0.7, 3.0), 1.0, 1500, prior).astype(float)
    np.testing.assert_allclose(M, expected, rtol=0, atol=1e-5 * np.abs(M).max())


@pytest.mark.parametrize("gamma", [0.01, 1.0, 1000.0])
@pytest.mark.parametrize("max_iter", [1, 3])
@pytest.mark.filterwarnings("ignore:ITML stopped after max_iter")
def test_the_gap_bounds_the_distance_from_the_minimum(data, gamma, max_iter):
    X, _, (pairs, same) = data
    early = lw.ITML(gamma, bounds=(0.7, 3.0), max_iter=max_iter, tol=0).fit_pairs(X, pairs, same)
    best = lw.ITML(gamma, bounds=(0.7, 3.0), tol=1e-12).fit_pairs(X, pairs, same)
    excess = early.objective_ - best.objective_
    assert 0 <= excess <= early.duality_gap_ * early.objective_
    M = early.mahalanobis_matrix()
    value = objective_of(M, X, pairs, same, (0.7, 3.0), gamma, np.eye(4))
    assert early.objective_ == pytest.approx(value, rel=1e-10)
    assert (np.diff(early.history_["objective"]) < 0).all()


def test_few_pairs_and_many_give_the_same_step(monkeypatch):
    """The two ways to solve the Newton equations agree with a dense solution of all of them."""
    from scipy.linalg import cholesky

    from likewise.batch.itml import problem as module

    random = np.random.default_rng(0)
    V = random.normal(size=(12, 4))
    sign, bounds = np.where(np.arange(12) < 6, 1.0, -1.0), np.where(np.arange(12) < 6, 1.0, 16.0)
    problem = module.LogDetProblem(np.eye(4), V, sign, bounds, slack_weight=2.0)
    point = module.Iterate(problem, cholesky(np.diag([1.0, 2.0, 0.5, 1.0]), lower=True))
    U = V @ point.L
    s = (U**2).sum(axis=1) / bounds
    hessian = np.eye(16)
    for u, ratio, bound in zip(U, s, bounds, strict=True):
        if (ratio > 1) == (bound == 1):
            hessian += 2.0 / (ratio * bound) ** 2 * np.outer(np.outer(u, u), np.outer(u, u))
    expected = np.linalg.solve(hessian, -point.gradient.ravel()).reshape(4, 4)
    np.testing.assert_allclose(point.newton_step(), expected, atol=1e-12)
    monkeypatch.setattr(module, "_MAX_DENSE", 0)
    inexact = point.newton_step()
    residual = hessian @ inexact.ravel() + point.gradient.ravel()
    assert np.linalg.norm(residual) <= 0.1 * np.linalg.norm(point.gradient)


def test_ten_thousand_pairs_converge_in_a_few_steps():
    """Cyclic projections did not converge here in 10 000 sweeps."""
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 50))
    y = np.argmax(X[:, :10] + random.normal(size=(2000, 10)), axis=1)
    pairs, same = random_pairs(y, 10_000, random_state=0)
    itml = lw.ITML(random_state=0).fit_pairs(X, pairs, same)
    assert itml.converged_
    assert itml.n_iter_ <= 15
    assert itml.duality_gap_ <= 1e-4


def test_the_covariance_as_prior(data):
    X, _, (pairs, same) = data
    prior = np.linalg.inv(np.cov(X, rowvar=False, bias=True))
    named, given = (
        lw.ITML(prior=p, bounds=(0.7, 3.0), tol=1e-10).fit_pairs(X, pairs, same)
        for p in ("covariance", prior)
    )
    np.testing.assert_allclose(named.mahalanobis_matrix(), given.mahalanobis_matrix(), rtol=1e-6)


@pytest.mark.parametrize("gamma", [0.5, 5.0])
def test_it_solves_the_problem_that_an_independent_solver_solves(data, gamma):
    X, _, _ = data
    pairs, same = random_pairs(load_iris(return_X_y=True)[1], 16, random_state=3)
    itml = lw.ITML(gamma, bounds=(0.7, 3.0), tol=1e-12)
    itml.fit_pairs(X, pairs, same)
    assert itml.converged_
    M, xi = cvxpy.Variable((4, 4), PSD=True), cvxpy.Variable(16)
    xi0 = np.where(same, 0.7, 3.0) ** 2
    V = X[pairs[:, 0]] - X[pairs[:, 1]]
    squares = cvxpy.hstack([cvxpy.sum(cvxpy.multiply(np.outer(v, v), M)) for v in V])
    ratio = cvxpy.multiply(xi, 1 / xi0)
    divergence = cvxpy.trace(M) - cvxpy.log_det(M) - 4
    objective = divergence + gamma * cvxpy.sum(ratio - cvxpy.log(ratio) - 1)
    sign = np.where(same, 1.0, -1.0)
    problem = cvxpy.Problem(cvxpy.Minimize(objective), [cvxpy.multiply(sign, squares - xi) <= 0])
    problem.solve(solver=cvxpy.CLARABEL)
    assert itml.objective_ == pytest.approx(problem.value, rel=1e-5)
    np.testing.assert_allclose(
        itml.mahalanobis_matrix(), M.value, atol=1e-4 * np.abs(M.value).max()
    )


def test_labels_draw_pairs_and_bounds_from_percentiles(data):
    X, y, _ = data
    itml = lw.ITML(random_state=0).fit(X, y)
    assert itml.converged_
    first, second = np.triu_indices(len(X), 1)
    distances = np.linalg.norm(X[first] - X[second], axis=1)
    distances = distances[distances > 0]
    np.testing.assert_allclose(itml.bounds_, np.percentile(distances, [5, 95]), rtol=0.05)
    assert np.linalg.eigvalsh(itml.mahalanobis_matrix())[0] > 0
    score = lw.MetricKNN(metric=lw.ITML(random_state=0)).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    assert score > 0.93


def test_few_rows_give_the_percentiles_of_all_pairs(data):
    X, y, _ = data
    X, y = X[::3], y[::3]
    first, second = np.triu_indices(len(X), 1)
    distances = np.linalg.norm(X[first] - X[second], axis=1)
    expected = np.percentile(distances[distances > 0], [5, 95])
    np.testing.assert_allclose(lw.ITML(random_state=0).fit(X, y).bounds_, expected, rtol=1e-12)


def test_similar_pairs_of_equal_samples_are_ignored(data):
    X, _, (pairs, same) = data
    X = np.vstack([X, X[:1]])
    plain = lw.ITML(bounds=(0.7, 3.0)).fit_pairs(X, pairs, same)
    more = lw.ITML(bounds=(0.7, 3.0)).fit_pairs(
        X, np.vstack([pairs, [[0, 150]]]), np.append(same, True)
    )
    np.testing.assert_array_equal(more.components_, plain.components_)


def test_an_interrupt_keeps_what_was_learned(data, monkeypatch):
    X, _, (pairs, same) = data
    from likewise.batch.itml.problem import Iterate

    original, steps = Iterate.newton_step, []

    def interrupted(self):
        steps.append(1)
        if len(steps) == 3:
            raise KeyboardInterrupt
        return original(self)

    monkeypatch.setattr(Iterate, "newton_step", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 iterations; the best"):
        itml = lw.ITML(bounds=(0.7, 3.0), tol=0).fit_pairs(X, pairs, same)
    monkeypatch.undo()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        two = lw.ITML(bounds=(0.7, 3.0), tol=0, max_iter=2).fit_pairs(X, pairs, same)
    np.testing.assert_array_equal(itml.components_, two.components_)


SQUARE = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("options", "X", "message"),
    [
        (
            {"slack_weight": 0},
            SQUARE,
            "slack_weight=0 is not allowed: ITML needs a finite number above 0",
        ),
        ({"bounds": (2, 1)}, SQUARE, r"bounds=\(2, 1\) is not allowed: ITML needs 0 < u < l"),
        ({"bounds": (1, 1)}, SQUARE, r"bounds=\(1, 1\) is not allowed"),
        ({"bounds": (0, 1)}, SQUARE, r"bounds=\(0, 1\) is not allowed"),
        ({"bounds": (1, 2, 3)}, SQUARE, r"bounds=\(1, 2, 3\) is not allowed: .*two distances"),
        ({"bounds": "means"}, SQUARE, "bounds='means' is not allowed"),
        ({"bounds": ("a", "b")}, SQUARE, r"bounds=\('a', 'b'\) is not allowed: .*two distances"),
        ({"bounds": [[1], [2, 3]]}, SQUARE, r"bounds=\[\[1\], \[2, 3\]\] is not allowed: .*two"),
        ({"bounds": (None, 1)}, SQUARE, r"bounds=\(None, 1\) is not allowed: .*two distances"),
        (
            {"prior": [[1, 2], [3]]},
            SQUARE,
            "prior has rows of different lengths, but a matrix is needed",
        ),
        ({"prior": [["a", 0], [0, 1]]}, SQUARE, "prior holds 'a', but only real numbers are"),
        ({}, [[0.0], [0.0], [2.0], [2.0]], r"percentile of the distances are equal \(2\)"),
        ({"prior": np.ones((2, 2))}, SQUARE, "prior is singular or indefinite .least eigenvalue"),
        ({"prior": np.diag([1, -1])}, SQUARE, "prior is singular or indefinite"),
        ({"prior": np.eye(3)}, SQUARE, r"prior has shape \(3, 3\), but X needs \(2, 2\)"),
        ({"prior": [[1, 2], [0, 1]]}, SQUARE, "prior is not a finite symmetric matrix"),
        (
            {"prior": "covariance"},
            [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [5.0, 5.0]],
            "prior='covariance' is singular: X varies in 1 of 2 directions",
        ),
        ({"prior": "euclid"}, SQUARE, "prior='euclid' is not allowed"),
    ],
)
def test_errors(options, X, message):
    with pytest.raises(ValueError, match=message):
        lw.ITML(**options).fit_pairs(X, [[0, 1], [0, 2]], [True, False])


def test_equal_samples_raise():
    with pytest.raises(ValueError, match="All rows of X are equal, but ITML needs rows that"):
        lw.ITML().fit_pairs([[1.0], [1.0]], [[0, 1]], [True])


def test_only_pairs_of_equal_samples_raise():
    X = [[0.0], [0.0], [1.0], [1.0]]
    with pytest.raises(ValueError, match="No pair has two different rows, but ITML needs one"):
        lw.ITML(bounds=(1, 2)).fit_pairs(X, [[0, 1], [2, 3]], [True, True])


def test_equal_samples_marked_different_raise():
    X = [[0.0], [1.0], [1.0], [3.0]]
    with pytest.raises(ValueError, match=r"pairs\[1\] is marked different, but its rows 1 and 2"):
        lw.ITML(bounds=(1, 2)).fit_pairs(X, [[0, 1], [1, 2]], [True, False])


def test_bounds_do_not_depend_on_the_position_of_an_outlier(data):
    X, y = (part[::3] for part in data[:2])
    far = np.full((1, X.shape[1]), 1e9)
    first = lw.ITML(max_iter=1, tol=1e9, random_state=0).fit(np.vstack([far, X]), [y[0], *y])
    last = lw.ITML(max_iter=1, tol=1e9, random_state=0).fit(np.vstack([X, far]), [*y, y[0]])
    np.testing.assert_allclose(first.bounds_, last.bounds_, rtol=1e-13)


@pytest.mark.parametrize("bounds", [(1e100, 1e140), (1e-120, 1e-100)])
def test_differences_and_bounds_that_are_nothing_beside_an_outlier(bounds):
    X = 1e-20 * np.random.default_rng(0).normal(size=(30, 2))
    X[4, 1] = 1e150
    model = lw.ITML(bounds=bounds, random_state=0)
    with pytest.raises(ValueError, match=r"differ by up to 1e\+150, but a bound or .* scale X"):
        model.fit(X, np.arange(30) % 3)
    assert not hasattr(model, "components_")
