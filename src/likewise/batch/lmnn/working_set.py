"""L-BFGS on smoothed hinges over a working set, until a lower bound proves the result."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from likewise._runtime.arrays import Array
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
_EVALUATIONS_FOR_GAP = 6  # in which the gap must decrease where it may have a limit

_ARMIJO = 1e-4
_WOLFE = 0.9
_LINE_SEARCH_TRIALS = 25
_FIRST_STEP = 0.1  # length of a step without curvature information, relative to that of x


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
    """A sum of many hinges, few of which are active at a time."""

    def evaluate_exactly(self, x: Array, smoothing: float) -> Evaluation | None:
        """Evaluate all hinges at x and renew the working set; None if it would be too large."""
        ...

    def smoothed(self, smoothing: float) -> Smooth:
        """Return the objective over the working set with smoothed hinges."""
        ...


def working_set_lbfgs(
    problem: HingeProblem,
    start: Array,
    *,
    max_iter: int,
    tol: float,
    margin: float = 1.0,
    certified: bool = True,
    restricted: bool = False,
    smoothing: float = _FIRST_SMOOTHING,
    validation_error: Callable[[Array], float] | None = None,
    watcher: Watcher | None = None,
) -> Solution:
    """Minimise a sum of hinges, most of which are inactive.

    L-BFGS steps are taken on a working set with smoothed hinges. Every few steps all hinges are
    evaluated exactly, which gives the objective, a new working set and a lower bound. If the
    smoothed objective increased, or the working set would be too large, the steps are halved. The
    smoothing is reduced once it is the main part of the gap between objective and bound.

    Parameters
    ----------
    problem : HingeProblem
        The hinges.
    start : array
        First point; its exact evaluation must succeed.
    max_iter : int
        Number of L-BFGS steps allowed.
    tol : float
        Converged when (value - lower bound) / value is at most `tol`.
    margin : float
        The unit of the smoothing.
    certified : bool
        Whether the lower bound is one of this problem. If not, converged means that the smoothing
        error is below `tol` and that the last steps lowered the objective by less than a tenth of
        `tol`.
    restricted : bool
        Whether the points that can be reached may all be worse than the bound. The solver has then
        stalled if six exact evaluations did not reduce the gap by a tenth.
    smoothing : float
        The first smoothing, as a share of the margin.
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
    smoothings = (smoothing * margin, _MIN_SMOOTHING * margin)
    state = _State(
        problem, start, max_iter, tol, smoothings, certified, restricted, validation_error, watcher
    )
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
        smoothing: tuple[float, float],
        certified: bool,
        restricted: bool,
        validation_error: Callable[[Array], float] | None,
        watcher: Watcher | None,
    ) -> None:
        self.problem, self.x = problem, np.array(start, dtype=np.float64)
        self.max_iter, self.tol = max_iter, tol
        self.certified, self.restricted = certified, restricted
        self.smoothing, self.min_smoothing = smoothing
        self.validation_error, self.watcher = validation_error, watcher
        self.lowest_error, self.evaluations_since_lowest = np.inf, 0
        self.memory = LBFGSMemory()
        self.n_inner_steps = _INNER_STEPS[0]
        self.n_iter = 0
        self.best, self.best_value, self.lower_bound = self.x, np.nan, -np.inf
        self.last = self.x
        self.evaluated: Array | None = None  # the last point that was evaluated exactly
        self.history: dict[str, list[float]] = {"objective": [], "n_iter": [], "lower_bound": []}

    def run(self) -> Status:
        current = self.problem.evaluate_exactly(self.x, self.smoothing)
        if current is None or not np.isfinite(current.value):
            self.best_value = np.nan if current is None else current.value
            return "failed"
        first = current.value
        self.record(current)
        while True:
            # An objective whose infimum is 0 decreases without end and has no useful bound.
            proved = self.certified and self.gap(min(current.value, self.best_value)) <= self.tol
            if proved or current.value <= 1e-12 * first:
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
            if (accurate and not moved) or (self.restricted and self.gap_is_stuck()):
                return "stalled"
            if not accurate and (
                decrease <= self.sufficient_decrease(current, smoothing_error) or not moved
            ):
                if self.smoothing <= self.min_smoothing:
                    return "stalled"
                current = self.reduce_smoothing(current)

    def gap_is_stuck(self) -> bool:
        """Return whether the last exact evaluations hardly reduced the gap."""
        if len(self.history["objective"]) <= _EVALUATIONS_FOR_GAP:
            return False
        before, now = (
            1 - self.history["lower_bound"][k] / self.history["objective"][k]
            for k in (-1 - _EVALUATIONS_FOR_GAP, -1)
        )
        return now > 0.9 * before

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


