"""Subgradient steps, each followed by a projection on what is allowed."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from likewise._runtime.arrays import Array
from likewise.solvers._protocols import Iteration, Solution, Status, Watcher

# The paper's: everything is searched every 10 steps, and steps grow by 1 % or are halved.
_BETWEEN_LOOKS = 10
_LONGER = 1.01
_SHORTER = 0.5
_FIRST_MOVE = 0.01  # length of the first step relative to the point's
_SHORTEST = 1e-15


class Bounds(NamedTuple):
    """The objective at a point, and what no point undercuts."""

    value: float
    bound: float


class SubgradientProblem(Protocol):
    """A convex function whose full value is expensive, and what is allowed."""

    def look(self, x: Array) -> Bounds | None:
        """Search everything at `x` and make the working set; None if far too much matters."""
        ...

    def value_and_slope(self, x: Array) -> tuple[float, Array]:
        """Return the value over the working set and a subgradient."""
        ...

    def project(self, x: Array) -> Array:
        """Return the nearest allowed point."""
        ...


def projected_subgradient(
    problem: SubgradientProblem,
    start: Array,
    *,
    max_iter: int,
    tol: float,
    watcher: Watcher | None = None,
) -> Solution:
    """Minimise a convex function over a convex set by steps along subgradients.

    A step that raises the value is taken back, and the next one is half as long.

    Parameters
    ----------
    problem : SubgradientProblem
        The function and the set.
    start : array
        First point; a look there must succeed.
    max_iter : int
        Steps allowed.
    tol : float
        Converged when (value - bound)/value is at most this.
    watcher : callable, optional
        Called with an `Iteration` after every look; returns True to stop.

    Returns
    -------
    Solution
        The best point that was looked at, with its `gap` and in ``history`` the objective at each
        look, the steps until then, and the lower bound. An interrupt before the first look is over
        leaves the start, whose value is not known, and no gap.
    """
    run = _Run(problem, start, max_iter, tol, watcher)
    try:
        status = run.go()
    except KeyboardInterrupt:
        status = "interrupted"
    return Solution(
        x=run.best,
        value=run.best_value,
        n_iter=max(1, run.n_iter),
        status=status,
        gap=None if np.isnan(run.best_value) else run.gap(),
        history={name: np.asarray(numbers) for name, numbers in run.history.items()},
    )


class _Run:
    """The state of one minimisation: an interrupt falls back on the best point of it."""

    def __init__(
        self,
        problem: SubgradientProblem,
        start: Array,
        max_iter: int,
        tol: float,
        watcher: Watcher | None,
    ) -> None:
        self.problem, self.x = problem, problem.project(np.array(start, dtype=np.float64))
        self.max_iter, self.tol, self.watcher = max_iter, tol, watcher
        self.n_iter = 0
        self.best, self.best_value, self.bound = self.x, np.nan, -np.inf
        self.history: dict[str, list[float]] = {"objective": [], "n_iter": [], "lower_bound": []}

    def gap(self) -> float:
        """Return how far, relative to it, the best value may be above the least."""
        if self.best_value <= 0:
            return 0.0
        return float(max(0.0, self.best_value - self.bound) / self.best_value)

    def go(self) -> Status:
        if not self.look():
            return "failed"
        value, slope = self.problem.value_and_slope(self.x)
        length = _FIRST_MOVE * float(np.linalg.norm(self.x)) / (float(np.linalg.norm(slope)) or 1.0)
        shortest = _SHORTEST * length
        while True:
            if self.gap() <= self.tol:
                return "converged"
            if self.n_iter >= self.max_iter:
                return "max_iter"
            if length < shortest:
                return "stalled"
            looked_at = self.x
            for _ in range(min(_BETWEEN_LOOKS, self.max_iter - self.n_iter)):
                self.n_iter += 1
                x = self.problem.project(self.x - length * slope)
                there, slope_there = self.problem.value_and_slope(x)
                if there < value:
                    self.x, value, slope, length = x, there, slope_there, _LONGER * length
                else:
                    length *= _SHORTER
            if not self.look():  # too far for the working set: halfway back is nearer to it
                self.x = self.problem.project((self.x + looked_at) / 2)
                length *= _SHORTER
                if not self.look():
                    self.x = looked_at
                    self.look()
            if self.watcher and self.watcher(
                Iteration(self.n_iter, self.best, self.history["objective"][-1])
            ):
                return "interrupted"
            value, slope = self.problem.value_and_slope(self.x)

    def look(self) -> bool:
        found = self.problem.look(self.x)
        if found is None or not np.isfinite(found.value):
            return False
        self.bound = max(self.bound, found.bound)
        if not found.value >= self.best_value:  # there may be none yet
            self.best, self.best_value = self.x, found.value
        for name, number in zip(self.history, (found.value, self.n_iter, self.bound), strict=True):
            self.history[name].append(number)
        return True
