"""A Newton step in all multipliers at once, which begins where coordinate ascent has come to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise.solvers.margin._normal_equations import NormalEquations, system_fits
from likewise.solvers.margin._run import MarginRun
from likewise.solvers.margin.problem import ProjectionJacobian

_MIN_LENGTH = 0.05
_MAX_TRIALS = 3  # of the proximity, each ten times the one before
_SHORT = 0.3


class ProximalStep(NamedTuple):
    """Multipliers with a larger dual objective, their b, and the τ of the next step."""

    multipliers: FloatArray
    b: float
    proximity: float


class ProximalNewton:
    """Steps on the dual objective less ``τ/2 ‖λ - λ₀‖²``, with the bounds of λ.

    ``λ₀ + v/τ`` with the violations v predicts where a multiplier goes: to a bound, or between the
    bounds. The first move there, and the others solve the linearised optimality conditions, in
    which the Jacobian of the projection stands for the cone. Few multipliers end between their
    bounds, hence the system is small.

    Parameters
    ----------
    run : MarginRun
        The problem.
    upper_bound : float
        The largest multiplier allowed.
    curvature : float
        The second derivative of the loss's conjugate term in λ.
    """

    def __init__(self, run: MarginRun, upper_bound: float, curvature: float) -> None:
        self.run, self.problem, self.matrices = run, run.problem, run.problem.matrices
        self.upper_bound, self.curvature = upper_bound, curvature
        self.work = 0.0

    def step(self, multipliers: FloatArray, proximity: float) -> ProximalStep | None:
        """Return a step that increases the dual objective; None if none was found.

        Parameters
        ----------
        multipliers : array of shape (n_constraints,)
            Feasible multipliers λ₀.
        proximity : float
            τ.
        """
        jacobian, q = self.run.evaluate(multipliers)
        before = self.problem.dual(multipliers, jacobian.projection)
        for _ in range(_MAX_TRIALS):
            found = self._direction(multipliers, jacobian, q, proximity)
            if found is None:
                return None
            change, b = found
            longest, length = None, 1.0
            best = before
            while length > _MIN_LENGTH:
                moved = np.clip(multipliers + length * change, 0, self.upper_bound)
                moved = np.asarray(self.problem.balanced(moved))
                dual = self.problem.dual(moved, self._projected(moved))
                if dual > best:
                    best, longest = dual, (length, moved)
                elif longest is not None:
                    break
                length /= 2
            if longest is not None:
                length, moved = longest
                factor = 0.2 if length == 1 else 1.0 if length > _SHORT else 4.0
                return ProximalStep(moved, b, factor * proximity)
            proximity *= 10
        return None

    def _direction(
        self, multipliers: FloatArray, jacobian: ProjectionJacobian, q: FloatArray, tau: float
    ) -> tuple[FloatArray, float] | None:
        """Return the change of all multipliers, and the new b."""
        matrices, sign = self.matrices, self.matrices.sign
        b = self.problem.intercept(q)
        violation = 1 - sign * (q + b) - self.curvature * multipliers
        predicted = multipliers + violation / (tau + self.curvature)
        between = np.flatnonzero((predicted > 0) & (predicted < self.upper_bound))
        if not len(between) or not system_fits(len(between), jacobian.n_coordinates):
            return None
        change = np.clip(predicted, 0, self.upper_bound) - multipliers
        change[between] = 0
        self.work += newton_work(len(between), jacobian.n_coordinates)
        moved = jacobian.apply(matrices.combine(change * sign))
        rhs = violation[between] - sign[between] * matrices.subset(between).inner(moved)
        imbalance = float((multipliers + change) @ sign)
        solved, db = self._solve(jacobian, between, rhs, tau, imbalance)
        change[between] = solved
        return change, b + db

    def _solve(
        self,
        jacobian: ProjectionJacobian,
        between: IndexArray,
        rhs: FloatArray,
        tau: float,
        imbalance: float,
    ) -> tuple[FloatArray, float]:
        """Return the change of the multipliers between their bounds, and that of b."""
        sign = self.matrices.sign[between]
        system = NormalEquations(self.matrices, between, sign)
        system.factor(jacobian, np.full(len(between), 1 / (tau + self.curvature)))
        change = system.solve(rhs)
        if not self.matrices.has_intercept:
            return change, 0.0
        along_b = system.solve(sign)
        db = (float(sign @ change) + imbalance) / float(sign @ along_b)
        return change - db * along_b, db

    def _projected(self, multipliers: FloatArray) -> FloatArray:
        assert self.run.projection is not None
        A = self.matrices.combine(multipliers * self.matrices.sign)
        return self.run.projection(A).projection


def newton_work(n_constraints: int, n_coordinates: int) -> float:
    """Return the multiplications of forming and factoring the system of a step."""
    size = min(n_constraints, n_coordinates)
    return float(n_constraints) * n_coordinates * size / 2 + size**3 / 6
