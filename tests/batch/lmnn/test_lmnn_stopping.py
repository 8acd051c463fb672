"""How an LMNN fit ends: too many impostors, interrupts, an objective of 0."""

import warnings

import numpy as np
import pytest
from lmnn_oracles import by_the_formula, loop_objective, overlapping, targets_of
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

import likewise as lw
from likewise._loops.distances import types
from likewise.batch.lmnn import impostors
from likewise.batch.lmnn.impostors import LabelledImpostorSearch
from likewise.batch.lmnn.matrix_problem import LMNNMatrixProblem
from likewise.batch.lmnn.multi_metric_objective import MultiMetricLargeMargin
from likewise.batch.lmnn.problem import LMNNProblem
from likewise.objectives import GroupedPairs, LargeMargin


@pytest.fixture
def few_pairs(monkeypatch):
    """Lower the limit on the number of impostor pairs."""

    def allow(n_pairs):
        monkeypatch.setattr(impostors, "_MIN_LIMIT", n_pairs)
        monkeypatch.setattr(impostors, "_PAIRS_PER_ROW", 0)

    return allow


def test_steps_to_too_many_impostors_are_reduced(few_pairs, monkeypatch):
    """The search stops beyond the limit, and the solver backtracks."""
    X, y = overlapping(300, 3, seed=8)
    expected = lw.LMNN(tol=1e-3).fit(X, y)
    few_pairs(2000)
    overflows = []
    evaluate = LMNNProblem.evaluate_exactly

    def counted(self, L, smoothing):
        found = evaluate(self, L, smoothing)
        overflows.append(found is None)
        return found

    monkeypatch.setattr(LMNNProblem, "evaluate_exactly", counted)
    model = lw.LMNN(tol=1e-3).fit(X, y)
    assert any(overflows)
    assert model.objective_ == pytest.approx(expected.objective_, rel=2e-3)


def problem_of(X, y):
    """Return the LMNN problem with one target per row."""
    index = np.ravel(targets_of(X, y, 1))
    targets = GroupedPairs(np.arange(len(X)), index, np.arange(len(X) + 1))
    search = LabelledImpostorSearch(y, targets, np.ones(len(X), dtype=bool), 1.0, None)
    objective = LargeMargin(X, targets, GroupedPairs.empty(len(X)), np.ones(len(X)))
    return LMNNProblem(objective, search)


def test_the_start_is_searched_without_limit(few_pairs):
    few_pairs(2000)
    X, y = overlapping(300, 3, seed=8)
    problem = problem_of(X, y)
    found = problem.evaluate_exactly(np.zeros((3, 3)), 0.1)
    assert found is not None
    assert len(problem.objective.impostors) == 300 * 200


def test_an_overflow_is_searched_once_for_all_smoothings(few_pairs, monkeypatch):
    few_pairs(2000)
    X, y = overlapping(300, 3, seed=8)
    problem = problem_of(X, y)
    matrices = LMNNMatrixProblem(problem)
    assert matrices.evaluate_exactly(100 * np.eye(3)) is not None
    searches = []
    search = LabelledImpostorSearch._search

    def counted(self, Z, sqradius):
        searches.append(sqradius)
        return search(self, Z, sqradius)

    monkeypatch.setattr(LabelledImpostorSearch, "_search", counted)
    assert matrices.evaluate_exactly(np.zeros((3, 3))) is None
    assert len(searches) == 2  # with some slack, and with none


def duplicated(n_samples=40):
    """Return data in which every row has a duplicate in another class."""
    X, y = overlapping(n_samples)
    return np.vstack([X, X]), np.concatenate([y, (y + 1) % 3])


@pytest.mark.parametrize(
    "learner",
    [
        lw.LMNN(tol=1e-3),
        lw.LMNN(tol=1e-3, n_passes=2),
        lw.LMNN(solver="projected", max_iter=20),
        lw.MultiMetricLMNN(tol=1e-3),
    ],
    ids=["lbfgs", "two passes", "projected", "several metrics"],
)
def test_duplicates_in_different_classes_do_not_count_as_too_many(learner, few_pairs):
    X, y = duplicated()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        expected = learner.fit(X, y).objective_
        few_pairs(60)  # at no multiple are there fewer than 80
        assert learner.fit(X, y).objective_ == pytest.approx(expected, rel=2e-3)


