"""The projected subgradient method with a working set, and with a lower bound to stop by."""

from __future__ import annotations

import contextlib
from typing import NamedTuple, Protocol

import numpy as np

from likewise._runtime.arrays import Array
from likewise.solvers import Solution, Status
from likewise.solvers._protocols import Iteration, Watcher

# As in Appendix A of the LMNN paper.
_STEPS_BETWEEN_EVALUATIONS = 10
_GROWTH = 1.01
_SHRINKAGE = 0.5
_FIRST_STEP = 0.01  # length of the first step relative to the norm of x
_MIN_STEP = 1e-15  # relative to the first step


class ValueAndBound(NamedTuple):
    """The objective at a point, and a lower bound on its minimum."""

    value: float
    lower_bound: float


class SubgradientProblem(Protocol):
    """A convex function whose full evaluation is expensive, over a convex set."""

    def evaluate_exactly(self, x: Array) -> ValueAndBound | None:
        """Evaluate all terms at x and renew the working set; None if it would be too large."""
        ...

    def value_and_subgradient(self, x: Array) -> tuple[float, Array]:
        """Return the value over the working set and a subgradient."""
        ...

    def project(self, x: Array) -> Array:
        """Return the nearest point of the set."""
        ...


def projected_subgradient(
    problem: SubgradientProblem,
    start: Array,
    *,
    max_iter: int,
    tol: float,
    watcher: Watcher | None = None,
) -> Solution:
    """Minimise a convex function over a convex set by projected subgradient steps.

    A step that does not decrease the value over the working set is rejected, and the step size is
    halved; otherwise the step size grows by 1 %. Every ten steps the working set is replaced by the
    terms that matter at the current point.

    Parameters
    ----------
    problem : SubgradientProblem
        The function and the set.
    start : array
        First point; its exact evaluation must succeed.
    max_iter : int
        Number of steps allowed.
    tol : float
        Converged when (value - lower bound) / value is at most `tol`.
    watcher : callable, optional
        Called with an `Iteration` after every exact evaluation; returns True to stop.

    Returns
    -------
    Solution
        The best point that was evaluated exactly, with its `gap`; ``history`` has the objective at
        each exact evaluation, the number of steps so far, and the lower bound. After an interrupt
        the last point is evaluated, too; a second interrupt ends that. If there is no evaluation at
        all, the start is returned with an unknown value and no gap.
    """
    state = _State(problem, start, max_iter, tol, watcher)
    try:
        status = state.run()
    except KeyboardInterrupt:
        status = "interrupted"
        with contextlib.suppress(KeyboardInterrupt):
            if state.x is not state.evaluated:
                state.evaluate_and_record()
    return Solution(
        x=state.best,
        value=state.best_value,
        n_iter=max(1, state.n_iter),
        status=status,
        gap=None if np.isnan(state.best_value) else state.gap(),
        history={name: np.asarray(numbers) for name, numbers in state.history.items()},
    )


class _State:
    """The state of one minimisation, from which an interrupt takes the best point."""

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
        self.evaluated: Array | None = None  # the last point that was evaluated exactly
        self.best, self.best_value, self.lower_bound = self.x, np.nan, -np.inf
        self.history: dict[str, list[float]] = {"objective": [], "n_iter": [], "lower_bound": []}

    def gap(self) -> float:
        """Return the relative gap between the best value and the lower bound."""
        if self.best_value <= 0:
            return 0.0
        return float(max(0.0, self.best_value - self.lower_bound) / self.best_value)

    def run(self) -> Status:
        if not self.evaluate_and_record():
            return "failed"
        value, gradient = self.problem.value_and_subgradient(self.x)
        norm = float(np.linalg.norm(gradient)) or 1.0
        step = _FIRST_STEP * float(np.linalg.norm(self.x)) / norm
        min_step = _MIN_STEP * step
        while True:
            if self.gap() <= self.tol:
                return "converged"
            if self.n_iter >= self.max_iter:
                return "max_iter"
            if step < min_step:
                return "stalled"
            start = self.x
            for _ in range(min(_STEPS_BETWEEN_EVALUATIONS, self.max_iter - self.n_iter)):
                self.n_iter += 1
                x = self.problem.project(self.x - step * gradient)
                new_value, new_gradient = self.problem.value_and_subgradient(x)
                if new_value < value:
                    self.x, value, gradient, step = x, new_value, new_gradient, _GROWTH * step
                else:
                    step *= _SHRINKAGE
            if not self.evaluate_and_record():  # the working set would be too large
                self.x = self.problem.project((self.x + start) / 2)
                step *= _SHRINKAGE
                if not self.evaluate_and_record():
                    self.x = start
                    self.evaluate_and_record()
            if self.watcher and self.watcher(
                Iteration(self.n_iter, self.best, self.history["objective"][-1], self.gap())
            ):
                return "interrupted"
            value, gradient = self.problem.value_and_subgradient(self.x)

    def evaluate_and_record(self) -> bool:
        """Evaluate the current point exactly; return whether that succeeded."""
        found = self.problem.evaluate_exactly(self.x)
        if found is None or not np.isfinite(found.value):
            return False
        self.evaluated = self.x
        self.lower_bound = max(self.lower_bound, found.lower_bound)
        if not found.value >= self.best_value:  # also if that is still nan
            self.best, self.best_value = self.x, found.value
        entry = (found.value, self.n_iter, self.lower_bound)
        for name, number in zip(self.history, entry, strict=True):
            self.history[name].append(number)
        return True
