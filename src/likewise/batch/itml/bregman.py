"""Cyclic Bregman projections onto one constraint after another."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from likewise._runtime.arrays import Array
from likewise.solvers import Iteration, Solution, Status, Watcher

_OBJECTIVE_EVERY = 10  # sweeps; with few constraints it costs as much as a sweep


class Cyclic(Protocol):
    """Constraints, each with a dual variable, onto which a point is projected in turn."""

    multipliers: Array

    def sweep(self, x: Array) -> None:
        """Project `x` in place onto each constraint once, and update the multipliers."""
        ...

    def value(self, x: Array) -> float:
        """Return the objective at `x`."""
        ...


def bregman_cycles(
    problem: Cyclic,
    start: Array,
    *,
    max_iter: int,
    tol: float,
    watcher: Watcher | None = None,
) -> Solution:
    """Sweep over the constraints until their multipliers converge.

    Parameters
    ----------
    problem : Cyclic
        With its initial multipliers.
    start : array
        The unconstrained minimiser of the objective.
    max_iter : int
        Maximum number of sweeps.
    tol : float
        Converged when a sweep changes the multipliers by at most ``tol``: the sum of the changes,
        over the sum of the Euclidean norms before and after.
    watcher : callable, optional
        Called with an `Iteration` after each sweep; returns True to stop.

    Returns
    -------
    Solution
        ``history["change"]`` has the change of the multipliers in each sweep, and
        ``history["objective"]`` the value at the start, after every tenth sweep and after the last.

    Examples
    --------
    >>> import numpy as np
    >>> class NearestAbove:  # the point nearest to the start with x ≥ 1
    ...     multipliers = np.zeros(1)
    ...     def sweep(self, x):
    ...         step = max(-self.multipliers[0], 1 - x[0])
    ...         self.multipliers += step
    ...         x += step
    ...     def value(self, x):
    ...         return float(x[0] ** 2 / 2)
    >>> bregman_cycles(NearestAbove(), np.zeros(1), max_iter=10, tol=1e-9).x
    array([1.])
    """
    x = start.copy()
    last_finite, value = x.copy(), problem.value(x)
    values, changes = [value], []
    status: Status = "max_iter" if np.isfinite(value) else "failed"
    try:
        for number in range(1, max_iter + 1):
            before = problem.multipliers.copy()
            problem.sweep(x)
            norms = np.linalg.norm(before) + np.linalg.norm(problem.multipliers)
            total_change = np.abs(problem.multipliers - before).sum()
            change = float(total_change / norms) if norms != 0 else 0.0
            if not np.isfinite(change):
                status = "stalled"
                break
            last_finite[...] = x
            changes.append(change)
            last = change <= tol or number == max_iter
            if last or number % _OBJECTIVE_EVERY == 0:
                value = problem.value(x)
                values.append(value)
            if watcher is not None and watcher(Iteration(number, x.copy(), value)):
                status = "interrupted"
                break
            if change <= tol:
                status = "converged"
                break
    except KeyboardInterrupt:
        status = "interrupted"
    if status in ("interrupted", "stalled"):
        values.append(problem.value(last_finite))
    return Solution(
        x=last_finite,
        value=values[-1],
        n_iter=max(1, len(changes)),
        status=status,
        history={"objective": np.asarray(values), "change": np.asarray(changes)},
    )
