"""Minimisation on the cone: a projection that is known, every way to end, and no point lost."""

import numpy as np
import pytest
from factor_problems import NearestTo, interrupt_everywhere, symmetric

from likewise.batch.mcml.psd_factor import minimise_on_psd


class Liar:
    """The value never changes, whatever the gradient promises."""

    def value_and_matrix_gradient(self, F):
        return 1.0, np.diag([-1.0, 1.0])


def without_negative(target):
    values, vectors = np.linalg.eigh(target)
    return (vectors * np.maximum(values, 0)) @ vectors.T


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    "start", [np.eye(5), np.diag([1.0, 0, 0, 0, 0]), np.zeros((5, 5))], ids=["full", "flat", "zero"]
)
def test_it_finds_the_nearest_matrix_of_the_cone(start, seed):
    """Also where the start has lost the directions that M needs."""
    target = symmetric(seed=seed)
    found = minimise_on_psd(NearestTo(target), start, max_iter=500, tol=1e-5)
    assert found.status == "converged"
    np.testing.assert_allclose(found.x.T @ found.x, without_negative(target), atol=1e-3)


@pytest.mark.parametrize("max_iter", [1, 3, 500])
def test_what_is_returned_belongs_together(max_iter):
    target, start = symmetric(), np.eye(5)
    found = minimise_on_psd(NearestTo(target), start, max_iter=max_iter, tol=1e-5)
    history = found.history["objective"]
    assert found.status == ("converged" if max_iter == 500 else "max_iter")
    assert found.n_iter == len(history) - 1 <= max_iter
    assert history[0] == NearestTo(target).value_and_matrix_gradient(start)[0]
    assert (np.diff(history) <= 0).all()
    value, gradient = NearestTo(target).value_and_matrix_gradient(found.x)
    assert found.value == history[-1] == pytest.approx(value, rel=1e-12)
    unit = np.abs(np.linalg.eigvalsh(start - target)).max()
    stationarity = np.linalg.norm(found.x @ gradient) / np.linalg.norm(found.x)
    expected = max(stationarity, -np.linalg.eigvalsh(gradient)[0]) / unit
    assert found.grad_norm == pytest.approx(expected, rel=1e-6, abs=1e-12)
    np.testing.assert_array_equal(start, np.eye(5))


def test_an_optimal_start_counts_as_one_iteration():
    found = minimise_on_psd(NearestTo(np.eye(2)), np.eye(2), max_iter=9, tol=1e-5)
    assert (found.status, found.n_iter, found.value) == ("converged", 1, 0.0)


def test_a_watcher_stops_it():
    seen = []

    def watcher(iteration):
        seen.append(iteration)
        return iteration.number == 3

    found = minimise_on_psd(
        NearestTo(symmetric()), np.eye(5), max_iter=99, tol=1e-5, watcher=watcher
    )
    assert (found.status, found.n_iter) == ("interrupted", 3)
    assert [iteration.number for iteration in seen] == [1, 2, 3]
    assert [iteration.value for iteration in seen] == list(found.history["objective"][1:])
    np.testing.assert_array_equal(found.x, seen[-1].x)


@pytest.mark.parametrize("start", [np.eye(5), np.diag([1.0, 0, 0, 0, 0])], ids=["full", "flat"])
def test_an_interrupt_keeps_the_best_at_any_evaluation(start):
    for found in interrupt_everywhere(minimise_on_psd, start, tol=1e-5, sign=1):
        assert np.isfinite(found.grad_norm)


def test_an_interrupt_before_the_first_value_is_raised():
    with pytest.raises(KeyboardInterrupt):
        minimise_on_psd(NearestTo(np.eye(2), interrupted_at=1), np.eye(2), max_iter=9, tol=1e-5)


def test_a_wrong_gradient_stalls():
    found = minimise_on_psd(Liar(), np.eye(2), max_iter=50, tol=1e-5)
    assert found.status == "stalled"
    assert found.grad_norm == pytest.approx(1)


@pytest.mark.parametrize(("value", "gradient"), [(np.nan, 1.0), (np.inf, 1.0), (1.0, np.nan)])
def test_a_start_without_a_value_fails(value, gradient):
    class Nowhere:
        def value_and_matrix_gradient(self, F):
            return value, gradient * np.eye(2)

    found = minimise_on_psd(Nowhere(), np.eye(2), max_iter=50, tol=1e-5)
    assert found.status == "failed"
    np.testing.assert_array_equal(found.x, np.eye(2))
