"""Cyclic Bregman projections: one constraint after another, round and round."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from likewise._runtime.arrays import Array
from likewise.solvers._protocols import Iteration, Solution, Status, Watcher

_OBJECTIVE_EVERY = 10  # sweeps: on few constraints it costs as much as a sweep


class Cyclic(Protocol):
    """Constraints, each with a multiplier, that a point can be projected on in turn."""

    multipliers: Array

    def sweep(self, x: Array) -> None:
        """Project `x`, in place, on every constraint once, and change the multipliers."""
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
    """Sweep over the constraints until their multipliers settle.

    Parameters
    ----------
    problem : Cyclic
        With its multipliers at their start.
    start : array
        The point that minimises the objective without constraints.
    max_iter : int
        Sweeps allowed.
    tol : float
        Converged when a sweep changes the multipliers by at most ``tol``: the sum of the changes,
        over the sum of the Euclidean norms before and after.
    watcher : callable, optional
        Called with an `Iteration` after each sweep; returns True to stop.

    Returns
    -------
    Solution
        With ``history["change"]`` after each sweep, and ``history["objective"]`` after every tenth
        and the last.

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
    kept, value = x.copy(), problem.value(x)
    values, changes = [value], []
    status: Status = "max_iter" if np.isfinite(value) else "failed"
    try:
        for number in range(1, max_iter + 1):
            before = problem.multipliers.copy()
            problem.sweep(x)
            size = np.linalg.norm(before) + np.linalg.norm(problem.multipliers)
            moved = np.abs(problem.multipliers - before).sum()
            change = float(moved / size) if size != 0 else 0.0
            if not np.isfinite(change):
                status = "stalled"
                break
            kept[...] = x
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
        values.append(problem.value(kept))
    return Solution(
        x=kept,
        value=values[-1],
        n_iter=max(1, len(changes)),
        status=status,
        history={"objective": np.asarray(values), "change": np.asarray(changes)},
    )
