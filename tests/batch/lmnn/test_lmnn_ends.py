"""How LMNN ends where something is in its way: floods of impostors, interrupts, nothing to gain."""

import warnings

import numpy as np
import pytest
from lmnn_oracles import by_the_formula, loop_objective, overlapping
from sklearn.exceptions import ConvergenceWarning

import likewise as lw
from likewise._loops import common
from likewise.batch.lmnn import impostors
from likewise.batch.lmnn.impostors import ImpostorsByLabel
from likewise.batch.lmnn.matrix_problem import LMNNMatrixProblem
from likewise.batch.lmnn.multi_metric_objective import MultiMetricLargeMargin
from likewise.batch.lmnn.problem import LMNNProblem
from likewise.constraints import target_neighbors
from likewise.objectives import GroupedPairs, LargeMargin


@pytest.fixture
def few_pairs(monkeypatch):
    """Make far fewer pairs a flood."""

    def allow(n_pairs):
        monkeypatch.setattr(impostors, "_LEAST_LIMIT", n_pairs)
        monkeypatch.setattr(impostors, "_PAIRS_PER_ROW", 0)

    return allow


def test_a_flood_of_impostors_is_refused(few_pairs, monkeypatch):
    """Where everything is within the margin the search stops early; learning goes another way."""
    X, y = overlapping(300, 3, seed=8)
    expected = lw.LMNN(tol=1e-3).fit(X, y)
    few_pairs(2000)
    floods = []
    look = LMNNProblem.look

    def counted(self, L, width):
        found = look(self, L, width)
        floods.append(found is None)
        return found

    monkeypatch.setattr(LMNNProblem, "look", counted)
    model = lw.LMNN(tol=1e-3).fit(X, y)
    assert any(floods)
    assert model.objective_ == pytest.approx(expected.objective_, rel=2e-3)


def problem_of(X, y):
    """Return LMNN's problem with one target a row."""
    targets = target_neighbors(X, y, 1).ravel()
    near = GroupedPairs(np.arange(len(X)), targets, np.arange(len(X) + 1))
    find = ImpostorsByLabel(y, near, np.ones(len(X), dtype=bool), 1.0, None)
    return LMNNProblem(LargeMargin(X, near, GroupedPairs.none(len(X)), np.ones(len(X))), find)


def test_the_start_is_searched_whatever_it_takes(few_pairs):
    few_pairs(2000)
    X, y = overlapping(300, 3, seed=8)
    problem = problem_of(X, y)
    everything = problem.look(np.zeros((3, 3)), 0.1)
    assert everything is not None
    assert len(problem.objective.far) == 300 * 200


def test_a_flood_is_searched_once_for_all_widths(few_pairs, monkeypatch):
    few_pairs(2000)
    X, y = overlapping(300, 3, seed=8)
    problem = problem_of(X, y)
    matrices = LMNNMatrixProblem(problem)
    assert matrices.look(100 * np.eye(3)) is not None
    searches = []
    search = ImpostorsByLabel._search

    def counted(self, Z, radius2):
        searches.append(radius2)
        return search(self, Z, radius2)

    monkeypatch.setattr(ImpostorsByLabel, "_search", counted)
    assert matrices.look(np.zeros((3, 3))) is None
    assert len(searches) == 2  # with some slack, and with none


def twice(n_rows=40):
    """Return rows that all have an equal one of another class."""
    X, y = overlapping(n_rows)
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
def test_equal_rows_of_different_classes_are_no_flood(learner, few_pairs):
    X, y = twice()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        expected = learner.fit(X, y).objective_
        few_pairs(60)  # at no multiple are there fewer than 80
        assert learner.fit(X, y).objective_ == pytest.approx(expected, rel=2e-3)


def test_what_equal_rows_of_different_classes_cost(few_pairs):
    """Two points, each with 60 rows of both classes, which nothing can tell apart."""
    few_pairs(1000)
    X, y = np.repeat([[0.0, 0.0], [1.0, 0.5]], 120, axis=0), np.arange(240) % 2
    model = lw.LMNN(1).fit(X, y)
    assert model.converged_
    assert model.objective_ == pytest.approx(0.5 * 240 * 60, rel=1e-9)


def test_more_pairs_than_fit_in_memory(few_pairs, monkeypatch):
    few_pairs(60)
    monkeypatch.setattr(common, "free_memory", lambda: 70 * common.BYTES_PER_PAIR)
    monkeypatch.setattr(common, "UNCHECKED_BYTES", 0)
    with pytest.raises(MemoryError, match=r"pairs of rows of different classes .*; learn from few"):
        lw.LMNN().fit(*twice())