@dataclass(frozen=True)
class Point:
    """A point with the value and the gradient of the objective."""

    x: Array
    value: float
    gradient: Array


class LBFGSMemory:
    """L-BFGS, one step per call, with a memory that outlives changes of the objective.

    A new working set or less smoothing changes little of the curvature. An empty memory after each
    change would cost about half of the steps.
    """

    def __init__(self, size: int = 10) -> None:
        self._pairs: deque[tuple[Array, Array, float]] = deque(maxlen=size)

    def clear(self) -> None:
        """Drop all curvature information."""
        self._pairs.clear()

    def step(self, objective: Smooth, point: Point) -> Point | None:
        """Return a point with a lower value, or None if the line search finds none."""
        lower = self._line_search(objective, point) if self._pairs else None
        if lower is None:
            self.clear()
            lower = self._line_search(objective, point)
        if lower is not None:
            self._update(lower.x - point.x, lower.gradient - point.gradient)
        return lower

    def _update(self, step: Array, change: Array) -> None:
        """Remember a step and the change of the gradient along it."""
        step, change = step.ravel(), change.ravel()
        curvature = float(step @ change)
        if curvature > 1e-10 * float(np.linalg.norm(step)) * float(np.linalg.norm(change)):
            self._pairs.append((step, change, curvature))

    def _direction(self, gradient: Array) -> Array:
        """Return minus the approximate inverse Hessian times the gradient (two-loop recursion)."""
        direction = -gradient.ravel()
        coefficients = []
        for step, change, curvature in reversed(self._pairs):
            coefficients.append(float(step @ direction) / curvature)
            direction = direction - coefficients[-1] * change
        if self._pairs:
            _, change, curvature = self._pairs[-1]
            direction = direction * (curvature / float(change @ change))
        for step, change, curvature in self._pairs:
            coefficient = coefficients.pop() - float(change @ direction) / curvature
            direction = direction + coefficient * step
        return direction.reshape(gradient.shape)

    def _line_search(self, objective: Smooth, point: Point) -> Point | None:
        """Find a step that meets the weak Wolfe conditions by bisection and doubling."""
        direction = self._direction(point.gradient)
        derivative = float(np.vdot(direction, point.gradient))
        if not derivative < 0:
            return None
        length, low, high = 1.0, 0.0, np.inf
        if not self._pairs:
            norm = float(np.linalg.norm(point.x)) or 1.0
            length = _FIRST_STEP * norm / float(np.linalg.norm(direction))
        lower: Point | None = None
        for _ in range(_LINE_SEARCH_TRIALS):
            x = point.x + length * direction
            value, gradient = objective.value_and_gradient(x)
            if not value <= point.value + _ARMIJO * length * derivative:
                high = length
                excess = value - point.value - derivative * length
                minimiser = 0.0  # of the quadratic through both values
                if np.isfinite(excess) and excess > 0:
                    minimiser = -derivative * length**2 / (2 * excess)
                length = float(np.clip(minimiser, low + 0.1 * (high - low), (low + high) / 2))
                continue
            lower = Point(x, value, gradient)
            if float(np.vdot(direction, gradient)) >= _WOLFE * derivative:
                return lower
            low = length
            length = (low + high) / 2 if high < np.inf else 2 * length
        return lower
