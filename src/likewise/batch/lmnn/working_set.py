"""L-BFGS on smoothed hinges over a working set, until a lower bound proves the result."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from likewise._runtime.arrays import Array
from likewise.batch.lmnn.lbfgs_memory import LBFGSMemory, Point
from likewise.solvers import Smooth, Solution, Status
from likewise.solvers._protocols import Iteration, Watcher

# Shares of the margin.
_FIRST_SMOOTHING = 0.3
_MIN_SMOOTHING = 1e-6
_SMOOTHING_FACTOR = 0.3
_INNER_STEPS = (3, 20)  # steps between two exact evaluations: at first, and at most
_UNSEEN_SHARES_FOR_INTERVAL = (
    1e-3,
    1e-2,
)  # unseen share of the loss below or above which their number changes
# Smoothing is reduced once the dual infeasibility is at most this multiple of the smoothing error.
_INFEASIBILITY_FACTOR = 2.0
_MAX_BACKTRACKS = 12
_PATIENCE = 5  # evaluations without a lower validation error
_EVALUATIONS_FOR_GAP = 3  # in which the gap must decrease by a tenth
_PATH_STEPS = 2.0 ** np.arange(-12, 1)  # tried on a path that leaves a saddle point


@dataclass(frozen=True)
class Evaluation:
    """The result of an evaluation over all hinges.

    Attributes
    ----------
    value : float
        The objective.
    smoothed : float
        The objective with smoothed hinges.
    smoothing_error : float
        What `value` exceeds the Lagrangian by, at the dual variables of the smoothed hinges.
    unseen_loss : float
        The part of `smoothed` that the previous working set did not contain.
    dual_value : float
        The dual objective at the dual variables of the point, which need not be feasible.
    lower_bound : float
        The dual objective after they are made feasible: no point has a lower value.
    """

    value: float
    smoothed: float
    smoothing_error: float
    unseen_loss: float
    dual_value: float
    lower_bound: float


class HingeProblem(Protocol):
    """A sum of many hinges, few of which are active at a time.

    Attributes
    ----------
    zero : float
        The objective that counts as 0. Where its infimum is 0 it decreases without end, and has no
        useful bound.
    """

    zero: float

    def evaluate_exactly(self, x: Array, smoothing: float) -> Evaluation | None:
        """Evaluate all hinges at x and renew the working set; None if it would be too large."""
        ...

    def smoothed(self, smoothing: float) -> Smooth:
        """Return the objective over the working set with smoothed hinges."""
        ...

    def descent_path(self, x: Array, smoothing: float) -> Callable[[float], Array] | None:
        """Return points t ↦ x(t) from x(0) ≡ x, along which the objective decreases, or None.

        They may have other rows than x: where the rows of x are zero its gradient vanishes, though
        the objective would decrease. A unit of t is a large step.
        """
        ...


def working_set_lbfgs(
    problem: HingeProblem,
    start: Array,
    *,
    max_iter: int,
    tol: float,
    margin: float = 1.0,
    certified: bool = True,
    validation_error: Callable[[Array], float] | None = None,
    watcher: Watcher | None = None,
) -> Solution:
    """Minimise a sum of hinges, most of which are inactive.

    L-BFGS steps are taken on a working set with smoothed hinges. Every few steps all hinges are
    evaluated exactly, which gives the objective, a new working set and a lower bound. If the
    smoothed objective increased, or the working set would be too large, the steps are halved. The
    smoothing is reduced once it is the main part of the gap between objective and bound. If the gap
    does not decrease otherwise, the point may be a saddle point, which a descent path leaves.

    Parameters
    ----------
    problem : HingeProblem
        The hinges.
    start : array
        First point; its exact evaluation must succeed.
    max_iter : int
        Number of L-BFGS steps allowed.
    tol : float
        Converged when (value - lower bound) / value is at most `tol`, or the value is that of
        ``problem.zero``.
    margin : float
        The unit of the smoothing.
    certified : bool
        Whether the lower bound is one of this problem. If not, converged means that the smoothing
        error is below `tol` and that the last steps lowered the objective by less than a tenth of
        `tol`.
    validation_error : callable, optional
        The error of a point on a validation set. The point with the lowest is returned, and the
        solver has converged if it was not lowered for five exact evaluations.
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
    state = _State(problem, start, max_iter, tol, margin, certified, validation_error, watcher)
    try:
        status = state.run()
        if status == "stalled" and validation_error is not None:
            status = "converged"  # no further points to choose from
    except KeyboardInterrupt:
        status = "interrupted"
        with contextlib.suppress(KeyboardInterrupt):
            state.evaluate_last()
    return state.solution(status)


