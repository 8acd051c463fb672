"""Adam: it finds what is known, follows its seed, and says how it ended."""

import numpy as np
import pytest

from likewise.solvers import adam


class MeanOfRows:
    """``Σ ‖x - row‖²``, whose minimum is the mean row."""

    def __init__(self, rows):
        self.rows = rows
        self.n_rows = len(rows)
        self.seen = []

    def batch_value_and_gradient(self, x, batch):
        self.seen.append(batch)
        difference = x - self.rows[batch]
        times = self.n_rows / len(batch)
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


def test_every_pass_sees_every_row_once(problem):
    adam(problem, np.ones(3), **options(max_iter=2, tol=-1.0))
    seen = np.concatenate(problem.seen)
    np.testing.assert_array_equal(np.bincount(seen), np.full(50, 2))
    assert {len(batch) for batch in problem.seen} <= {7, 8}


def test_it_converges_when_a_pass_gains_nothing(problem):
    found = adam(problem, problem.rows.mean(axis=0), **options(tol=0.5))
    assert found.status == "converged"
    assert found.n_iter < 10


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


def test_no_finite_start_is_a_failure(problem):
    assert adam(problem, np.full(3, np.nan), **options()).status == "failed"
