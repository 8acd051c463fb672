"""MMC and DML-eig against an independent solver, their certificates, and their errors."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

import likewise as lw
from likewise.constraints import random_pairs
from likewise.objectives import (
    DissimilarPairs,
)

cvxpy = pytest.importorskip("cvxpy")

LEARNERS = [lw.MMC(), lw.MMC(diagonal=True), lw.DMLEig()]


@pytest.fixture(params=[0, 1], ids="seed {}".format)
def problem(request):
    X, y = load_wine(return_X_y=True)
    X = X[:, :4] / X[:, :4].std(axis=0)
    pairs, same = random_pairs(y, 30, random_state=request.param)
    return X, pairs, same


def differences(X, pairs, same):
    v = X[pairs[:, 0]] - X[pairs[:, 1]]
    return v[same], v[~same]


def shrunk_scatter(similar, shrinkage):
    A = similar.T @ similar
    return (1 - shrinkage) * A + shrinkage * np.trace(A) / len(A) * np.eye(len(A))


def squares(M, V):
    return cvxpy.hstack([cvxpy.sum(cvxpy.multiply(np.outer(v, v), M)) for v in V])


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("shrinkage", [0.0, 0.1])
def test_mmc_is_optimal(problem, diagonal, shrinkage):
    X, pairs, same = problem
    similar, dissimilar = differences(*problem)
    mmc = lw.MMC(diagonal=diagonal, shrinkage=shrinkage, tol=1e-7).fit_pairs(X, pairs, same)
    M = cvxpy.diag(cvxpy.Variable(4, nonneg=True)) if diagonal else cvxpy.Variable((4, 4), PSD=True)
    A = shrunk_scatter(similar, shrinkage)
    reference = cvxpy.Problem(
        cvxpy.Maximize(cvxpy.sum(cvxpy.sqrt(squares(M, dissimilar)))),
        [cvxpy.sum(cvxpy.multiply(A, M)) <= 1],
    )
    reference.solve(solver=cvxpy.CLARABEL)
    found = mmc.mahalanobis_matrix()
    assert mmc.objective_ == pytest.approx(reference.value, rel=1e-6)
    assert mmc.objective_ == pytest.approx(mmc.pair_distance(dissimilar, 0 * dissimilar).sum())
    assert np.vdot(A, found) == pytest.approx(1, rel=1e-9)
    np.testing.assert_allclose(found, M.value, atol=2e-3 * np.abs(M.value).max())
    if diagonal:
        assert not (found - np.diag(np.diag(found))).any()


@pytest.mark.parametrize("smoothing", [0.05, 0.5])
def test_dml_eig_is_optimal(problem, smoothing):
    X, pairs, same = problem
    similar, dissimilar = differences(*problem)
    eig = lw.DMLEig(smoothing=smoothing, shrinkage=1e-3, tol=1e-6).fit_pairs(X, pairs, same)
    A = shrunk_scatter(similar, 1e-3)
    start = np.einsum("nd,de,ne->n", dissimilar, np.linalg.inv(A), dissimilar).mean() / 4
    assert eig.mu_ == pytest.approx(smoothing * start)
    M = cvxpy.Variable((4, 4), PSD=True)
    smooth = -eig.mu_ * cvxpy.log_sum_exp(-squares(M, dissimilar) / eig.mu_)
    reference = cvxpy.Problem(cvxpy.Maximize(smooth), [cvxpy.sum(cvxpy.multiply(A, M)) <= 1])
    reference.solve(solver=cvxpy.CLARABEL)
    assert eig.objective_ == pytest.approx(reference.value, rel=1e-5, abs=1e-6 * start)
    distances = eig.pair_distance(dissimilar, 0 * dissimilar)
    by_formula = -eig.mu_ * np.log(np.exp(-np.square(distances) / eig.mu_).sum())
    assert eig.objective_ == pytest.approx(by_formula, rel=1e-8)
    np.testing.assert_allclose(eig.mahalanobis_matrix(), M.value, atol=5e-3 * np.abs(M.value).max())


def test_dml_eig_exceeds_the_frank_wolfe_steps_of_the_paper(problem):
    """A few thousand Frank–Wolfe steps end below our value, and close to it."""
    X, pairs, same = problem
    similar, dissimilar = differences(*problem)
    eig = lw.DMLEig(shrinkage=1e-3, tol=1e-6).fit_pairs(X, pairs, same)
    values, vectors = np.linalg.eigh(shrunk_scatter(similar, 1e-3))
    U = dissimilar @ (vectors / np.sqrt(values)) @ vectors.T
    S = np.eye(4) / 4
    for step in range(5000):
        q = np.einsum("nd,de,ne->n", U, S, U)
        u = np.exp(-(q - q.min()) / eig.mu_)
        z = np.linalg.eigh((U.T * (u / u.sum())) @ U)[1][:, -1]
        S += 2 / (step + 2) * (np.outer(z, z) - S)
    q = np.einsum("nd,de,ne->n", U, S, U)
    reached = -eig.mu_ * np.log(np.exp(-q / eig.mu_).sum())
    assert reached <= eig.objective_ + 1e-9
    assert reached == pytest.approx(eig.objective_, abs=1e-3 * np.abs(q).mean())


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_the_gap_certifies_what_a_longer_run_finds(learner):
    X, y = load_wine(return_X_y=True)
    X = X / X.std(axis=0)
    learner = clone(learner).set_params(random_state=0, tol=1e-6, max_iter=5000)
    best = learner.fit(X, y)
    assert best.converged_
    assert 0 <= best.duality_gap_ <= 1e-6
    learner = clone(learner).set_params(max_iter=2)
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=2 .* duality gap"):
        early = learner.fit(X, y)
    assert early.objective_ < best.objective_
    if not isinstance(learner, lw.DMLEig):  # its gap is not relative to the objective alone
        assert best.objective_ <= early.objective_ * (1 + early.duality_gap_)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_labels_help_iris(learner):
    X, y = load_iris(return_X_y=True)
    learner = clone(learner).set_params(random_state=0)
    score = lw.MetricKNN(metric=learner).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    assert score > 0.9


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_directions_without_similar_pairs_get_weight_by_shrinkage_only(learner):
    X = [[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]]
    pairs, same = [[0, 1], [2, 3], [0, 2], [1, 2]], [True, True, False, False]
    learner = clone(learner)
    plain = learner.set_params(shrinkage=0.0).fit_pairs(X, pairs, same)
    assert plain.pair_distance([[0.0, 0.0]], [[0.0, 1.0]]) == pytest.approx(0, abs=1e-9)
    shrunk = learner.set_params(shrinkage=0.1).fit_pairs(X, pairs, same)
    assert shrunk.pair_distance([[0.0, 0.0]], [[0.0, 1.0]]) > 1


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize(
    ("pairs", "same", "message"),
    [
        (
            [[0, 1], [2, 3]],
            [True, True],
            r"No pair is dissimilar \(same=False\), but (MMC|DMLEig) needs",
        ),
        (
            [[0, 1], [2, 3]],
            [False, False],
            r"No pair is similar \(same=True\), but (MMC|DMLEig) needs",
        ),
        ([[0, 4], [2, 3]], [True, False], "The rows of every similar pair are equal, but"),
        ([[0, 1], [0, 4]], [True, False], r"pairs\[1\] is marked different, but its rows 0 and 4"),
    ],
)
def test_errors_of_pairs(learner, pairs, same, message):
    X = [[0.0, 0.0], [0.0, 4.0], [3.0, 1.0], [3.5, 3.0], [0.0, 0.0]]
    with pytest.raises(ValueError, match=message):
        learner.fit_pairs(X, pairs, same)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize(
    "rotation", [np.eye(3), np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]]
)
def test_dissimilar_pairs_outside_the_range_of_the_scatter_raise(learner, rotation):
    """Similar pairs differ in one direction, dissimilar ones in others, where M is 0."""
    if getattr(learner, "diagonal", False):
        rotation = np.eye(3)
    X = np.array([[0.0, 0, 0], [2, 0, 0], [0, 1, 0], [2, 1, 0], [2, 0, 3]]) @ rotation
    pairs, same = [[0, 1], [2, 3], [0, 2], [1, 3], [1, 4]], [True, True, False, False, False]
    learner = clone(learner)
    with pytest.raises(ValueError, match=r"^No dissimilar pair differs in .*; raise shrinkage\.$"):
        learner.set_params(shrinkage=0.0).fit_pairs(X, pairs, same)
    assert learner.set_params(shrinkage=0.1).fit_pairs(X, pairs, same).converged_
    learner.set_params(shrinkage=0.0).fit_pairs(X, [*pairs, [0, 3]], [*same, False])


@pytest.mark.parametrize("learner", [*LEARNERS, lw.ITML()], ids=repr)
def test_equal_samples_of_different_classes_raise(learner):
    with pytest.raises(ValueError, match="every pair drawn from different classes are equal, but"):
        learner.fit([[1.0, 2.0]] * 6, [0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_callbacks_receive_the_components_that_a_fit_would_store(learner, monkeypatch):
    received = []
    monkeypatch.setattr(
        lw.base.Learner, "_call_back", lambda self, fitted: received.append(fitted()) or False
    )
    X, y = load_iris(return_X_y=True)
    learner = clone(learner).set_params(random_state=0).fit(X.astype(np.float32), y)
    assert len(received) == learner.n_iter_
    for given in received:
        L = given["components_"]
        assert L.dtype == np.float32
        gram = L @ L.T
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-5 * gram.max())
        assert (np.diff(np.diag(gram)) <= 0).all()
    np.testing.assert_array_equal(received[-1]["components_"], learner.components_)


@pytest.mark.parametrize("learner", [lw.MMC(), lw.DMLEig()], ids=repr)
@pytest.mark.parametrize("call", [2, 5, 9])
def test_an_interrupt_keeps_the_best(learner, call, monkeypatch):
    original, calls = DissimilarPairs.value_and_matrix_gradient, []

    def interrupted(self, F):
        calls.append(F)
        if len(calls) == call:
            raise KeyboardInterrupt
        return original(self, F)

    monkeypatch.setattr(DissimilarPairs, "value_and_matrix_gradient", interrupted)
    X, y = load_wine(return_X_y=True)
    learner = clone(learner).set_params(random_state=0, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="was interrupted after .* the best metric so far"):
        learner.fit(X / X.std(axis=0), y)
    assert learner.objective_ == max(learner.history_["objective"])
    assert np.isfinite(learner.components_).all()


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (lw.MMC(shrinkage=2), "shrinkage=2 is not allowed: MMC needs a number from 0 to 1"),
        (lw.MMC(diagonal="yes"), "diagonal='yes' is not allowed: MMC needs True or False"),
        (lw.MMC(tol=0), "tol=0 is not allowed: MMC needs a finite number above 0"),
        (lw.DMLEig(smoothing=0), "smoothing=0 is not allowed: DMLEig needs a finite number above"),
        (lw.DMLEig(n_pairs=1), "n_pairs=1 is not allowed"),
    ],
)
def test_errors_of_parameters(learner, message):
    with pytest.raises(ValueError, match=message):
        learner.fit(*load_iris(return_X_y=True))
