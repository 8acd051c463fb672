"""L-BFGS, one step per call."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from likewise._runtime.arrays import Array
from likewise.solvers import Smooth

_ARMIJO = 1e-4
_WOLFE = 0.9
_LINE_SEARCH_TRIALS = 25
_FIRST_STEP = 0.1  # length of a step without curvature information, relative to that of x


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
