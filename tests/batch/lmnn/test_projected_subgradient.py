"""The projected subgradient method on a problem with a known solution."""

import numpy as np
import pytest

from likewise.batch.lmnn.projected_subgradient import ValueAndBound, projected_subgradient


class Corner:
    """``|x - 3| + 2 |y + 1|`` for x, y ≥ 0: the minimum is 2, at (3, 0)."""

    def __init__(self, overflows=lambda x: False):
        self.overflows = overflows

    def evaluate_exactly(self, x):
        return None if self.overflows(x) else ValueAndBound(self.value_and_subgradient(x)[0], 2.0)

    def value_and_subgradient(self, x):
        difference = x - np.array([3.0, -1.0])
        return float(np.abs(difference) @ [1, 2]), np.sign(difference) * [1, 2]

    def project(self, x):
        return np.maximum(x, 0)


def test_converges_on_the_boundary():
    found = projected_subgradient(Corner(), np.array([9.0, 7.0]), max_iter=3000, tol=1e-3)
    assert found.status == "converged"
    np.testing.assert_allclose(found.x, [3, 0], atol=5e-3)
    assert found.value == found.history["objective"].min()
    assert found.gap <= 1e-3


def test_max_iter():
    found = projected_subgradient(Corner(), np.array([9.0, 7.0]), max_iter=5, tol=1e-9)
    assert found.status == "max_iter"
    assert found.n_iter == 5


def test_it_backtracks_from_an_overflow():
    problem = Corner(overflows=lambda x: x[0] < 4)
    found = projected_subgradient(problem, np.array([9.0, 7.0]), max_iter=2000, tol=1e-9)
    assert found.status in ("max_iter", "stalled")
    assert found.x[0] >= 4


def test_a_start_that_overflows_fails():
    problem = Corner(overflows=lambda x: True)
    found = projected_subgradient(problem, np.array([9.0, 7.0]), max_iter=9, tol=1e-9)
    assert found.status == "failed"
    assert np.isnan(found.value)


def test_an_interrupt_during_the_first_evaluation_returns_the_start():
    class Interrupted(Corner):
        def evaluate_exactly(self, x):
            raise KeyboardInterrupt

    found = projected_subgradient(Interrupted(), np.array([9.0, 7.0]), max_iter=9, tol=0.1)
    assert found.status == "interrupted"
    assert found.x.tolist() == [9, 7]
    assert np.isnan(found.value)
    assert found.gap is None


@pytest.mark.parametrize("n_evaluations", [1, 3])
def test_a_watcher_can_stop(n_evaluations):
    seen = []

    def watcher(iteration):
        seen.append(iteration.number)
        return len(seen) == n_evaluations

    found = projected_subgradient(
        Corner(), np.array([9.0, 7.0]), max_iter=500, tol=1e-9, watcher=watcher
    )
    assert found.status == "interrupted"
    assert found.n_iter == 10 * n_evaluations
