"""Interior-point steps in some of the multipliers, the others at rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.solvers._margin_run import MarginRun
from likewise.solvers._normal_equations import NormalEquations
from likewise.solvers._protocols import Status

Reals = NDArray[np.float64]
Index = NDArray[np.int64]

_INSIDE = 0.995  # the share of the way to the boundary that a step may go
_START = 0.1  # of C: far from both bounds; ⟨M, X⟩ may then be far too large, which matters less
_LEAST = 1e-14  # of C: nearer to a bound rounding would put a multiplier on it


class NewtonSteps:
    """The state of an interior-point method: multipliers x of the chosen constraints, and b.

    A slope between its bounds has the violation ``u(x)`` of the loss's conjugate. At a bound a
    multiplier takes up the rest: s where x is at 0, t where it is at C. What is to vanish is
    ``h(⟨M, X⟩ + b) - 1 + u - s + t``, with ``sx = t(C - x) = μ`` and μ going to 0.

    Parameters
    ----------
    run : MarginRun
        The problem, and the record of all steps.
    chosen : array of row numbers
        The constraints whose multipliers move.
    start : array of shape (n_constraints,), optional
        Multipliers of a similar problem, to start halfway to.
    """

    def __init__(self, run: MarginRun, chosen: Index, start: Reals | None = None) -> None:
        self.run, self.problem, self.chosen = run, run.problem, chosen
        self.matrices, self.loss, self.C = run.problem.matrices, run.problem.loss, run.problem.C
        self.sign = self.matrices.sign[chosen]
        first = np.zeros(len(self.matrices))
        first[chosen] = _START * self.C
        if start is not None:
            first = (first + start) / 2
        self.multipliers = np.asarray(self.problem.balanced(first))
        self.x = self.multipliers[chosen]
        self.face, self.q = run.point(self.multipliers)
        self.b = 0.0
        self.s = np.full(len(chosen), float(self.loss.reaches_zero))
        self.t = np.full(len(chosen), float(self.loss.reaches_one))
        self.system = NormalEquations(self.matrices, chosen, self.sign)

    def take(self) -> Status | None:
        """Take steps until the end, or (None) until the chosen ones are not what is wrong."""
        while True:
            ended = self.run.record(self.multipliers, self.face.point, self.q)
            if ended is not None:
                return ended
            if self._served():
                return None
            self._step()

    def _served(self) -> bool:
        """Whether the gap comes from constraints that were not chosen."""
        if len(self.chosen) == len(self.matrices):
            return False
        q, M = self.q[self.chosen], self.face.point
        violation = 1 - self.sign * (q + self.problem.intercept(q, self.sign))
        primal = float(np.vdot(M, M)) / 2 + self.C * float(self.loss.value(violation).sum())
        dual, whole = self.run.dual[-1], self.run.primal[-1]
        return bool(primal - dual <= 0.1 * (whole - dual))

    def _step(self) -> None:
        lower, upper = self.loss.reaches_zero, self.loss.reaches_one
        x, s, t = self.x, self.s, self.t
        room = self.C - x if upper else np.ones(len(x))
        slopes = x / self.C
        residual = self.sign * (self.q[self.chosen] + self.b) - 1 - s + t
        residual += self.loss.conjugate_slope(slopes)
        curvature = self.loss.conjugate_curvature(slopes) / self.C + s / x + t / room
        self.system.factor(self.face, 1 / curvature)
        self._prepare_balance()
        dx, db, ds, dt = self._direction(residual, room, 0.0, 0.0)
        if lower or upper:
            length = min(1.0, self._longest(dx, ds, dt))
            count = len(x) * (int(lower) + int(upper))
            mu = float(s @ x + t @ room) / count
            ahead = float((s + length * ds) @ (x + length * dx))
            ahead += float((t + length * dt) @ (room - length * dx))
            centre = mu * min(1.0, max(ahead / count / mu, 0.0)) ** 3
            dx, db, ds, dt = self._direction(residual, room, centre - ds * dx, centre + dt * dx)
        length = min(1.0, _INSIDE * self._longest(dx, ds, dt))
        self.x, self.b = np.maximum(x + length * dx, _LEAST * self.C), self.b + length * db
        if np.isfinite(self.loss.largest_slope):
            self.x = np.minimum(self.x, (1 - _LEAST) * self.C)
        self.s, self.t = s + length * ds, t + length * dt
        self.multipliers = self.multipliers.copy()
        self.multipliers[self.chosen] = self.x
        self.face, self.q = self.run.point(self.multipliers)

    def _prepare_balance(self) -> None:
        if self.matrices.free_threshold:
            self._along_sign = self.system.solve(self.sign)
            self._imbalance = float(self.multipliers @ self.matrices.sign)

    def _direction(
        self, residual: Reals, room: Reals, at_zero: Any, at_top: Any
    ) -> tuple[Reals, float, Reals, Reals]:
        """Return the step towards complementarities ``sx = at_zero`` and ``t·room = at_top``."""
        x, s, t = self.x, self.s, self.t
        lower, upper = self.loss.reaches_zero, self.loss.reaches_one
        towards_s = at_zero / x if lower else 0.0
        towards_t = at_top / room if upper else 0.0
        dx = self.system.solve(-residual - s + towards_s + t - towards_t)
        db = 0.0
        if self.matrices.free_threshold:
            db = (float(self.sign @ dx) + self._imbalance) / float(self.sign @ self._along_sign)
            dx = dx - db * self._along_sign
        ds = (towards_s - s - s / x * dx) if lower else np.zeros_like(x)
        dt = (towards_t - t + t / room * dx) if upper else np.zeros_like(x)
        return dx, db, ds, dt

    def _longest(self, dx: Reals, ds: Reals, dt: Reals) -> float:
        """Return the longest step that keeps everything between its bounds."""
        kept = [(self.x, dx), (self.s, ds), (self.t, dt)]
        if np.isfinite(self.loss.largest_slope):
            kept.append((self.C - self.x, -dx))
        longest = np.inf
        for value, change in kept:
            falls = change < 0
            if falls.any():
                longest = min(longest, float((value[falls] / -change[falls]).min()))
        return longest
