"""Minimise smooth convex functions over the PSD cone through a square factor of the matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import eigh, eigvalsh

from likewise._runtime.arrays import Array
from likewise.solvers import Iteration, Solution, Status, Watcher, lbfgs

# Relative improvement at which a run of L-BFGS ends: loose in the first run, which often suffices,
# and at last so tight that no further improvement is possible.
_FIRST_TOL, _LAST_TOL = 1e-4, 1e-12


class SmoothConvex(Protocol):
    """A convex function of ``M = FᵀF``."""

    def value_and_matrix_gradient(self, F: Array) -> tuple[float, Array]:
        """Return the value and its gradient in M, a symmetric matrix."""
        ...


def minimise_on_psd(
    objective: SmoothConvex,
    start: Array,
    *,
    max_iter: int,
    tol: float,
    watcher: Watcher | None = None,
) -> Solution:
    """Minimise a smooth convex function over ``M ⪰ 0``.

    L-BFGS optimises a square factor of M. A point is optimal if the gradient G is positive
    semi-definite and ``GM = 0``. While G has a negative eigenvalue, a step of M along its
    eigenvector lowers the value, and L-BFGS continues from there.

    Parameters
    ----------
    objective : SmoothConvex
    start : array of shape (n, n)
        The initial factor F.
    max_iter : int
        Maximum number of L-BFGS iterations.
    tol : float
        Converged when neither minus the least eigenvalue of G nor ``‖FG‖ / ‖F‖`` exceeds `tol`
        times the spectral norm of G at the start.
    watcher : callable, optional
        Called with an `Iteration`; returns True to stop.

    Returns
    -------
    Solution
        ``grad_norm`` is the larger of the two residuals of the stopping test.
        ``history["objective"]`` has the value at the start and after each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> class NearestTo:  # the projection onto the cone
    ...     def value_and_matrix_gradient(self, F):
    ...         difference = F.T @ F - np.diag([2.0, -1.0])
    ...         return float(np.square(difference).sum() / 2), difference
    >>> found = minimise_on_psd(NearestTo(), np.eye(2), max_iter=100, tol=1e-6)
    >>> (found.x.T @ found.x).round(3) + 0.0
    array([[2., 0.],
           [0., 0.]])
    """
    F = np.array(start, dtype=np.float64)
    value, gradient = objective.value_and_matrix_gradient(F)
    if not np.isfinite(value) or not np.isfinite(gradient).all():
        return Solution(F, value, 1, "failed")
    scale = float(np.abs(eigvalsh(gradient)).max()) or 1.0
    history = [value]
    stopped = False
    status: Status = "max_iter"

    def watch(iteration: Iteration) -> bool:
        nonlocal stopped
        history.append(iteration.value)
        here = Iteration(len(history) - 1, iteration.x, iteration.value, residual)
        stopped = watcher is not None and watcher(here)
        return stopped

    lbfgs_tol = _FIRST_TOL
    try:
        while True:
            residual, descent, direction = _residual(gradient, F, scale)
            iterations_left = max_iter - (len(history) - 1)
            if residual <= tol or status != "max_iter" or iterations_left <= 0:
                break
            begin = _rank_one_step(objective, F, direction, value) if descent > tol else F
            found = lbfgs(
                _InFactor(objective), begin, max_iter=iterations_left, tol=lbfgs_tol, watcher=watch
            )
            before, F, value = value, found.x, found.value
            if value < history[-1]:  # only the step along the eigenvector improved the value
                history.append(value)
            gradient = objective.value_and_matrix_gradient(F)[1]
            if stopped or found.status == "interrupted":
                status = "interrupted"
            elif lbfgs_tol == _LAST_TOL and before - value <= _LAST_TOL * abs(before):
                status = "stalled"
            lbfgs_tol = max(_LAST_TOL, lbfgs_tol / 100)
    except KeyboardInterrupt:
        status = "interrupted"
        residual = _residual(objective.value_and_matrix_gradient(F)[1], F, scale)[0]
    if residual <= tol:
        status = "converged"
    return Solution(
        x=F,
        value=value,
        n_iter=max(1, len(history) - 1),
        status=status,
        grad_norm=residual,
        history={"objective": np.asarray(history)},
    )


@dataclass(frozen=True)
class _InFactor:
    """The same function of the factor F."""

    objective: SmoothConvex

    def value_and_gradient(self, F: Array) -> tuple[float, Array]:
        value, gradient = self.objective.value_and_matrix_gradient(F)
        return value, 2 * F @ gradient


def _residual(gradient: Array, F: Array, scale: float) -> tuple[float, float, Array]:
    """Return the optimality residual, minus the least eigenvalue of G, and its eigenvector."""
    values, vectors = eigh(gradient, subset_by_index=(0, 0))
    stationarity = float(np.linalg.norm(F @ gradient)) / (float(np.linalg.norm(F)) or 1.0)
    descent = -float(values[0]) / scale
    return max(descent, stationarity / scale), descent, vectors[:, 0]


def _rank_one_step(objective: SmoothConvex, F: Array, direction: Array, value: float) -> Array:
    """Return a factor of ``M + step vvᵀ`` with a lower value, or F if no step gives one."""
    step = float(np.square(F).sum()) / len(F) or 1.0
    while step > 1e-12:
        values, vectors = eigh(F.T @ F + step * np.outer(direction, direction))
        trial = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
        if objective.value_and_matrix_gradient(trial)[0] < value:
            return np.asarray(trial)
        step /= 16
    return F
