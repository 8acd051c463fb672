"""Smooth convex functions on the positive semi-definite cone, by a factor of the matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import eigh, eigvalsh

from likewise._runtime.arrays import Array
from likewise.solvers._protocols import Iteration, Solution, Status, Watcher
from likewise.solvers.lbfgs import lbfgs

# Relative improvements at which runs of L-BFGS end: the first soon, to see whether that is enough;
# at the last there is nothing more to give.
_FIRST_FLAT, _FLAT = 1e-4, 1e-12


class SmoothConvex(Protocol):
    """A convex function of ``M = FᵀF``."""

    def value_and_slope(self, F: Array) -> tuple[float, Array]:
        """Return the value and the slope in M, a symmetric matrix."""
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

    L-BFGS moves a square factor of M. A point is optimal where the slope G is positive
    semi-definite and ``GM = 0``; where G has a negative eigenvalue left, a step along its
    eigenvector lets L-BFGS go on.

    Parameters
    ----------
    objective : SmoothConvex
    start : array of shape (n, n)
        The factor F to begin with.
    max_iter : int
        Steps allowed.
    tol : float
        Converged when neither the least eigenvalue of G is below ``-tol`` nor ``‖FG‖ / ‖F‖`` above
        ``tol``, both in units of the largest eigenvalue of G in size at the start.
    watcher : callable, optional
        Called with an `Iteration`; returns True to stop.

    Returns
    -------
    Solution
        ``grad_norm`` is the larger of the two measures of the stopping test.
        ``history["objective"]`` has the value at the start and after each step.

    Examples
    --------
    >>> import numpy as np
    >>> class NearestTo:  # the nearest matrix without negative eigenvalues
    ...     def value_and_slope(self, F):
    ...         difference = F.T @ F - np.diag([2.0, -1.0])
    ...         return float(np.square(difference).sum() / 2), difference
    >>> found = minimise_on_psd(NearestTo(), np.eye(2), max_iter=100, tol=1e-6)
    >>> (found.x.T @ found.x).round(3) + 0.0
    array([[2., 0.],
           [0., 0.]])
    """
    F = np.array(start, dtype=np.float64)
    value, slope = objective.value_and_slope(F)
    if not np.isfinite(value) or not np.isfinite(slope).all():
        return Solution(F, value, 1, "failed")
    scale = float(np.abs(eigvalsh(slope)).max()) or 1.0
    history = [value]
    stopped = False
    status: Status = "max_iter"

    def watch(iteration: Iteration) -> bool:
        nonlocal stopped
        history.append(iteration.value)
        here = Iteration(len(history) - 1, iteration.x, iteration.value)
        stopped = watcher is not None and watcher(here)
        return stopped

    flat = _FIRST_FLAT
    try:
        while True:
            residual, growing, direction = _residual(slope, F, scale)
            steps_left = max_iter - (len(history) - 1)
            if residual <= tol or status != "max_iter" or steps_left <= 0:
                break
            begin = _along(objective, F, direction, value) if growing > tol else F
            found = lbfgs(_InFactor(objective), begin, max_iter=steps_left, tol=flat, watcher=watch)
            before, F, value = value, found.x, found.value
            if value < history[-1]:  # L-BFGS did not step, but the step before it helped
                history.append(value)
            slope = objective.value_and_slope(F)[1]
            if stopped or found.status == "interrupted":
                status = "interrupted"
            elif flat == _FLAT and before - value <= _FLAT * abs(before):
                status = "stalled"
            flat = max(_FLAT, flat / 100)
    except KeyboardInterrupt:
        status = "interrupted"
        residual = _residual(objective.value_and_slope(F)[1], F, scale)[0]
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
    objective: SmoothConvex

    def value_and_gradient(self, F: Array) -> tuple[float, Array]:
        value, slope = self.objective.value_and_slope(F)
        return value, 2 * F @ slope


def _residual(slope: Array, F: Array, scale: float) -> tuple[float, float, Array]:
    """Return how far from optimal a point is, how steeply M should grow, and in which direction."""
    values, vectors = eigh(slope, subset_by_index=(0, 0))
    moving = float(np.linalg.norm(F @ slope)) / (float(np.linalg.norm(F)) or 1.0)
    growing = -float(values[0]) / scale
    return max(growing, moving / scale), growing, vectors[:, 0]


def _along(objective: SmoothConvex, F: Array, direction: Array, value: float) -> Array:
    """Return F after M has grown along `direction`, or F itself where that does not help."""
    size = float(np.square(F).sum()) / len(F) or 1.0
    while size > 1e-12:
        values, vectors = eigh(F.T @ F + size * np.outer(direction, direction))
        moved = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
        if objective.value_and_slope(moved)[0] < value:
            return np.asarray(moved)
        size /= 16
    return F
