"""Newton on the simplex: known maxima, its certificate, and every way to end."""

import numpy as np
import pytest

from likewise.batch.similar_scatter.simplex import maximise_on_simplex


class Bowl:
    """``-½ ‖w - target‖²``, of which the maximum is the projection of the target."""

    def __init__(self, target):
        self.target = np.asarray(target)

    def value_gradient_and_curvature(self, weights):
        off = weights - self.target
        return -off @ off / 2, -off, np.eye(len(off))


class Linear:
    def __init__(self, gradient):
        self.gradient = np.asarray(gradient)

    def value_gradient_and_curvature(self, weights):
        return float(self.gradient @ weights), self.gradient, np.zeros((len(weights), len(weights)))


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),
        ([0.7, 0.8, -5.0], [0.45, 0.55, 0.0]),
        ([9.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
        ([1e6, 1e6, 0.0], [0.5, 0.5, 0.0]),
    ],
)
def test_projections_onto_the_simplex(target, expected):
    found = maximise_on_simplex(Bowl(target), np.ones(3), max_iter=100, tol=1e-10)
    assert found.status == "converged"
    np.testing.assert_allclose(found.x, expected, atol=1e-4)
    assert found.x.sum() == pytest.approx(1, abs=1e-12)
    assert found.history["objective"][-1] == found.value
    assert found.n_iter == len(found.history["objective"]) - 1 < 40


def test_a_linear_function_ends_in_a_corner():
    found = maximise_on_simplex(Linear([1.0, 3.0, 2.0]), np.ones(3), max_iter=100, tol=1e-9)
    np.testing.assert_allclose(found.x, [0, 1, 0], atol=1e-8)
    assert 3 - found.value <= found.gap * 3


@pytest.mark.parametrize("max_iter", [1, 3])
def test_max_iter_and_its_gap(max_iter):
    found = maximise_on_simplex(Linear([1.0, 3.0]), np.ones(2), max_iter=max_iter, tol=1e-9)
    assert found.status == "max_iter"
    assert found.n_iter == max_iter
    assert 3 - found.value == pytest.approx(found.gap * max(found.value, 1), rel=1e-9)


def test_a_single_weight_is_1():
    found = maximise_on_simplex(Linear([2.0]), np.ones(1), max_iter=10, tol=1e-9)
    assert (found.status, found.n_iter, found.gap) == ("converged", 1, 0)


def test_a_watcher_and_an_interrupt_stop_it():
    def stop(iteration):
        return iteration.number == 2

    def interrupt(iteration):
        raise KeyboardInterrupt

    for watcher, n_iter in ((stop, 2), (interrupt, 1)):
        found = maximise_on_simplex(
            Linear([1.0, 3.0]), np.ones(2), max_iter=50, tol=1e-9, watcher=watcher
        )
        assert (found.status, found.n_iter) == ("interrupted", n_iter)
        assert found.value > 2


def test_a_start_without_a_value_fails():
    found = maximise_on_simplex(Linear([1.0, np.nan]), np.ones(2), max_iter=50, tol=1e-9)
    assert found.status == "failed"


def test_a_function_that_never_rises_stalls():
    class Liar(Linear):
        calls = 0

        def value_gradient_and_curvature(self, weights):
            self.calls += 1
            _, gradient, curvature = super().value_gradient_and_curvature(weights)
            return 10.0 - self.calls, gradient, curvature

    found = maximise_on_simplex(Liar([1.0, 3.0]), np.ones(2), max_iter=50, tol=1e-9)
    assert found.status == "stalled"
    np.testing.assert_array_equal(found.x, [0.5, 0.5])
