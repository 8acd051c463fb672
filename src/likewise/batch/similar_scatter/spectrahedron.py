"""Maximise concave functions over PSD matrices of trace 1, with a certificate of optimality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import eigh

from likewise._runtime.arrays import Array
from likewise.solvers import Iteration, Solution, Status, Watcher, lbfgs

_MIN_IMPROVEMENT = 1e-12  # relative; below it, a run of L-BFGS can improve no further
_MAX_IDLE_RUNS = 3  # runs without improvement after which the solver has stalled


class Concave(Protocol):
    """A concave function of ``N = FᵀF``."""

    def value_and_matrix_gradient(self, F: Array) -> tuple[float, Array]:
        """Return the value and its gradient in N, a symmetric matrix."""
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

    L-BFGS optimises a square factor F of N, which takes few iterations. A factor of deficient rank
    can be a stationary point that is not the maximum; a Frank–Wolfe step then adds the missing
    direction, so that the result is the global maximum. The Frank–Wolfe gap, the largest eigenvalue
    of the gradient G less ``⟨G, N⟩``, bounds the distance to the maximum. It is reported relative
    to the value, or to ``⟨G, N⟩`` if that is larger in magnitude.

    Parameters
    ----------
    objective : Concave
    start : array of shape (n, n)
        The initial factor F, of any norm.
    max_iter : int
        Maximum number of L-BFGS iterations.
    tol : float
        Converged when the relative gap is at most this.
    watcher : callable, optional
        Called with an `Iteration`; returns True to stop.

    Returns
    -------
    Solution
        ``x`` is F with ``‖F‖ = 1``; ``gap`` is the certificate. ``history["objective"]`` has the
        value at the start and after each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> class Linear:  # its maximum is the largest eigenvalue, 3
    ...     def value_and_matrix_gradient(self, F):
    ...         return float(np.vdot(F.T @ F, np.diag([1.0, 3.0]))), np.diag([1.0, 3.0])
    >>> found = maximise_on_spectrahedron(Linear(), np.eye(2), max_iter=100, tol=1e-6)
    >>> round(found.value, 4), found.status
    (3.0, 'converged')
    """
    F = np.array(start, dtype=np.float64) / np.linalg.norm(start)
    value, gradient = objective.value_and_matrix_gradient(F)
    if not np.isfinite(value) or not np.isfinite(gradient).all():
        return Solution(F, value, 1, "failed")
    history = [value]
    stopped = False
    status: Status = "max_iter"
    idle = 0

    def watch(iteration: Iteration) -> bool:
        nonlocal stopped
        history.append(-iteration.value)
        here = Iteration(len(history) - 1, _unit(iteration.x), -iteration.value, gap)
        stopped = watcher is not None and watcher(here)
        return stopped

    try:
        while True:
            gap, vertex = _relative_gap(value, gradient, F)
            iterations_left = max_iter - (len(history) - 1)
            if gap <= tol or status != "max_iter" or iterations_left <= 0:
                break
            begin = _frank_wolfe_step(objective, F, vertex, value)
            found = lbfgs(
                _OnSphere(objective),
                begin,
                max_iter=iterations_left,
                tol=_MIN_IMPROVEMENT,
                watcher=watch,
            )
            before, F, value = value, _unit(found.x), -found.value
            if value > history[-1]:  # only the Frank–Wolfe step improved the value
                history.append(value)
            gradient = objective.value_and_matrix_gradient(F)[1]
            idle = idle + 1 if value - before <= _MIN_IMPROVEMENT * abs(before) else 0
            if stopped or found.status == "interrupted":
                status = "interrupted"
            elif idle == _MAX_IDLE_RUNS:
                status = "stalled"
    except KeyboardInterrupt:
        status = "interrupted"
        gap = _relative_gap(value, objective.value_and_matrix_gradient(F)[1], F)[0]
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
    """Minus the function, at any factor scaled to norm 1: an unconstrained problem."""

    objective: Concave

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        norm = float(np.linalg.norm(x))
        F = x / norm
        value, gradient = self.objective.value_and_matrix_gradient(F)
        return -value, -2 * (F @ gradient - _inner(gradient, F) * F) / norm


def _unit(F: Array) -> Array:
    return np.asarray(F / np.linalg.norm(F))


def _inner(gradient: Array, F: Array) -> float:
    """Return ``⟨G, N⟩``."""
    return float(np.vdot(F @ gradient, F))


def _relative_gap(value: float, gradient: Array, F: Array) -> tuple[float, Array]:
    """Return the relative Frank–Wolfe gap, and z of the vertex zzᵀ of steepest ascent."""
    inner = _inner(gradient, F)
    last = len(gradient) - 1
    values, vectors = eigh(gradient, subset_by_index=(last, last))
    # Rounding may leave the largest eigenvalue below a weighted mean of all.
    scale = max(abs(value), abs(inner)) or 1.0
    return max(0.0, float(values[0]) - inner) / scale, vectors[:, 0]


def _frank_wolfe_step(objective: Concave, F: Array, vertex: Array, value: float) -> Array:
    """Return F after a step towards a vertex that improves the value, or F if none does."""
    step = 0.5
    while step > 1e-9:
        trial = _blend(F, vertex, step)
        if objective.value_and_matrix_gradient(trial)[0] > value:
            return trial
        step /= 4
    return F


def _blend(F: Array, vertex: Array, step: float) -> Array:
    """Return a factor of ``(1 - step) N + step zzᵀ``."""
    N = (1 - step) * F.T @ F + step * np.outer(vertex, vertex)
    values, vectors = eigh(N)
    return np.asarray(np.sqrt(np.maximum(values, 0))[:, None] * vectors.T)
