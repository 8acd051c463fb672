"""Multipliers strictly between their bounds, as an interior-point method moves them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit

from likewise._runtime.arrays import FloatArray

_LARGEST_CHANGE = 10.0  # of log odds in a step
_LEAST = 1e-14  # of C: nearer to a bound rounding would put a multiplier on it


class BoundedMultipliers:
    """Multipliers x of constraints, and what their bounds take up.

    A slope x/C between its bounds has the violation u of the loss's conjugate. At a bound a
    multiplier takes up the rest: s where x is at 0, t where it is at C. What is to vanish is
    ``h(⟨M, X⟩ + b) - 1 + u - s + t``, with ``sx = t(C - x) = μ`` and μ going to 0.
    """

    def __init__(self, problem: Any, sign: FloatArray, x: FloatArray) -> None:
        self.loss, self.C, self.sign, self.x = problem.loss, problem.C, sign, x
        self.s = np.full(len(x), float(self.loss.reaches_zero))
        self.t = np.full(len(x), float(self.loss.reaches_one))
        self.capped = bool(np.isfinite(self.loss.max_derivative))
        self.count = len(x) * (int(self.loss.reaches_zero) + int(self.loss.reaches_one))
        # Whether the loss itself keeps x between its bounds.
        self.smooth = self.count == 0 and self.capped

    @property
    def room(self) -> FloatArray:
        """How far x is from the upper bound that it may reach."""
        return self.C - self.x if self.loss.reaches_one else np.ones(len(self.x))

    def prepare(self, q: FloatArray, b: float) -> tuple[FloatArray, FloatArray]:
        """Return how far x moves per unit of violation, and what is to vanish."""
        slopes = self.x / self.C
        residual = (
            self.sign * (q + b) - 1 + self.loss.conjugate_derivative(slopes) - self.s + self.t
        )
        curvature = self.loss.conjugate_curvature(slopes) / self.C
        curvature = curvature + self.s / self.x + self.t / self.room
        return 1 / curvature, residual

    def right(self, residual: FloatArray, at_zero: Any, at_top: Any) -> FloatArray:
        """Return the right side of a step towards ``sx = at_zero`` and ``t·room = at_top``."""
        right = -residual - self.s + self.t
        if self.loss.reaches_zero:
            right = right + at_zero / self.x
        if self.loss.reaches_one:
            right = right - at_top / self.room
        return np.asarray(right)

    def slacks(self, dx: FloatArray, at_zero: Any, at_top: Any) -> tuple[FloatArray, FloatArray]:
        """Return the changes of s and t that go with a change of x."""
        ds, dt = np.zeros_like(dx), np.zeros_like(dx)
        if self.loss.reaches_zero:
            ds = at_zero / self.x - self.s - self.s / self.x * dx
        if self.loss.reaches_one:
            dt = at_top / self.room - self.t + self.t / self.room * dx
        return ds, dt

    def owed(self, length: float = 0.0, dx: Any = 0.0, ds: Any = 0.0, dt: Any = 0.0) -> float:
        """Return the sum of all complementarities, now or after a step."""
        at_zero = (self.s + length * ds) @ (self.x + length * dx)
        at_top = (self.t + length * dt) @ (self.room - length * dx)
        return float(at_zero + at_top)

    def longest(
        self, dx: FloatArray, ds: FloatArray, dt: FloatArray, *others: tuple[FloatArray, FloatArray]
    ) -> float:
        """Return the longest step that keeps everything, and others that must, above 0."""
        kept = [(self.s, ds), (self.t, dt), *others]
        if not self.smooth:
            kept.append((self.x, dx))
            if self.capped:
                kept.append((self.C - self.x, -dx))
        longest = np.inf
        for value, change in kept:
            falls = change < 0
            if falls.any():
                longest = min(longest, float((value[falls] / -change[falls]).min()))
        return longest

    def move(self, length: float, dx: FloatArray, ds: FloatArray, dt: FloatArray) -> None:
        """Take a step."""
        if self.smooth:
            self.x = self.by_odds(length * dx)
            return
        self.x = np.maximum(self.x + length * dx, _LEAST * self.C)
        if self.capped:
            self.x = np.minimum(self.x, (1 - _LEAST) * self.C)
        self.s, self.t = self.s + length * ds, self.t + length * dt

    def by_odds(self, dx: FloatArray) -> FloatArray:
        """Return x after a step taken in the log odds of x/C, where a smooth loss is linear.

        No bound is in the way there, and x may fall or rise by orders of magnitude at once.
        """
        shares = self.x / self.C
        change = np.clip(dx / (self.x * (1 - shares)), -_LARGEST_CHANGE, _LARGEST_CHANGE)
        return np.asarray(self.C * np.clip(expit(logit(shares) + change), _LEAST, 1 - _LEAST))

    def centre(self, mu: float) -> None:
        """Let s and t follow from x."""
        self.s = mu / self.x * self.loss.reaches_zero
        self.t = mu / self.room * self.loss.reaches_one

    def logarithms(self, x: FloatArray) -> float:
        """Return minus the logarithms of the distances to the bounds that x may reach."""
        total = 0.0
        if self.loss.reaches_zero:
            total -= float(np.log(x).sum())
        if self.loss.reaches_one:
            total -= float(np.log(self.C - x).sum())
        return total
