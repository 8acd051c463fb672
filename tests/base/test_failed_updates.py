"""A fit or update that fails or is interrupted leaves the model as it was, or unfitted."""

import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

import likewise as lw
from likewise.online._history import History

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.arange(40) % 2
PAIRS, SAME = [[0, 1], [1, 2], [0, 2]], [True, False, True]
HUGE = X * 1e200


@pytest.mark.parametrize("make", [lw.PAMetric, lw.POLA, lw.AROW], ids=lambda make: make.__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_refused_refit_keeps_the_model(make):
    model = make().fit(X, Y)
    expected = vars(model).copy()
    with pytest.raises(ValueError, match="can be learned from"):
        model.fit(HUGE[:, :2], Y)
    assert vars(model) == expected
    with pytest.raises(ValueError, match="can be learned from"):
        make().fit(HUGE, Y).predict(X)


@pytest.mark.parametrize("make", [lw.PAMetric, lw.POLA], ids=lambda make: make.__name__)
def test_a_refused_first_update_leaves_an_unfitted_model(make):
    model = make()
    parameters = vars(model).copy()
    for update in (
        lambda: model.partial_fit_pairs(HUGE, PAIRS, SAME),
        lambda: model.partial_fit_pairs(X, [[0, 99]], [True]),
        lambda: model.partial_fit(HUGE, Y),
        lambda: model.learn_pair(HUGE[0], HUGE[1], same=True),
        lambda: model.fit_pairs(HUGE, PAIRS, SAME),
        lambda: model.fit(HUGE, Y),
    ):
        with pytest.raises(ValueError, match=r"can be learned from|row number 99"):
            update()
        assert vars(model) == parameters
        with pytest.raises(NotFittedError):
            check_is_fitted(model)


def test_a_refused_first_update_of_a_classifier():
    model = lw.AROW()
    parameters = vars(model).copy()
    for update in (
        lambda: model.partial_fit(HUGE, Y),
        lambda: model.partial_fit(X, Y + 5),
        lambda: model.learn_one(HUGE[0], 1),
        lambda: model.learn_one(X[0], "a"),
    ):
        with pytest.raises(ValueError, match=r"can be learned from|classes"):
            update()
        assert vars(model) == parameters


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_the_conic_hull_of_equal_rows(loss):
    """M is 0, and the objective is that of the best constant for half of the pairs each."""
    equal, y = np.zeros((20, 2)), np.arange(20) % 2
    model = lw.ComposedMetric("pairs", loss, "conic").fit(equal, y)
    assert model.converged_
    assert not model.components_.any()
    per_pair = np.log(2) if loss == "logistic" else 1.0
    assert model.objective_ == pytest.approx(per_pair * model._n_constraints)


@pytest.mark.parametrize("make", [lw.PAMetric, lw.POLA], ids=lambda make: make.__name__)
def test_an_interrupt_keeps_whole_passes(make, monkeypatch):
    """The model is that of as many passes; without any, the interrupt is raised."""
    learn, calls = make._learn_pairs, []

    def interrupted(self, *args, **options):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return learn(self, *args, **options)

    monkeypatch.setattr(make, "_learn_pairs", interrupted)
    with pytest.warns(ConvergenceWarning, match="was interrupted after 3 of") as caught:
        model = make(max_iter=10, random_state=0).fit(X, Y)
    assert len(caught) == 1
    assert model.n_iter_ == 3
    monkeypatch.undo()
    with pytest.warns() if make is lw.POLA else monkeypatch.context():
        expected = make(max_iter=3, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.components_, expected.components_)
    monkeypatch.setattr(make, "_learn_pairs", interrupted)
    calls[:] = [1, 1, 1]
    with pytest.raises(KeyboardInterrupt):
        make().fit(X, Y)


def test_recording_every_event_takes_linear_time():
    def seconds(n_entries):
        history, begin = History(), time.process_time()
        for entry in range(n_entries):
            history = history.extended([(entry, 0.5, 3.0)])
        assert history.recorded(3)[:, 0].tolist() == list(range(n_entries))
        return time.process_time() - begin

    seconds(100)
    assert seconds(40_000) < 40 * min(seconds(4_000) for _ in range(3))


def test_a_history_is_not_changed_by_its_extension():
    first = History().extended([(1, 0.0, 1.0), (2, 0.5, 1.0)])
    before = first.recorded(3)
    second = first.extended([(3, 0.1, 2.0)])
    other = first.extended([(4, 0.2, 2.0)])
    np.testing.assert_array_equal(first.recorded(3), before)
    assert other.count == second.count == 3