def test_the_objective_of_duplicates_in_different_classes(few_pairs):
    """Two distinct points, each with 60 rows of both classes."""
    few_pairs(1000)
    X, y = np.repeat([[0.0, 0.0], [1.0, 0.5]], 120, axis=0), np.arange(240) % 2
    model = lw.LMNN(1).fit(X, y)
    assert model.converged_
    assert model.objective_ == pytest.approx(0.5 * 240 * 60, rel=1e-9)


def test_more_pairs_than_fit_in_memory(few_pairs, monkeypatch):
    few_pairs(60)
    monkeypatch.setattr(types, "allowed_memory", lambda: 70 * types.BYTES_PER_PAIR)
    monkeypatch.setattr(types, "UNCHECKED_BYTES", 0)
    with pytest.raises(MemoryError, match=r"pairs of rows of different classes .*; learn from few"):
        lw.LMNN().fit(*duplicated())


class Interrupts:
    """Raise KeyboardInterrupt at the given exact evaluations, and count all of them."""

    def __init__(self, monkeypatch, *at, of=LargeMargin):
        self.evaluations = 0
        evaluate = LMNNProblem.evaluate_exactly

        def interrupted(problem, L, smoothing):
            if type(problem.objective) is of:
                self.evaluations += 1
                if self.evaluations in at:
                    raise KeyboardInterrupt
            return evaluate(problem, L, smoothing)

        monkeypatch.setattr(LMNNProblem, "evaluate_exactly", interrupted)


@pytest.mark.parametrize("solver", ["lbfgs", "projected"])
@pytest.mark.parametrize("n_passes", [1, 3])
def test_an_interrupt_keeps_the_best_metric(monkeypatch, solver, n_passes):
    X, y = overlapping(200, 4, seed=9)
    at = 4 if solver == "lbfgs" else 13  # which evaluates once for each of six smoothings
    interrupts = Interrupts(monkeypatch, at)
    settings = {"tol": 1e-6, "scale": 1.0, "solver": solver, "n_passes": n_passes}
    with pytest.warns(ConvergenceWarning, match="was interrupted after .* best metric so far"):
        model = lw.LMNN(**settings).fit(X, y)
    evaluations_of_a_point = 1 if solver == "lbfgs" else 6
    assert at <= interrupts.evaluations <= at + evaluations_of_a_point  # of the last point
    assert not model.converged_
    assert model.objective_ == model.history_["objective"].min()
    targets = targets_of(X, y, 3)
    expected = by_the_formula(X, y, targets, model.mahalanobis_matrix())
    assert model.objective_ == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("solver", ["lbfgs", "projected"])
@pytest.mark.parametrize("at", [(1,), (1, 2)], ids=["once", "twice"])
def test_an_interrupt_of_the_first_evaluation_keeps_the_initial_metric(monkeypatch, solver, at):
    X, y = overlapping(60, 3)
    Interrupts(monkeypatch, *at)
    with pytest.warns(ConvergenceWarning, match="the best metric so far is kept"):
        model = lw.LMNN(solver=solver, n_passes=2).fit(X, y)
    assert not model.converged_
    M = model.mahalanobis_matrix()
    np.testing.assert_allclose(M, M[0, 0] * np.eye(3), atol=1e-9 * M[0, 0])
    if len(at) == 1:
        expected = by_the_formula(X, y, targets_of(X, y, 3), M)
        assert model.objective_ == pytest.approx(expected, rel=1e-8)
        assert 0 < model.duality_gap_ < 1
    else:
        assert np.isnan(model.objective_)
        assert model.duality_gap_ == 1  # no lower bound


