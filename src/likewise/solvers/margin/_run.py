"""What a solver of a margin problem keeps: every step's certificate, and the best of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from likewise._runtime.arrays import FloatArray
from likewise.solvers._protocols import Iteration, Solution, Status, Watcher

_ROUNDING = 1e-13
_SPARE_STEPS = 2


class MarginRun:
    """Judges multipliers by the gap between primal and dual, and keeps the best."""

    def __init__(self, problem: Any, tol: float, max_iter: int, watcher: Watcher | None) -> None:
        self.problem = problem
        self.tol = tol
        self.max_iter = max_iter
        self.watcher = watcher
        self.primal: list[float] = []
        self.dual: list[float] = []
        self.gap = np.inf
        self.value = np.nan
        self.n_steps = 0
        self.bound: Callable[[FloatArray], FloatArray] | None = None
        self.spare_steps = _SPARE_STEPS
        self.M = np.zeros((problem.matrices.differences.shape[1],) * 2)
        self.multipliers = np.zeros(len(problem.matrices))

    def point(self, multipliers: FloatArray) -> tuple[Any, FloatArray]:
        """Return the face that the multipliers project on, and ⟨M, X⟩ there."""
        matrices = self.problem.matrices
        face = self.problem.cone.face(matrices.combine(multipliers * matrices.sign))
        return face, matrices.inner(face.point)

    def record(
        self,
        multipliers: FloatArray,
        M: FloatArray,
        q: FloatArray,
        bound: Callable[[FloatArray], FloatArray] | None = None,
    ) -> Status | None:
        """Judge M and multipliers; return how to end, if this is the end.

        M is what the multipliers project on, unless `bound` makes their bound's matrix.
        """
        problem = self.problem
        primal = problem.primal(M, q, problem.intercept(q))
        if not np.isfinite(primal):
            return "stalled"  # what came before is the best there is
        feasible = problem.balanced(multipliers)
        bound_by = M if bound is None else bound(feasible)
        if bound is None and np.abs(feasible - multipliers).sum() > _ROUNDING * multipliers.sum():
            bound_by = self.point(feasible)[0].point
        dual = problem.dual(feasible, bound_by)
        self.primal.append(primal)
        self.dual.append(dual)
        gap = (primal - dual) / primal if primal > 0 else 0.0
        if gap <= self.gap:
            self.gap, self.M, self.multipliers, self.value = gap, M, feasible, primal
            self.bound = bound
        number = self.n_steps = len(self.primal) - 1
        if self.watcher is not None and number:
            here = Iteration(number, self.M, self.primal[-1])
            if self.watcher(here):
                return "interrupted"
        if gap <= self.tol:
            return "converged"
        return "max_iter" if number >= self.max_iter else None

    def may_end(self, ended: Status) -> bool:
        """Return whether a method whose multipliers only come near to 0 may end with this status.

        Steps after the gap was reached bring those at rest so near that they can be put to 0.
        """
        if ended != "converged" or not self.problem.loss.reaches_zero:
            return True
        self.spare_steps -= 1
        return self.spare_steps < 0 or self.n_steps >= self.max_iter

    def solution(self, status: Status) -> Solution:
        """Return the best of all steps, with multipliers that are at rest exactly at 0."""
        if status == "interrupted" and not self.primal:
            raise KeyboardInterrupt  # there is nothing yet to keep
        if self.gap <= self.tol:
            status = "converged"  # whatever befell the steps after that
        if np.isfinite(self.value) and self.problem.loss.reaches_zero:
            self._put_to_rest()
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

    def _put_to_rest(self) -> None:
        """Let go of constraints that are met with more room than their multiplier's share of C.

        An interior point has none that is exactly 0. What is left must be as good, or nothing is
        changed.
        """
        problem, sign = self.problem, self.problem.matrices.sign
        q = problem.matrices.inner(self.M)
        beyond = sign * (q + problem.intercept(q)) - 1
        at_rest = self.multipliers / problem.C < np.clip(beyond, 0, 1)
        multipliers = problem.balanced(np.where(at_rest, 0.0, self.multipliers))
        if self.bound is None:
            face, q = self.point(multipliers)
            M = bound_by = face.point
        else:
            M, bound_by = self.M, self.bound(multipliers)
        primal = problem.primal(M, q, problem.intercept(q))
        dual = problem.dual(multipliers, bound_by)
        gap = (primal - dual) / primal if primal > 0 else 0.0
        if gap <= max(self.gap, self.tol):
            self.gap, self.M, self.multipliers = gap, M, multipliers
            self.value = primal
            self.primal.append(primal)
            self.dual.append(dual)
