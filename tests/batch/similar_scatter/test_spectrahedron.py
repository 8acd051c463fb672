"""Maximisation at trace 1: maxima that are known, the certificate, and every way to end."""

import numpy as np
import pytest
from factor_problems import NearestTo, interrupt_everywhere, symmetric

from likewise.batch.similar_scatter.spectrahedron import maximise_on_spectrahedron


class LeastDistance(NearestTo):
    """Its maximum at trace 1 has T's eigenvalues projected on the shares."""

    def __init__(self, target, interrupted_at=None):
        super().__init__(target, -1, interrupted_at)


class Linear:
    """``⟨G, N⟩``, of which the maximum is the largest eigenvalue of G."""

    def __init__(self, gradient):
        self.gradient = gradient

    def value_and_matrix_gradient(self, F):
        return float(np.vdot(F.T @ F, self.gradient)), self.gradient


class Liar(Linear):
    """The value never changes, whatever the gradient promises."""

    def value_and_matrix_gradient(self, F):
        return 1.0, self.gradient


def nearest_of_trace_1(target):
    """Shift the eigenvalues, by bisection, till what is above 0 adds up to 1."""
    values, vectors = np.linalg.eigh(target)
    low, high = values[0] - 1, values[-1]
    for _ in range(100):
        shift = (low + high) / 2
        low, high = (shift, high) if np.maximum(values - shift, 0).sum() > 1 else (low, shift)
    return (vectors * np.maximum(values - shift, 0)) @ vectors.T


FLAT = np.diag([1.0, 0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("start", [np.eye(5), FLAT], ids=["full", "flat"])
@pytest.mark.parametrize("size", [0.1, 1.0])
def test_it_finds_the_nearest_matrix_of_trace_1(start, seed, size):
    """Inside and on the border, also where the start has lost directions."""
    target = size * symmetric(seed=seed)
    found = maximise_on_spectrahedron(LeastDistance(target), start, max_iter=500, tol=1e-6)
    assert found.status == "converged"
    assert np.linalg.norm(found.x) == pytest.approx(1, rel=1e-12)
    np.testing.assert_allclose(found.x.T @ found.x, nearest_of_trace_1(target), atol=1e-3)


def test_a_linear_function_ends_at_the_largest_eigenvalue():
    found = maximise_on_spectrahedron(Linear(symmetric()), np.eye(5), max_iter=500, tol=1e-6)
    assert found.value == pytest.approx(np.linalg.eigvalsh(symmetric())[-1], rel=1e-6)


@pytest.mark.parametrize("max_iter", [1, 2, 500])
def test_what_is_returned_belongs_together_and_the_gap_holds(max_iter):
    target = symmetric()
    found = maximise_on_spectrahedron(LeastDistance(target), 3 * FLAT, max_iter=max_iter, tol=1e-6)
    history = found.history["objective"]
    assert found.status == ("converged" if max_iter == 500 else "max_iter")
    assert found.n_iter == len(history) - 1 <= max_iter
    assert history[0] == LeastDistance(target).value_and_matrix_gradient(FLAT)[0]
    assert (np.diff(history) >= 0).all()
    value, gradient = LeastDistance(target).value_and_matrix_gradient(found.x)
    assert found.value == history[-1] == pytest.approx(value, rel=1e-12)
    most = -np.square(target - nearest_of_trace_1(target)).sum() / 2
    inner = np.vdot(gradient, found.x.T @ found.x)
    assert most - found.value <= found.gap * max(abs(found.value), abs(inner)) + 1e-12
    assert found.gap > 1e-6 or found.status == "converged"


def test_a_watcher_stops_it():
    seen = []

    def watcher(iteration):
        seen.append(iteration)
        return iteration.number == 3

    found = maximise_on_spectrahedron(
        LeastDistance(symmetric()), np.eye(5), max_iter=99, tol=1e-6, watcher=watcher
    )
    assert (found.status, found.n_iter) == ("interrupted", 3)
    assert [iteration.number for iteration in seen] == [1, 2, 3]
    assert [iteration.value for iteration in seen] == list(found.history["objective"][1:])
    assert all(np.linalg.norm(iteration.x) == pytest.approx(1) for iteration in seen)
    np.testing.assert_array_equal(found.x, seen[-1].x)


@pytest.mark.parametrize("start", [np.eye(5), FLAT], ids=["full", "flat"])
def test_an_interrupt_keeps_the_best_at_any_evaluation(start):
    for found in interrupt_everywhere(maximise_on_spectrahedron, start, tol=1e-6, sign=-1):
        assert np.isfinite(found.gap)


def test_an_interrupt_before_the_first_value_is_raised():
    problem = LeastDistance(np.eye(2), interrupted_at=1)
    with pytest.raises(KeyboardInterrupt):
        maximise_on_spectrahedron(problem, np.eye(2), max_iter=9, tol=1e-8)


def test_a_wrong_gradient_stalls():
    found = maximise_on_spectrahedron(Liar(np.diag([1.0, 2.0])), np.eye(2), max_iter=50, tol=1e-8)
    assert found.status == "stalled"
    assert found.gap == pytest.approx((2 - 1.5) / 1.5)


def test_nothing_to_gain_is_converged():
    found = maximise_on_spectrahedron(Linear(np.zeros((2, 2))), np.eye(2), max_iter=9, tol=1e-8)
    assert (found.status, found.value, found.gap) == ("converged", 0.0, 0.0)


@pytest.mark.parametrize(("value", "gradient"), [(np.nan, 1.0), (-np.inf, 1.0), (1.0, np.nan)])
def test_a_start_without_a_value_fails(value, gradient):
    class Nowhere:
        def value_and_matrix_gradient(self, F):
            return value, gradient * np.eye(2)

    found = maximise_on_spectrahedron(Nowhere(), np.eye(2), max_iter=50, tol=1e-8)
    assert found.status == "failed"
