"""One step of L-BFGS at a time, for functions that change a little between steps."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from likewise._runtime.arrays import Array
from likewise.solvers._protocols import Smooth

_SUFFICIENT = 1e-4  # Wolfe's conditions: share of the promised decrease, and of the slope left
_FLATTER = 0.9
_TRIALS = 25
_FIRST_MOVE = 0.1  # how far a step without experience goes, relative to the point's length


@dataclass(frozen=True)
class Point:
    """A place with what the function is there."""

    x: Array
    value: float
    gradient: Array


class QuasiNewton:
    """L-BFGS whose memory outlives changes of the function.

    A working set that grows, or a hinge that becomes sharper, changes the function but little of
    its curvature: starting each time from nothing would waste half of the steps.
    """

    def __init__(self, memory: int = 10) -> None:
        self._pairs: deque[tuple[Array, Array, float]] = deque(maxlen=memory)

    def forget(self) -> None:
        """Drop all that was learned about curvature."""
        self._pairs.clear()

    def step(self, objective: Smooth, here: Point) -> Point | None:
        """Return a lower point, or None if none is found."""
        found = self._search(objective, here) if self._pairs else None
        if found is None:
            self.forget()
            found = self._search(objective, here)
        if found is not None:
            self._learn(found.x - here.x, found.gradient - here.gradient)
        return found

    def _learn(self, move: Array, change: Array) -> None:
        move, change = move.ravel(), change.ravel()
        curvature = float(move @ change)
        if curvature > 1e-10 * float(np.linalg.norm(move)) * float(np.linalg.norm(change)):
            self._pairs.append((move, change, curvature))

    def _direction(self, gradient: Array) -> Array:
        """Return minus the inverse Hessian, as far as it is known, times the gradient."""
        direction = -gradient.ravel()
        shares = []
        for move, change, curvature in reversed(self._pairs):
            shares.append(float(move @ direction) / curvature)
            direction = direction - shares[-1] * change
        if self._pairs:
            _, change, curvature = self._pairs[-1]
            direction = direction * (curvature / float(change @ change))
        for move, change, curvature in self._pairs:
            direction = direction + (shares.pop() - float(change @ direction) / curvature) * move
        return direction.reshape(gradient.shape)

    def _search(self, objective: Smooth, here: Point) -> Point | None:
        """Find a step that meets Wolfe's weak conditions by bisection and doubling."""
        direction = self._direction(here.gradient)
        slope = float(np.vdot(direction, here.gradient))
        if not slope < 0:
            return None
        length, short, long = 1.0, 0.0, np.inf
        if not self._pairs:
            size = float(np.linalg.norm(here.x)) or 1.0
            length = _FIRST_MOVE * size / float(np.linalg.norm(direction))
        lowest: Point | None = None
        for _ in range(_TRIALS):
            x = here.x + length * direction
            value, gradient = objective.value_and_gradient(x)
            if not value <= here.value + _SUFFICIENT * length * slope:
                long = length
                bend = value - here.value - slope * length
                guess = -slope * length**2 / (2 * bend) if np.isfinite(bend) and bend > 0 else 0.0
                length = float(np.clip(guess, short + 0.1 * (long - short), (short + long) / 2))
                continue
            lowest = Point(x, value, gradient)
            if float(np.vdot(direction, gradient)) >= _FLATTER * slope:
                return lowest
            short = length
            length = (short + long) / 2 if long < np.inf else 2 * length
        return lowest
