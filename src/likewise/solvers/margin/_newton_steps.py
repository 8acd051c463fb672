"""Interior-point steps in the multipliers of some constraints, the others fixed at 0."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise.solvers._protocols import Status
from likewise.solvers.margin._multipliers import BoundedMultipliers, BoundStep, Target
from likewise.solvers.margin._normal_equations import NormalEquations
from likewise.solvers.margin._run import MarginRun

_BOUNDARY_SHARE = 0.995  # of the way to the boundary that a step may go
_SHORT = 0.1  # shorter steps make no progress
_MAX_SHORT_STEPS = 4
_START_DISTANCE = 1e-12  # of C, from a given start to the bounds
_MIN_LENGTH = 1e-6
_START = 0.1  # of C: far from both bounds; ⟨M, X⟩ may then be far too large, which matters less


class NewtonSteps:
    """The state of an interior-point method: the multipliers of chosen constraints, and b.

    Parameters
    ----------
    run : MarginRun
        The problem, and the record of all steps.
    chosen : int array
        The constraints whose multipliers move; the others stay at 0.
    start : array of shape (n_constraints,), optional
        Initial multipliers. Used only where the loss's derivative cannot be 0: from near the wrong
        bound, a multiplier would need many steps.
    """

    def __init__(self, run: MarginRun, chosen: IndexArray, start: FloatArray | None = None) -> None:
        self.run, self.problem, self.chosen = run, run.problem, chosen
        self.matrices = run.problem.matrices
        self.sign = self.matrices.sign[chosen]
        first = np.zeros(len(self.matrices))
        first[chosen] = _START * self.problem.C
        if start is not None and not self.problem.loss.reaches_zero:
            distance = _START_DISTANCE
            first = np.clip(start, distance * self.problem.C, (1 - distance) * self.problem.C)
        self.multipliers = np.asarray(self.problem.balanced(first))
        self.bounded = BoundedMultipliers(run.problem, self.sign, self.multipliers[chosen])
        self.jacobian, self.q = run.evaluate(self.multipliers)
        self.b = 0.0
        self.n_short_steps = 0
        self.mu: float | None = None  # of the barrier, once there were too many short steps
        self.system = NormalEquations(self.matrices, chosen, self.sign)

    def solve(self) -> Status | None:
        """Take steps until the run stops; None if the gap is due to constraints not chosen."""
        while True:
            status = self.run.record(self.multipliers, self.jacobian.projection, self.q)
            if status is not None and self.run.may_stop(status):
                return status
            if self._gap_is_elsewhere():
                return status
            if self.bounded.is_barrier_free:
                self._log_odds_step()
            elif self.n_short_steps < _MAX_SHORT_STEPS:
                self._predictor_corrector_step()
            else:
                self._barrier_step()

    def _gap_is_elsewhere(self) -> bool:
        """Return whether the gap is due to constraints that were not chosen."""
        if len(self.chosen) == len(self.matrices):
            return False
        q, M = self.q[self.chosen], self.jacobian.projection
        violation = 1 - self.sign * (q + self.problem.intercept(q, self.sign))
        loss = float(self.problem.loss.value(violation).sum())
        primal_of_chosen = float(np.vdot(M, M)) / 2 + self.problem.C * loss
        primal, dual = self.run.primal[-1], self.run.dual[-1]
        return bool(primal_of_chosen - dual <= 0.1 * (primal - dual))

    def _predictor_corrector_step(self) -> None:
        """Take a step of Mehrotra's method."""
        bounded = self.bounded
        residual, along_b = self._factorise()
        step, db = self._direction(residual, along_b, 0.0, 0.0)
        if bounded.n_bounds:
            length = min(1.0, bounded.max_length(step))
            mu = bounded.complementarity() / bounded.n_bounds
            predicted = bounded.complementarity_after(length, step) / bounded.n_bounds
            target = mu * min(1.0, max(predicted / mu, 0.0)) ** 3
            step, db = self._direction(
                residual,
                along_b,
                target - step.lower_dual * step.values,
                target + step.upper_dual * step.values,
            )
        length = min(1.0, _BOUNDARY_SHARE * bounded.max_length(step))
        self.n_short_steps = self.n_short_steps + 1 if length < _SHORT else 0
        bounded.apply(length, step)
        self.b += length * db
        self._evaluate(bounded.values)

    def _log_odds_step(self) -> None:
        """Take a step in the log odds, halved until the dual objective increases."""
        bounded = self.bounded
        residual, along_b = self._factorise()
        step, db = self._direction(residual, along_b, 0.0, 0.0)
        before, length = self.problem.dual(self.multipliers, self.jacobian.projection), 1.0
        while True:
            self._evaluate(bounded.after_log_odds_step(length * step.values), balanced=True)
            dual = self.problem.dual(self.multipliers, self.jacobian.projection)
            if dual > before or length < _MIN_LENGTH:
                break
            length /= 2
        bounded.values = self.multipliers[self.chosen]
        self.b += length * db

    def _barrier_step(self) -> None:
        """Take a step that is sure to decrease the negative dual objective with a log barrier.

        Near kinks of the projection, the dual variables of the bounds may vanish too early and
        block every step of Mehrotra's method. Here they follow from the multipliers, and a line
        search on a convex function chooses the length.
        """
        bounded = self.bounded
        count = max(bounded.n_bounds, 1)
        if self.mu is None:
            self.mu = (self.run.primal[-1] - self.run.dual[-1]) / count
        bounded.centre(self.mu)
        residual, along_b = self._factorise()
        step, db = self._direction(residual, along_b, self.mu, self.mu)
        dx = step.values
        step = BoundStep(dx, np.zeros_like(dx), np.zeros_like(dx))
        derivative = float((residual - self.b * self.sign) @ dx)
        length = min(1.0, 0.9 * bounded.max_length(step))
        before, x = self._barrier(bounded.values), bounded.values
        while True:
            self._evaluate(x + length * dx)
            allowed = before + 1e-4 * length * derivative
            if self._barrier(x + length * dx) <= allowed or length < 1e-8:
                break
            length /= 2
        bounded.apply(length, step)
        self.b += db
        if -derivative <= 0.5 * self.mu * count:
            self.mu *= 0.2

    def _evaluate(self, values: FloatArray, *, balanced: bool = False) -> None:
        self.multipliers = self.multipliers.copy()
        self.multipliers[self.chosen] = values
        if balanced:
            self.multipliers = np.asarray(self.problem.balanced(self.multipliers))
        self.jacobian, self.q = self.run.evaluate(self.multipliers)

    def _factorise(self) -> tuple[FloatArray, FloatArray | None]:
        """Factor the system; return the residual, and the solution for h where b is free."""
        weights, residual = self.bounded.linearise(self.q[self.chosen], self.b)
        self.system.factor(self.jacobian, weights)
        return residual, self.system.solve(self.sign) if self.matrices.has_intercept else None

    def _barrier(self, values: FloatArray) -> float:
        """Return the negative dual objective with a log barrier at the bounds."""
        dual = self.problem.dual(self.multipliers, self.jacobian.projection)
        assert self.mu is not None
        return float(self.mu * self.bounded.log_barrier(values) - dual)

    def _direction(
        self, residual: FloatArray, along_b: FloatArray | None, lower: Target, upper: Target
    ) -> tuple[BoundStep, float]:
        """Return the step towards complementarity products `lower` and `upper`, and that of b."""
        dx, db = self.system.solve(self.bounded.rhs(residual, lower, upper)), 0.0
        if along_b is not None:
            imbalance = float(self.multipliers @ self.matrices.sign)
            db = (float(self.sign @ dx) + imbalance) / float(self.sign @ along_b)
            dx = dx - db * along_b
        return self.bounded.complete(dx, lower, upper), db
