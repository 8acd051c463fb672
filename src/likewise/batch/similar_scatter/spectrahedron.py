"""Concave functions on the positive semi-definite matrices of trace 1, with a certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import eigh

from likewise._runtime.arrays import Array
from likewise.solvers._protocols import Iteration, Solution, Status, Watcher
from likewise.solvers.lbfgs import lbfgs

_FLAT = 1e-12  # relative improvement at which a run of L-BFGS has nothing more to give
_PATIENCE = 3  # runs that may improve nothing before that is called stalled


class Concave(Protocol):
    """A concave function of ``N = FᵀF``."""

    def value_and_slope(self, F: Array) -> tuple[float, Array]:
        """Return the value and the slope in N, a symmetric matrix."""
        ...


def maximise_on_spectrahedron(
    objective: Concave,
    start: Array,
    *,
    max_iter: int,
    tol: float,
    watcher: Watcher | None = None,
) -> Solution:
    """Maximise a concave function over ``N ⪰ 0, tr N = 1``.

    L-BFGS moves a factor of N, which goes far in few steps; where a direction has been lost and
    would pay, a step of Frank and Wolfe brings it back, so that the end is the global maximum.
    Their gap, the largest eigenvalue of the slope G less ``⟨G, N⟩``, bounds how much is missing; it
    is given as a share of the value, or of ``⟨G, N⟩`` where that is larger in size.

    Parameters
    ----------
    objective : Concave
    start : array of shape (n, n)
        The factor F to begin with, of any length.
    max_iter : int
        Steps allowed.
    tol : float
        Converged when the gap is at most this.
    watcher : callable, optional
        Called with an `Iteration`; returns True to stop.

    Returns
    -------
    Solution
        ``x`` is F with ``‖F‖ = 1``; ``gap`` is the certificate. ``history["objective"]`` has the
        value at the start and after each step.

    Examples
    --------
    >>> import numpy as np
    >>> class Linear:  # its maximum is the largest eigenvalue, 3
    ...     def value_and_slope(self, F):
    ...         return float(np.vdot(F.T @ F, np.diag([1.0, 3.0]))), np.diag([1.0, 3.0])
    >>> found = maximise_on_spectrahedron(Linear(), np.eye(2), max_iter=100, tol=1e-6)
    >>> round(found.value, 4), found.status
    (3.0, 'converged')
    """
    F = np.array(start, dtype=np.float64) / np.linalg.norm(start)
    value, slope = objective.value_and_slope(F)
    if not np.isfinite(value) or not np.isfinite(slope).all():
        return Solution(F, value, 1, "failed")
    history = [value]
    stopped = False
    status: Status = "max_iter"
    idle = 0

    def watch(iteration: Iteration) -> bool:
        nonlocal stopped
        history.append(-iteration.value)
        here = Iteration(len(history) - 1, _unit(iteration.x), -iteration.value)
        stopped = watcher is not None and watcher(here)
        return stopped

    try:
        while True:
            gap, vertex = _gap(value, slope, F)
            steps_left = max_iter - (len(history) - 1)
            if gap <= tol or status != "max_iter" or steps_left <= 0:
                break
            begin = _towards(objective, F, vertex, value)
            found = lbfgs(
                _OnSphere(objective), begin, max_iter=steps_left, tol=_FLAT, watcher=watch
            )
            before, F, value = value, _unit(found.x), -found.value
            if value > history[-1]:  # L-BFGS did not step, but the step before it helped
                history.append(value)
            slope = objective.value_and_slope(F)[1]
            idle = idle + 1 if value - before <= _FLAT * abs(before) else 0
            if stopped or found.status == "interrupted":
                status = "interrupted"
            elif idle == _PATIENCE:
                status = "stalled"
    except KeyboardInterrupt:
        status = "interrupted"
        gap = _gap(value, objective.value_and_slope(F)[1], F)[0]
    if gap <= tol:
        status = "converged"
    return Solution(
        x=F,
        value=value,
        n_iter=max(1, len(history) - 1),
        status=status,
        gap=gap,
        history={"objective": np.asarray(history)},
    )


@dataclass(frozen=True)
class _OnSphere:
    """Minus the function, at the N of any factor scaled to trace 1: no constraint is left."""

    objective: Concave

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        length = float(np.linalg.norm(x))
        F = x / length
        value, slope = self.objective.value_and_slope(F)
        return -value, -2 * (F @ slope - _inner(slope, F) * F) / length


def _unit(F: Array) -> Array:
    return np.asarray(F / np.linalg.norm(F))


def _inner(slope: Array, F: Array) -> float:
    """Return ⟨G, N⟩."""
    return float(np.vdot(F @ slope, F))


def _gap(value: float, slope: Array, F: Array) -> tuple[float, Array]:
    """Return the gap of Frank and Wolfe, and the vertex zzᵀ (as z) that would gain most."""
    here = _inner(slope, F)
    last = len(slope) - 1
    values, vectors = eigh(slope, subset_by_index=(last, last))
    # Rounding may take a largest eigenvalue below a mean of all.
    size = max(abs(value), abs(here)) or 1.0
    return max(0.0, float(values[0]) - here) / size, vectors[:, 0]


def _towards(objective: Concave, F: Array, vertex: Array, value: float) -> Array:
    """Return F after a step towards a vertex that improves the value, F itself if none does."""
    step = 0.5
    while step > 1e-9:
        moved = _blend(F, vertex, step)
        if objective.value_and_slope(moved)[0] > value:
            return moved
        step /= 4
    return F


def _blend(F: Array, vertex: Array, step: float) -> Array:
    """Return a factor of ``(1 - step) N + step zzᵀ``."""
    N = (1 - step) * F.T @ F + step * np.outer(vertex, vertex)
    values, vectors = eigh(N)
    return np.asarray(np.sqrt(np.maximum(values, 0))[:, None] * vectors.T)
