"""The record of a margin solver: the certificate of every step, and the best point so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from likewise._runtime.arrays import FloatArray
from likewise.solvers._protocols import Iteration, Solution, Status, Watcher
from likewise.solvers.margin.problem import (
    MarginObjective,
    ProjectionJacobian,
    ProjectionWithJacobian,
)

_ROUNDING = 1e-13
_EXTRA_STEPS = 2

BoundMatrix: TypeAlias = Callable[[FloatArray], FloatArray]
"""Maps multipliers λ to a matrix A(λ) + Y with Y in the dual cone; its norm bounds ‖P(A(λ))‖."""


class MarginRun:
    """Computes the duality gap of multipliers, and keeps the point with the smallest.

    Parameters
    ----------
    problem : MarginObjective
        The problem.
    projection : callable or None
        The projection on the cone, with its Jacobian. None where the cone has no such projection,
        and each recorded point comes with its own `BoundMatrix`.
    tol : float
        The relative duality gap to reach.
    max_iter : int
        The maximum number of steps.
    watcher : callable or None
        Called with an `Iteration` after each step; returns True to stop.

    Attributes
    ----------
    M, multipliers : arrays
        The best point.
    value, gap : float
        Its primal objective, and its relative duality gap.
    primal, dual : lists of float
        Both objectives at every step.
    """

    def __init__(
        self,
        problem: MarginObjective,
        projection: ProjectionWithJacobian | None,
        tol: float,
        max_iter: int,
        watcher: Watcher | None = None,
    ) -> None:
        self.problem = problem
        self.projection = projection
        self.tol = tol
        self.max_iter = max_iter
        self.watcher = watcher
        self.values: list[tuple[float, float]] = []  # primal and dual of each step
        self.gap = np.inf
        self.value = np.nan
        self.n_steps = 0
        self.bound_matrix: BoundMatrix | None = None
        self.extra_steps = _EXTRA_STEPS
        self.M = np.zeros((problem.matrices.n_features,) * 2)
        self.multipliers = np.zeros(len(problem.matrices))

    @property
    def primal(self) -> list[float]:
        """The objective after each step."""
        return [primal for primal, _ in self.values]

    @property
    def dual(self) -> list[float]:
        """The lower bound of the optimum after each step."""
        return [dual for _, dual in self.values]

    def evaluate(self, multipliers: FloatArray) -> tuple[ProjectionJacobian, FloatArray]:
        """Return the projection of A(λ) with its Jacobian, and ``⟨M, X⟩`` there."""
        assert self.projection is not None
        matrices = self.problem.matrices
        jacobian = self.projection(matrices.combine(multipliers * matrices.sign))
        return jacobian, matrices.inner(jacobian.projection)

    def record(
        self,
        multipliers: FloatArray,
        M: FloatArray,
        q: FloatArray,
        bound_matrix: BoundMatrix | None = None,
    ) -> Status | None:
        """Record a step, and return the status if the solver should stop.

        M is the projection of A(λ), unless `bound_matrix` is given.
        """
        problem = self.problem
        primal = problem.primal(M, q, problem.intercept(q))
        if not np.isfinite(primal):
            return "stalled"  # the best of the steps before is kept
        feasible = problem.balanced(multipliers)
        bound = M if bound_matrix is None else bound_matrix(feasible)
        changed = np.abs(feasible - multipliers).sum() > _ROUNDING * multipliers.sum()
        if bound_matrix is None and changed:
            bound = self.evaluate(feasible)[0].projection
        dual = problem.dual(feasible, bound)
        self.values.append((primal, dual))
        gap = _relative_gap(primal, dual)
        if gap <= self.gap:
            best = gap, M, feasible, primal, bound_matrix
            # In one statement, which no interrupt divides.
            self.gap, self.M, self.multipliers, self.value, self.bound_matrix = best
        number = self.n_steps = len(self.values) - 1
        if self.watcher is not None and number:
            iteration = Iteration(number, self.M, primal, self.gap)
            if self.watcher(iteration):
                return "interrupted"
        if gap <= self.tol:
            return "converged"
        return "max_iter" if number >= self.max_iter else None

    def may_stop(self, status: Status) -> bool:
        """Return whether an interior-point method may stop with this status.

        Its multipliers are never exactly 0. A few steps after the gap is reached, those of inactive
        constraints are small enough to be set to 0.
        """
        if status != "converged" or not self.problem.loss.reaches_zero:
            return True
        self.extra_steps -= 1
        return self.extra_steps < 0 or self.n_steps >= self.max_iter

    def solution(self, status: Status) -> Solution:
        """Return the best of all steps, with the multipliers of inactive constraints exactly 0."""
        if status == "interrupted" and np.isnan(self.value):
            raise KeyboardInterrupt  # there is no point to return
        if self.gap <= self.tol:
            status = "converged"  # even if a later step failed
        if np.isfinite(self.value) and self.problem.loss.reaches_zero:
            self._drop_inactive()
        primal, dual = np.asarray(self.primal), np.asarray(self.dual)
        with np.errstate(divide="ignore", invalid="ignore"):
            gaps = np.where(primal > 0, (primal - dual) / primal, 0.0)
        return Solution(
            x=self.M,
            value=self.value,
            n_iter=max(1, self.n_steps),
            status=status if np.isfinite(self.value) else "failed",
            gap=float(self.gap),
            history={"objective": primal, "primal": primal, "dual": dual, "gap": gaps},
            multipliers=self.multipliers,
        )

    def _drop_inactive(self) -> None:
        """Set multipliers to 0 where x/C is smaller than the distance beyond the margin.

        The result is kept if its gap is at most the present one or `tol`.
        """
        problem, sign = self.problem, self.problem.matrices.sign
        q = problem.matrices.inner(self.M)
        beyond_margin = sign * (q + problem.intercept(q)) - 1
        inactive = self.multipliers / problem.C < np.clip(beyond_margin, 0, 1)
        multipliers = problem.balanced(np.where(inactive, 0.0, self.multipliers))
        if self.bound_matrix is None:
            jacobian, q = self.evaluate(multipliers)
            M = bound = jacobian.projection
        else:
            M, bound = self.M, self.bound_matrix(multipliers)
        primal = problem.primal(M, q, problem.intercept(q))
        dual = problem.dual(multipliers, bound)
        gap = _relative_gap(primal, dual)
        if gap <= max(self.gap, self.tol):
            self.gap, self.M, self.multipliers, self.value = gap, M, multipliers, primal
            self.values.append((primal, dual))


def _relative_gap(primal: float, dual: float) -> float:
    return (primal - dual) / primal if primal > 0 else 0.0
