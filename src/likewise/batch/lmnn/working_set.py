"""Rounded hinges over a working set: L-BFGS, made sharper and searched anew until it is certain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from likewise._runtime.arrays import Array
from likewise.batch.lmnn.quasi_newton import Point, QuasiNewton
from likewise.solvers._protocols import Iteration, Solution, Status, Watcher

_FIRST_WIDTH = 0.3
_SHARPER = 0.3
_SHARPEST = 1e-6
_INTERVALS = (3, 20)  # steps between two looks: at first, and at most
_MISSED = (1e-3, 1e-2)  # share of the value that a working set may miss before looks change
_FEASIBLE = 2.0  # hinges are made sharper once what is not feasible weighs this many roundings
_BACKTRACKS = 12
_PATIENCE = 5


@dataclass(frozen=True)
class Look:
    """What an exact search over all hinges says of a point.

    Attributes
    ----------
    value : float
        The objective itself.
    rounded : float
        The same with rounded hinges.
    missed : float
        What of `rounded` the working set before did not see.
    dual : float
        What the dual solution that belongs to the point would prove if it were feasible.
    bound : float
        What it proves, made feasible: no point has a lower value.
    """

    value: float
    rounded: float
    missed: float
    dual: float
    bound: float


class HingeProblem(Protocol):
    """Many hinges, of which few matter at a time."""

    def look(self, x: Array, width: float) -> Look | None:
        """Search all hinges at `x` and make the working set; None if far too many matter."""
        ...

    def rounded(self, width: float) -> Any:
        """Return the working set's objective, a `Smooth`, its hinges rounded over `width`."""
        ...


def working_set_lbfgs(
    problem: HingeProblem,
    start: Array,
    *,
    max_iter: int,
    tol: float,
    margin: float = 1.0,
    certified: bool = True,
    judge: Callable[[Array], float] | None = None,
    watcher: Watcher | None = None,
) -> Solution:
    """Minimise a sum of hinges, most of them inactive.

    Steps are taken on a working set, with hinges rounded over a width. Now and then everything is
    searched: that gives the true value, a new working set and a lower bound. A move that made the
    true value rise, or flooded the working set, is taken back halfway. Once the rounding is what
    keeps value and bound apart, the hinges are made sharper.

    Parameters
    ----------
    problem : HingeProblem
        The hinges.
    start : array
        First point; a search there must succeed.
    max_iter : int
        Steps allowed.
    tol : float
        Converged when (value - bound)/value is at most this.
    margin : float
        The unit of the width.
    certified : bool
        Whether the bound belongs to the problem. If not, converged means that the rounding is
        below `tol` and that a round of steps lowers the value by less than a tenth of it.
    judge : callable, optional
        Says how bad a point is by other means, say the error on rows held out. The point it likes
        best is returned, and when it has liked none better for a few looks that is convergence.
    watcher : callable, optional
        Called with an `Iteration`; returns True to stop.

    Returns
    -------
    Solution
        The best point that was searched exactly, with its `gap` and in ``history`` the objective
        at each look, the steps until then, and the lower bound. An interrupt before the first
        search is over leaves the start, whose value is not known, and no gap.
    """
    run = _Run(problem, start, max_iter, tol, margin, certified, judge, watcher)
    try:
        status = run.go()
        if status == "stalled" and judge is not None:
            status = "converged"  # it has seen every point that there was to see
    except KeyboardInterrupt:
        status = "interrupted"
    return run.solution(status)


