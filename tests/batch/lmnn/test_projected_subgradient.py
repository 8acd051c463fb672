"""Projected subgradient steps on a problem whose answer is known."""

import numpy as np
import pytest

from likewise.batch.lmnn.projected_subgradient import Bounds, projected_subgradient


class Corner:
    """``|x - 3| + 2 |y + 1|`` where neither is negative: the least is 2, at (3, 0)."""

    def __init__(self, flooded=lambda x: False):
        self.flooded = flooded

    def look(self, x):
        return None if self.flooded(x) else Bounds(self.value_and_slope(x)[0], 2.0)

    def value_and_slope(self, x):
        away = x - np.array([3.0, -1.0])
        return float(np.abs(away) @ [1, 2]), np.sign(away) * [1, 2]

    def project(self, x):
        return np.maximum(x, 0)


def test_converges_at_the_border():
    found = projected_subgradient(Corner(), np.array([9.0, 7.0]), max_iter=3000, tol=1e-3)
    assert found.status == "converged"
    np.testing.assert_allclose(found.x, [3, 0], atol=5e-3)
    assert found.value == found.history["objective"].min()
    assert found.gap <= 1e-3


def test_steps_run_out():
    found = projected_subgradient(Corner(), np.array([9.0, 7.0]), max_iter=5, tol=1e-9)
    assert found.status == "max_iter"
    assert found.n_iter == 5


def test_it_turns_back_from_a_flood():
    problem = Corner(flooded=lambda x: x[0] < 4)
    found = projected_subgradient(problem, np.array([9.0, 7.0]), max_iter=2000, tol=1e-9)
    assert found.status in ("max_iter", "stalled")
    assert found.x[0] >= 4


def test_a_start_that_floods_is_a_failure():
    problem = Corner(flooded=lambda x: True)
    found = projected_subgradient(problem, np.array([9.0, 7.0]), max_iter=9, tol=1e-9)
    assert found.status == "failed"
    assert np.isnan(found.value)


def test_an_interrupt_before_the_first_look_is_over_leaves_the_start():
    class Impatient(Corner):
        def look(self, x):
            raise KeyboardInterrupt

    found = projected_subgradient(Impatient(), np.array([9.0, 7.0]), max_iter=9, tol=0.1)
    assert found.status == "interrupted"
    assert found.x.tolist() == [9, 7]
    assert np.isnan(found.value)
    assert found.gap is None


@pytest.mark.parametrize("looks", [1, 3])
def test_a_watcher_may_stop(looks):
    seen = []

    def watcher(iteration):
        seen.append(iteration.number)
        return len(seen) == looks

    found = projected_subgradient(
        Corner(), np.array([9.0, 7.0]), max_iter=500, tol=1e-9, watcher=watcher
    )
    assert found.status == "interrupted"
    assert found.n_iter == 10 * looks
