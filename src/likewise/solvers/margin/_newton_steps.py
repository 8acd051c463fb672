"""Interior-point steps in some of the multipliers, the others at rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise.solvers._protocols import Status
from likewise.solvers.margin._multipliers import BoundedMultipliers
from likewise.solvers.margin._normal_equations import NormalEquations
from likewise.solvers.margin._run import MarginRun

_INSIDE = 0.995  # the share of the way to the boundary that a step may go
_SHORT = 0.1  # steps shorter than this get nowhere
_TOO_MANY_SHORT = 4
_NEAR = 1e-12  # of C: no nearer to a bound is a start taken
_SHORTEST = 1e-6
_START = 0.1  # of C: far from both bounds; ⟨M, X⟩ may then be far too large, which matters less


class NewtonSteps:
    """The state of an interior-point method: multipliers of the chosen constraints, and b.

    Parameters
    ----------
    run : MarginRun
        The problem, and the record of all steps.
    chosen : array of row numbers
        The constraints whose multipliers move; the others stay at 0.
    start : array of shape (n_constraints,), optional
        Multipliers to begin with, where none can end at a bound: from near a bound where it does
        not belong, a multiplier would take long to come away.
    """

    def __init__(self, run: MarginRun, chosen: IndexArray, start: FloatArray | None = None) -> None:
        self.run, self.problem, self.chosen = run, run.problem, chosen
        self.matrices = run.problem.matrices
        self.sign = self.matrices.sign[chosen]
        first = np.zeros(len(self.matrices))
        first[chosen] = _START * self.problem.C
        if start is not None and not self.problem.loss.reaches_zero:
            first = np.clip(start, _NEAR * self.problem.C, (1 - _NEAR) * self.problem.C)
        self.multipliers = np.asarray(self.problem.balanced(first))
        self.box = BoundedMultipliers(run.problem, self.sign, self.multipliers[chosen])
        self.face, self.q = run.point(self.multipliers)
        self.b = 0.0
        self.short_steps = 0
        self.mu: float | None = None  # of the barrier, once steps have been too short
        self.system = NormalEquations(self.matrices, chosen, self.sign)

    def take(self) -> Status | None:
        """Take steps until the end, or (None) until the chosen ones are not what is wrong."""
        while True:
            ended = self.run.record(self.multipliers, self.face.point, self.q)
            if ended is not None and self.run.may_end(ended):
                return ended
            if self._served():
                return ended
            if self.box.smooth:
                self._smooth_step()
            elif self.short_steps < _TOO_MANY_SHORT:
                self._step()
            else:
                self._safe_step()

    def _served(self) -> bool:
        """Whether the gap comes from constraints that were not chosen."""
        if len(self.chosen) == len(self.matrices):
            return False
        q, M = self.q[self.chosen], self.face.point
        violation = 1 - self.sign * (q + self.problem.intercept(q, self.sign))
        lost = float(self.problem.loss.value(violation).sum())
        primal = float(np.vdot(M, M)) / 2 + self.problem.C * lost
        dual, whole = self.run.dual[-1], self.run.primal[-1]
        return bool(primal - dual <= 0.1 * (whole - dual))

    def _step(self) -> None:
        box = self.box
        residual, along = self._factor()
        dx, ds, dt, db = self._direction(residual, along, 0.0, 0.0)
        if box.count:
            length = min(1.0, box.longest(dx, ds, dt))
            mu = box.owed() / box.count
            ahead = box.owed(length, dx, ds, dt) / box.count
            centre = mu * min(1.0, max(ahead / mu, 0.0)) ** 3
            dx, ds, dt, db = self._direction(residual, along, centre - ds * dx, centre + dt * dx)
        length = min(1.0, _INSIDE * box.longest(dx, ds, dt))
        self.short_steps = self.short_steps + 1 if length < _SHORT else 0
        box.move(length, dx, ds, dt)
        self.b += length * db
        self._look(box.x)

    def _smooth_step(self) -> None:
        """Take a step that no bound is in the way of, as far as the dual objective rises."""
        box = self.box
        residual, along = self._factor()
        dx, _, _, db = self._direction(residual, along, 0.0, 0.0)
        before, length = self.problem.dual(self.multipliers, self.face.point), 1.0
        while True:
            self._look(box.by_odds(length * dx), balanced=True)
            if self.problem.dual(self.multipliers, self.face.point) > before or length < _SHORTEST:
                break
            length /= 2
        box.x = self.multipliers[self.chosen]
        self.b += length * db

    def _look(self, x: FloatArray, *, balanced: bool = False) -> None:
        self.multipliers = self.multipliers.copy()
        self.multipliers[self.chosen] = x
        if balanced:
            self.multipliers = np.asarray(self.problem.balanced(self.multipliers))
        self.face, self.q = self.run.point(self.multipliers)

    def _safe_step(self) -> None:
        """Take a step that is sure to lower the dual objective with a barrier at the bounds.

        Where the projection bends, s and t may vanish before their time and block every step.
        Here they follow from x, and a line search on a convex function decides how far to go.
        """
        box = self.box
        count = max(box.count, 1)
        if self.mu is None:
            self.mu = (self.run.primal[-1] - self.run.dual[-1]) / count
        box.centre(self.mu)
        residual, along = self._factor()
        dx, ds, dt, db = self._direction(residual, along, self.mu, self.mu)
        slope = float((residual - self.b * self.sign) @ dx)
        length = min(1.0, 0.9 * box.longest(dx, np.zeros_like(ds), np.zeros_like(dt)))
        before, x = self._barrier(box.x), box.x
        while True:
            self._look(x + length * dx)
            if self._barrier(x + length * dx) <= before + 1e-4 * length * slope or length < 1e-8:
                break
            length /= 2
        box.move(length, dx, np.zeros_like(ds), np.zeros_like(dt))
        self.b += db
        if -slope <= 0.5 * self.mu * count:
            self.mu *= 0.2

    def _factor(self) -> tuple[FloatArray, FloatArray | None]:
        """Prepare to solve; return what is to vanish, and how λ moves with b where there is one."""
        theta, residual = self.box.prepare(self.q[self.chosen], self.b)
        self.system.factor(self.face, theta)
        return residual, self.system.solve(self.sign) if self.matrices.has_intercept else None

    def _barrier(self, x: FloatArray) -> float:
        """Return the dual objective, to be lowered, with logarithms at the bounds."""
        dual = self.problem.dual(self.multipliers, self.face.point)
        assert self.mu is not None
        return float(self.mu * self.box.logarithms(x) - dual)

    def _direction(
        self, residual: FloatArray, along: FloatArray | None, at_zero: Any, at_top: Any
    ) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Return the step towards complementarities ``sx = at_zero`` and ``t·room = at_top``."""
        dx, db = self.system.solve(self.box.right(residual, at_zero, at_top)), 0.0
        if along is not None:
            imbalance = float(self.multipliers @ self.matrices.sign)
            db = (float(self.sign @ dx) + imbalance) / float(self.sign @ along)
            dx = dx - db * along
        return dx, *self.box.slacks(dx, at_zero, at_top), db