class _State:
    """The state of one minimisation, from which an interrupt takes the best point."""

    def __init__(
        self,
        problem: HingeProblem,
        start: Array,
        max_iter: int,
        tol: float,
        margin: float,
        certified: bool,
        validation_error: Callable[[Array], float] | None,
        watcher: Watcher | None,
    ) -> None:
        self.problem, self.x = problem, np.array(start, dtype=np.float64)
        self.max_iter, self.tol, self.certified = max_iter, tol, certified
        self.smoothing, self.min_smoothing = _FIRST_SMOOTHING * margin, _MIN_SMOOTHING * margin
        self.validation_error, self.watcher = validation_error, watcher
        self.lowest_error, self.evaluations_since_lowest = np.inf, 0
        self.memory = LBFGSMemory()
        self.n_inner_steps = _INNER_STEPS[0]
        self.n_iter = 0
        self.checked_for_saddle = 0  # number of exact evaluations at the last check
        self.best, self.best_value, self.lower_bound = self.x, np.nan, -np.inf
        self.last = self.x
        self.evaluated: Array | None = None  # the last point that was evaluated exactly
        self.history: dict[str, list[float]] = {"objective": [], "n_iter": [], "lower_bound": []}

    def run(self) -> Status:
        current = self.problem.evaluate_exactly(self.x, self.smoothing)
        if current is None or not np.isfinite(current.value):
            self.best_value = np.nan if current is None else current.value
            return "failed"
        self.record(current)
        while True:
            proved = self.certified and self.gap(min(current.value, self.best_value)) <= self.tol
            if proved or current.value <= self.problem.zero:
                return "converged"
            if self.evaluations_since_lowest >= _PATIENCE:
                return "converged"
            if self.n_iter >= self.max_iter:
                return "max_iter"
            previous, moved = current, self.inner_steps()
            if moved:
                current = self.evaluate_or_backtrack(previous)
                self.record(current)
                if self.watcher and self.watcher(self.iteration(current)):
                    return "interrupted"
            decrease = (previous.smoothed - current.smoothed) / max(current.smoothed, 1e-300)
            smoothing_error = current.smoothing_error / max(current.value, 1e-300)
            accurate = smoothing_error <= self.tol / 2
            if accurate and not self.certified and decrease <= 0.1 * self.tol:
                return "converged"
            if decrease <= 0.1 * self.tol and self.may_be_at_saddle():
                left = self.leave_saddle(current)
                if left is not None:
                    current = left
                    continue
                moved = moved and decrease > 1e-3 * self.tol
            if accurate and not moved:
                return "stalled"
            if not accurate and (
                decrease <= self.sufficient_decrease(current, smoothing_error) or not moved
            ):
                if self.smoothing <= self.min_smoothing:
                    return "stalled"
                current = self.reduce_smoothing(current)

    def may_be_at_saddle(self) -> bool:
        """Return whether the last exact evaluations hardly reduced the gap, and steps are left."""
        evaluated = len(self.history["objective"])
        checked_lately = evaluated - self.checked_for_saddle <= _EVALUATIONS_FOR_GAP
        if not self.certified or checked_lately or self.n_iter >= self.max_iter:
            return False
        before, now = (
            1 - self.history["lower_bound"][k] / self.history["objective"][k]
            for k in (-1 - _EVALUATIONS_FOR_GAP, -1)
        )
        return now > 0.9 * before

    def leave_saddle(self, current: Evaluation) -> Evaluation | None:
        """Move along a descent path; return None if that lowers the objective too little."""
        self.checked_for_saddle = len(self.history["objective"])
        path = self.problem.descent_path(self.x, self.smoothing)
        if path is None:
            return None
        objective = self.problem.smoothed(self.smoothing)
        best, lowest = 0.0, (1 - 1e-3 * self.tol) * current.smoothed
        for t in _PATH_STEPS:
            value, _ = objective.value_and_gradient(path(t))
            if value < lowest:
                best, lowest = t, value
            elif best:
                break
        del objective  # with the memory of its evaluations
        while best >= _PATH_STEPS[0]:
            x = path(best)
            left = self.problem.evaluate_exactly(x, self.smoothing)
            if left is not None and left.smoothed <= current.smoothed:
                self.memory.clear()
                self.n_iter += 1
                self.x = x
                self.record(left)
                return left
            best /= 2
        if best:  # points of the path were evaluated
            self.problem.evaluate_exactly(self.x, self.smoothing)  # the working set of x again
        return None

    def sufficient_decrease(self, current: Evaluation, smoothing_error: float) -> float:
        """Return the relative decrease below which the smoothing is reduced."""
        if not self.certified:
            return 0.1 * self.tol
        infeasibility = (current.dual_value - current.lower_bound) / max(current.value, 1e-300)
        feasible = infeasibility <= _INFEASIBILITY_FACTOR * smoothing_error
        return np.inf if feasible else 1e-3 * self.tol

    def reduce_smoothing(self, current: Evaluation) -> Evaluation:
        """Smooth the hinges less, at the same point with the same working set."""
        self.smoothing *= _SMOOTHING_FACTOR
        current = self.problem.evaluate_exactly(self.x, self.smoothing) or current
        self.lower_bound = max(self.lower_bound, current.lower_bound)
        return current

    def inner_steps(self) -> bool:
        """Take L-BFGS steps on the working set; return whether there was any."""
        objective = self.problem.smoothed(self.smoothing)
        point = Point(self.x, *objective.value_and_gradient(self.x))
        n_steps = min(self.n_inner_steps, self.max_iter - self.n_iter)
        for step in range(n_steps):
            lower = self.memory.step(objective, point)
            if lower is None:
                return step > 0 and self.accept(point)
            point = lower
            self.last = point.x
            self.n_iter += 1
        return self.accept(point)

    def accept(self, point: Point) -> bool:
        self.previous_x, self.x = self.x, point.x
        return True

    def evaluate_or_backtrack(self, previous: Evaluation) -> Evaluation:
        """Evaluate the new point exactly; halve the way to it while the objective increases."""
        for _ in range(_MAX_BACKTRACKS):
            current = self.problem.evaluate_exactly(self.x, self.smoothing)
            if current is not None and current.smoothed <= previous.smoothed:
                low, high = _UNSEEN_SHARES_FOR_INTERVAL
                if current.unseen_loss > high * current.smoothed:
                    self.n_inner_steps = max(2, self.n_inner_steps // 2)
                elif current.unseen_loss < low * current.smoothed:
                    self.n_inner_steps = min(_INNER_STEPS[1], 2 * self.n_inner_steps)
                return current
            self.x = self.last = (self.x + self.previous_x) / 2
            self.n_inner_steps = 2
            self.memory.clear()
        self.x = self.previous_x
        current = self.problem.evaluate_exactly(self.x, self.smoothing)
        return previous if current is None else current

    def evaluate_last(self) -> None:
        """Evaluate the last point exactly, unless that was done."""
        if self.last is not self.evaluated:
            self.x = self.last
            current = self.problem.evaluate_exactly(self.x, self.smoothing)
            if current is not None and np.isfinite(current.value):
                self.record(current)

    def record(self, current: Evaluation) -> None:
        self.last = self.evaluated = self.x
        self.lower_bound = max(self.lower_bound, current.lower_bound)
        if self.validation_error is not None:
            error = self.validation_error(self.x)
            self.evaluations_since_lowest += 1
            if error < self.lowest_error:
                self.evaluations_since_lowest = 0
            if error <= self.lowest_error:
                self.best, self.best_value, self.lowest_error = self.x, current.value, error
        elif not current.value >= self.best_value:  # also if that is still nan
            self.best, self.best_value = self.x, current.value
        entry = (current.value, self.n_iter, self.lower_bound)
        for name, number in zip(self.history, entry, strict=True):
            self.history[name].append(number)

    def iteration(self, current: Evaluation) -> Iteration:
        """Return the state for the watcher."""
        gap = self.gap(min(current.value, self.best_value)) if self.certified else None
        return Iteration(self.n_iter, self.best, current.value, gap)

    def gap(self, value: float) -> float:
        """Return the relative gap between a value and the lower bound."""
        return max(0.0, value - self.lower_bound) / value if value > 0 else 0.0

    def solution(self, status: Status) -> Solution:
        return Solution(
            x=self.best,
            value=self.best_value,
            n_iter=max(1, self.n_iter),
            status=status,
            gap=float(self.gap(self.best_value)) if np.isfinite(self.best_value) else None,
            history={name: np.asarray(numbers) for name, numbers in self.history.items()},
        )
