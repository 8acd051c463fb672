"""Test problems for the solvers in a factor F of FᵀF: one minimises, the other maximises."""

import numpy as np
import pytest


class NearestTo:
    """``sign · ½ ‖FᵀF - T‖²``, which counts its calls and may be interrupted at one of them."""

    def __init__(self, target, sign=1, interrupted_at=None):
        self.target, self.sign = target, sign
        self.interrupted_at, self.calls = interrupted_at, 0

    def value_and_matrix_gradient(self, F):
        self.calls += 1
        if self.calls == self.interrupted_at:
            raise KeyboardInterrupt
        difference = F.T @ F - self.target
        return self.sign * float(np.square(difference).sum() / 2), self.sign * difference


def symmetric(n=5, seed=0):
    square = np.random.default_rng(seed).normal(size=(n, n))
    return square + square.T


def interrupt_everywhere(solver, start, tol, sign):
    """Interrupt each evaluation but the first in turn; the best point so far must be returned."""
    whole = NearestTo(symmetric(), sign)
    solver(whole, start, max_iter=200, tol=tol)
    assert whole.calls > 10
    for call in range(2, whole.calls + 1):
        values = []
        found = solver(
            NearestTo(symmetric(), sign, interrupted_at=call),
            start,
            max_iter=200,
            tol=tol,
            watcher=lambda iteration, values=values: values.append(sign * iteration.value),
        )
        history = sign * found.history["objective"]
        assert found.status in ("interrupted", "converged")
        assert sign * found.value == history.min() == history[-1] <= min(values, default=np.inf)
        value = NearestTo(symmetric(), sign).value_and_matrix_gradient(found.x)[0]
        assert found.value == pytest.approx(value, rel=1e-12, abs=1e-12)
        yield found