@pytest.mark.parametrize("at", range(5, 30, 3))
def test_an_interrupt_keeps_the_steps_since_the_last_exact_evaluation(monkeypatch, at):
    """They were taken on a working set: the last point is evaluated over all impostors."""
    X, y = overlapping(200, 4, seed=9)
    values, evaluate = [], LargeMargin.value_and_gradient

    def interrupted(objective, L):
        if len(values) == at:
            values.append(None)
            raise KeyboardInterrupt
        values.append(evaluate(objective, L))
        return values[-1]

    monkeypatch.setattr(LargeMargin, "value_and_gradient", interrupted)
    with pytest.warns(ConvergenceWarning, match="was interrupted after .* best metric so far"):
        model = lw.LMNN(tol=1e-6, scale=1.0).fit(X, y)
    assert model.n_iter_ == model.history_["n_iter"][-1]
    expected = by_the_formula(X, y, targets_of(X, y, 3), model.mahalanobis_matrix())
    assert model.objective_ == pytest.approx(expected, rel=1e-8)
    assert model.objective_ == model.history_["objective"].min()
    assert model.history_["objective"].argmin() > 0


def test_a_callback_stops_all_passes(monkeypatch):
    received = []

    def call_back(self, fitted):
        received.append(fitted())
        return len(received) == 2

    monkeypatch.setattr(lw.LMNN, "_call_back", call_back)
    with pytest.warns(ConvergenceWarning, match="was interrupted"):
        model = lw.LMNN(tol=1e-6, n_passes=3).fit(*overlapping(200, 4, seed=9))
    assert len(received) == 2
    assert not model.converged_


def value_of(model, X, y):
    """Return the multi-metric objective of a model."""
    return loop_objective(X, y, model.clusters_, model.components_, 3, 0.5, 1.0)


def interrupted(X, y):
    with pytest.warns(ConvergenceWarning, match="was interrupted") as caught:
        model = lw.MultiMetricLMNN(scale=1.0, tol=1e-6).fit(X, y)
    assert len(caught) == 1
    assert not model.converged_
    assert 0 < model.duality_gap_ <= 1
    assert set(model.predict(X)) == set(y)
    return model


def test_an_interrupt_of_the_single_metric_ends_the_multi_metric_fit(monkeypatch):
    X, y = overlapping(60, 3, seed=9)
    single = Interrupts(monkeypatch, 3)
    model = interrupted(X, y)
    assert single.evaluations == 4
    for L in model.components_:
        np.testing.assert_array_equal(L, model.components_[0])
    assert model.objective_ == model.history_["objective"].min()
    assert model.objective_ == pytest.approx(value_of(model, X, y), rel=1e-8)
    assert not model.history_["lower_bound"].any()


@pytest.mark.parametrize("at", [(1,), (1, 2), (3,)])
def test_an_interrupt_of_the_joint_fit_keeps_the_best_metrics(monkeypatch, at):
    X, y = overlapping(60, 3, seed=9)
    joint = Interrupts(monkeypatch, *at, of=MultiMetricLargeMargin)
    model = interrupted(X, y)
    assert joint.evaluations == (2 if 1 in at else 4)
    if at == (1, 2):  # only the single metric is known
        assert np.isnan(model.objective_)
        for L in model.components_:
            np.testing.assert_array_equal(L, model.components_[0])
    else:
        assert model.objective_ == pytest.approx(value_of(model, X, y), rel=1e-8)


def test_an_objective_of_zero_is_converged():
    """One feature is the label: the optimum is 0, and there is no useful lower bound."""
    random = np.random.default_rng(0)
    y = np.arange(60) % 2
    model = lw.LMNN(1).fit(np.column_stack([random.normal(size=60), y]), y)
    assert model.converged_
    assert model.objective_ <= 1e-12 * model.history_["objective"][0]
    assert model.duality_gap_ == 1


@pytest.mark.parametrize("far", [1e20, 1e100])
def test_to_bring_one_far_row_nearer_is_not_convergence(far):
    """The row is nearly all of the first objective, of which the rest is less than 1e-12."""
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X[5, 3] = far
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        model = lw.LMNN(max_iter=100).fit(X, y)
    assert model.duality_gap_ > model.tol
    assert not model.converged_