class Interrupts:
    """Raise KeyboardInterrupt at a look, and count on."""

    def __init__(self, monkeypatch, at, of=LargeMargin):
        self.looks = 0
        look = LMNNProblem.look

        def impatient(problem, L, width):
            if type(problem.objective) is of:
                self.looks += 1
                if self.looks == at:
                    raise KeyboardInterrupt
            return look(problem, L, width)

        monkeypatch.setattr(LMNNProblem, "look", impatient)


@pytest.mark.parametrize("solver", ["lbfgs", "projected"])
@pytest.mark.parametrize("n_passes", [1, 3])
def test_an_interrupt_keeps_the_best(monkeypatch, solver, n_passes):
    X, y = overlapping(200, 4, seed=9)
    at = 4 if solver == "lbfgs" else 13  # which looks once for each of six widths
    interrupts = Interrupts(monkeypatch, at)
    settings = {"tol": 1e-6, "scale": 1.0, "solver": solver, "n_passes": n_passes}
    with pytest.warns(ConvergenceWarning, match="was interrupted after .* best metric so far"):
        model = lw.LMNN(**settings).fit(X, y)
    assert interrupts.looks == at
    assert not model.converged_
    assert model.objective_ == model.history_["objective"].min()
    targets = target_neighbors(X, y, 3)
    expected = by_the_formula(X, y, targets, model.mahalanobis_matrix())
    assert model.objective_ == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("solver", ["lbfgs", "projected"])
def test_an_interrupt_before_anything_is_known_keeps_the_start(monkeypatch, solver):
    X, y = overlapping(60, 3)
    Interrupts(monkeypatch, 1)
    with pytest.warns(ConvergenceWarning, match=r"the best metric so far is kept\.$"):
        model = lw.LMNN(solver=solver, n_passes=2).fit(X, y)
    assert not model.converged_
    assert np.isnan(model.objective_)
    assert model.duality_gap_ == 1  # nothing is proved
    M = model.mahalanobis_matrix()
    np.testing.assert_allclose(M, M[0, 0] * np.eye(3), atol=1e-9 * M[0, 0])


def test_a_callback_stops_all_passes(monkeypatch):
    told = []

    def call_back(self, fitted):
        told.append(fitted())
        return len(told) == 2

    monkeypatch.setattr(lw.LMNN, "_call_back", call_back)
    with pytest.warns(ConvergenceWarning, match="was interrupted"):
        model = lw.LMNN(tol=1e-6, n_passes=3).fit(*overlapping(200, 4, seed=9))
    assert len(told) == 2
    assert not model.converged_


def value_of(model, X, y):
    """Return the objective of several metrics."""
    return loop_objective(X, y, model.clusters_, model.components_, 3, 0.5, 1.0)


def interrupted(X, y):
    with pytest.warns(ConvergenceWarning, match="was interrupted") as caught:
        model = lw.MultiMetricLMNN(scale=1.0, tol=1e-6).fit(X, y)
    assert len(caught) == 1
    assert not model.converged_
    assert 0 < model.duality_gap_ <= 1
    assert set(model.predict(X)) == set(y)
    return model


def test_an_interrupt_of_the_single_metric_ends_the_fit_of_several(monkeypatch):
    X, y = overlapping(60, 3, seed=9)
    single = Interrupts(monkeypatch, 3)
    model = interrupted(X, y)
    assert single.looks == 3
    for L in model.components_:
        np.testing.assert_array_equal(L, model.components_[0])
    assert model.objective_ == model.history_["objective"].min()
    assert model.objective_ == pytest.approx(value_of(model, X, y), rel=1e-8)
    assert not model.history_["lower_bound"].any()


@pytest.mark.parametrize("at", [1, 3])
def test_an_interrupt_of_several_metrics_keeps_the_best(monkeypatch, at):
    X, y = overlapping(60, 3, seed=9)
    together = Interrupts(monkeypatch, at, of=MultiMetricLargeMargin)
    model = interrupted(X, y)
    assert together.looks == at
    if at == 1:  # the single metric is all there is
        assert np.isnan(model.objective_)
        for L in model.components_:
            np.testing.assert_array_equal(L, model.components_[0])
    else:
        assert model.objective_ == pytest.approx(value_of(model, X, y), rel=1e-8)


def test_an_objective_of_nothing_is_convergence():
    """A feature that is the label: the optimum is 0, of which no certificate can speak."""
    random = np.random.default_rng(0)
    y = np.arange(60) % 2
    model = lw.LMNN(1).fit(np.column_stack([random.normal(size=60), y]), y)
    assert model.converged_
    assert model.objective_ <= 1e-12 * model.history_["objective"][0]
    assert model.duality_gap_ == 1