class _Run:
    """The state of one minimisation: an interrupt falls back on the best point of it."""

    def __init__(
        self,
        problem: HingeProblem,
        start: Array,
        max_iter: int,
        tol: float,
        margin: float,
        certified: bool,
        judge: Callable[[Array], float] | None,
        watcher: Watcher | None,
    ) -> None:
        self.problem, self.x = problem, np.array(start, dtype=np.float64)
        self.max_iter, self.tol, self.certified = max_iter, tol, certified
        self.width, self.sharpest = _FIRST_WIDTH * margin, _SHARPEST * margin
        self.judge, self.watcher = judge, watcher
        self.best_verdict, self.looks_since_better = np.inf, 0
        self.memory = QuasiNewton()
        self.interval = _INTERVALS[0]
        self.n_iter = 0
        self.best, self.best_value, self.bound = self.x, np.nan, -np.inf
        self.history: dict[str, list[float]] = {"objective": [], "n_iter": [], "lower_bound": []}

    def go(self) -> Status:
        look = self.problem.look(self.x, self.width)
        if look is None or not np.isfinite(look.value):
            self.best_value = np.nan if look is None else look.value
            return "failed"
        first = look.value
        self.note(look)
        while True:
            # A value that is nothing beside the first one can be lowered for ever, to no end.
            proved = self.certified and self.gap(min(look.value, self.best_value)) <= self.tol
            if proved or look.value <= 1e-12 * first:
                return "converged"
            if self.looks_since_better >= _PATIENCE:
                return "converged"
            if self.n_iter >= self.max_iter:
                return "max_iter"
            before, moved = look, self.round()
            if moved:
                look = self.look_back(before)
                self.note(look)
                if self.watcher and self.watcher(Iteration(self.n_iter, self.best, look.value)):
                    return "interrupted"
            gained = (before.rounded - look.rounded) / max(look.rounded, 1e-300)
            excess = look.value - (look.dual if self.certified else look.rounded)
            rounding = excess / max(look.value, 1e-300)
            sharp = rounding <= self.tol / 2
            if sharp and not self.certified and gained <= 0.1 * self.tol:
                return "converged"
            if sharp and not moved:
                return "stalled"
            if not sharp and (gained <= self.enough(look, rounding) or not moved):
                if self.width <= self.sharpest:
                    return "stalled"
                look = self.sharpen(look)

    def enough(self, look: Look, rounding: float) -> float:
        """Return the gain in a round below which sharper hinges are what helps."""
        if not self.certified:
            return 0.1 * self.tol
        unfeasible = (look.dual - look.bound) / max(look.value, 1e-300)
        return np.inf if unfeasible <= _FEASIBLE * rounding else 1e-3 * self.tol

    def sharpen(self, look: Look) -> Look:
        """Round the hinges less; the point, and all that was searched there, stay."""
        self.width *= _SHARPER
        look = self.problem.look(self.x, self.width) or look
        self.bound = max(self.bound, look.bound)
        return look

    def round(self) -> bool:
        """Take some steps on the working set; return whether there was one."""
        objective = self.problem.rounded(self.width)
        here = Point(self.x, *objective.value_and_gradient(self.x))
        steps = min(self.interval, self.max_iter - self.n_iter)
        for taken in range(steps):
            found = self.memory.step(objective, here)
            if found is None:
                return taken > 0 and self.arrive(here)
            here = found
            self.n_iter += 1
        return self.arrive(here)

    def arrive(self, here: Point) -> bool:
        self.before, self.x = self.x, here.x
        return True

    def look_back(self, before: Look) -> Look:
        """Search everything at the new point; go back halfway while it is no good."""
        for _ in range(_BACKTRACKS):
            look = self.problem.look(self.x, self.width)
            if look is not None and look.rounded <= before.rounded:
                low, high = _MISSED
                if look.missed > high * look.rounded:
                    self.interval = max(2, self.interval // 2)
                elif look.missed < low * look.rounded:
                    self.interval = min(_INTERVALS[1], 2 * self.interval)
                return look
            self.x = (self.x + self.before) / 2
            self.interval = 2
            self.memory.forget()
        self.x = self.before
        look = self.problem.look(self.x, self.width)
        return before if look is None else look

    def note(self, look: Look) -> None:
        self.bound = max(self.bound, look.bound)
        if self.judge is not None:
            verdict = self.judge(self.x)
            self.looks_since_better += 1
            if verdict < self.best_verdict:
                self.looks_since_better = 0
            if verdict <= self.best_verdict:
                self.best, self.best_value, self.best_verdict = self.x, look.value, verdict
        elif not look.value >= self.best_value:  # there may be none yet
            self.best, self.best_value = self.x, look.value
        for name, number in zip(self.history, (look.value, self.n_iter, self.bound), strict=True):
            self.history[name].append(number)

    def gap(self, value: float) -> float:
        """Return how far, relative to it, a value may be above the least."""
        return max(0.0, value - self.bound) / value if value > 0 else 0.0

    def solution(self, status: Status) -> Solution:
        return Solution(
            x=self.best,
            value=self.best_value,
            n_iter=max(1, self.n_iter),
            status=status,
            gap=float(self.gap(self.best_value)) if np.isfinite(self.best_value) else None,
            history={name: np.asarray(numbers) for name, numbers in self.history.items()},
        )
