"""Adam: known minima, reproducibility, and every status."""

import numpy as np
import pytest

from likewise.solvers import adam


class MeanOfRows:
    """``Σ ‖x - row‖²``, whose minimum is the mean row."""

    def __init__(self, rows):
        self.rows = rows
        self.n_samples = len(rows)
        self.seen = []

    def batch_value_and_gradient(self, x, batch):
        self.seen.append(batch)
        difference = x - self.rows[batch]
        times = self.n_samples / len(batch)
        return times * float(np.square(difference).sum()), times * 2 * difference.sum(axis=0)


def options(**changes):
    return {
        "max_iter": 100,
        "tol": 0.0,
        "batch_size": 7,
        "learning_rate": 0.1,
        "random": np.random.RandomState(0),
    } | changes


@pytest.fixture
def problem():
    return MeanOfRows(np.random.default_rng(0).normal(size=(50, 3)) * 0.1 + 2)


def test_it_finds_the_minimum(problem):
    found = adam(problem, np.ones(3), **options(tol=-1.0))
    assert found.status == "max_iter"
    np.testing.assert_allclose(found.x, problem.rows.mean(axis=0), atol=0.01)
    assert len(found.history["objective"]) == found.n_iter == 100


def test_every_epoch_uses_every_sample_once(problem):
    adam(problem, np.ones(3), **options(max_iter=2, tol=-1.0))
    seen = np.concatenate(problem.seen)
    np.testing.assert_array_equal(np.bincount(seen), np.full(50, 2))
    assert {len(batch) for batch in problem.seen} <= {7, 8}


def test_it_converges_when_an_epoch_gains_nothing(problem):
    found = adam(problem, problem.rows.mean(axis=0), **options(tol=0.5))
    assert found.status == "converged"
    assert found.n_iter < 10


def test_an_epoch_that_raises_the_value_has_not_converged():
    class Rising:
        n_samples, calls = 20, 0

        def batch_value_and_gradient(self, x, batch):
            self.calls += 1
            return float(self.calls), np.ones(3)

    found = adam(Rising(), np.ones(3), **options(max_iter=4, tol=1e-6))
    assert (found.status, found.n_iter) == ("max_iter", 4)


def test_the_seed_decides(problem):
    first, second = (adam(problem, np.ones(3), **options(max_iter=3)).x for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_watcher_stops_it(problem):
    found = adam(problem, np.ones(3), watcher=lambda step: step.number == 2, **options(tol=-1.0))
    assert (found.status, found.n_iter) == ("interrupted", 2)


def test_an_interrupt_keeps_the_point(problem, monkeypatch):
    plain = problem.batch_value_and_gradient

    def interrupted(x, batch):
        if len(problem.seen) == 10:
            raise KeyboardInterrupt
        return plain(x, batch)

    monkeypatch.setattr(problem, "batch_value_and_gradient", interrupted)
    found = adam(problem, np.ones(3), **options(tol=-1.0))
    assert found.status == "interrupted"
    assert (found.x > 1.2).all()
    assert found.n_iter == len(found.history["objective"]) == 2  # 7 batches a pass


@pytest.mark.parametrize("call", [2, 5])
def test_an_interrupt_in_the_first_epoch_keeps_the_point_and_its_value(problem, call):
    seen = []

    class Interrupted:
        n_samples = problem.n_samples

        def batch_value_and_gradient(self, x, batch):
            if len(seen) == call - 1:
                raise KeyboardInterrupt
            value, gradient = problem.batch_value_and_gradient(x, batch)
            seen.append(value)
            return value, gradient

    found = adam(Interrupted(), np.ones(3), **options(tol=-1.0))
    assert (found.status, found.n_iter) == ("interrupted", 1)
    assert found.value == found.history["objective"][-1] == pytest.approx(np.mean(seen))
    assert (found.x > 1).all()


def test_an_interrupt_in_the_watcher_counts_the_epoch_once(problem):
    def interrupt(step):
        raise KeyboardInterrupt

    found = adam(problem, np.ones(3), watcher=interrupt, **options(tol=-1.0))
    assert (found.status, found.n_iter) == ("interrupted", 1)


def test_an_interrupt_before_the_first_step_is_raised(problem, monkeypatch):
    def interrupt(x, batch):
        raise KeyboardInterrupt

    monkeypatch.setattr(problem, "batch_value_and_gradient", interrupt)
    with pytest.raises(KeyboardInterrupt):
        adam(problem, np.ones(3), **options())


@pytest.mark.parametrize("call", [4, 9])
def test_a_value_that_is_nan_keeps_the_previous_point(problem, monkeypatch, call):
    original, evaluated = problem.batch_value_and_gradient, []

    def ending(x, batch):
        value, gradient = original(x, batch)
        evaluated.append((x, value))
        return (np.nan if len(evaluated) == call else value), gradient

    monkeypatch.setattr(problem, "batch_value_and_gradient", ending)
    found = adam(problem, np.ones(3), **options(tol=-1.0))
    assert found.status == "stalled"
    np.testing.assert_array_equal(found.x, evaluated[-2][0])
    assert found.value == evaluated[-2][1]


def test_no_finite_start_is_a_failure(problem):
    assert adam(problem, np.full(3, np.nan), **options()).status == "failed"
