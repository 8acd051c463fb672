"""ITML against its algorithm in extended precision, an independent solver, and its errors."""

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


@pytest.mark.parametrize("gamma", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("n_sweeps", [1, 2, 50])
@pytest.mark.filterwarnings("ignore:ITML stopped after max_iter")
def test_sweeps_match_extended_precision(data, gamma, n_sweeps):
    X, _, (pairs, same) = data
    itml = lw.ITML(gamma, bounds=(0.7, 3.0), max_iter=n_sweeps, tol=0)
    M = itml.fit_pairs(X, pairs, same).mahalanobis_matrix()
    expected = in_extended_precision(X, pairs, same, (0.7, 3.0), gamma, n_sweeps)
    np.testing.assert_allclose(M, expected.astype(float), rtol=1e-9, atol=1e-10 * np.abs(M).max())


def test_another_prior(data):
    X, _, (pairs, same) = data
    root = np.random.default_rng(0).normal(size=(4, 4))
    prior = root @ root.T + np.eye(4)
    itml = lw.ITML(prior=prior, bounds=(0.7, 3.0), max_iter=20, tol=0)
    with pytest.warns(ConvergenceWarning):
        M = itml.fit_pairs(X, pairs, same).mahalanobis_matrix()
    expected = in_extended_precision(X, pairs, same, (0.7, 3.0), 1.0, 20, prior)
    np.testing.assert_allclose(M, expected.astype(float), rtol=1e-9, atol=1e-10 * np.abs(M).max())


def test_the_covariance_as_prior(data):
    X, _, (pairs, same) = data
    prior = np.linalg.inv(np.cov(X, rowvar=False, bias=True))
    named, given = (
        lw.ITML(prior=p, bounds=(0.7, 3.0), tol=1e-6, max_iter=5000).fit_pairs(X, pairs, same)
        for p in ("covariance", prior)
    )
    np.testing.assert_allclose(named.mahalanobis_matrix(), given.mahalanobis_matrix(), rtol=1e-6)


@pytest.mark.parametrize("gamma", [0.5, 5.0])
def test_it_solves_the_problem_that_an_independent_solver_solves(data, gamma):
    X, _, _ = data
    pairs, same = random_pairs(load_iris(return_X_y=True)[1], 16, random_state=3)
    itml = lw.ITML(gamma, bounds=(0.7, 3.0), tol=1e-12, max_iter=100_000)
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
    from likewise.objectives import LogDetProblem

    original, sweeps = LogDetProblem.sweep, []

    def interrupted(self, M):
        sweeps.append(1)
        if len(sweeps) == 3:
            raise KeyboardInterrupt
        original(self, M)

    monkeypatch.setattr(LogDetProblem, "sweep", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 iterations; the best"):
        itml = lw.ITML(bounds=(0.7, 3.0), tol=0).fit_pairs(X, pairs, same)
    expected = in_extended_precision(X, pairs, same, (0.7, 3.0), 1.0, 2)
    np.testing.assert_allclose(itml.mahalanobis_matrix(), expected.astype(float), rtol=1e-9)


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
