"""The interior-point method over the conic hull of the constraint matrices, ``M = Σ αₗXₗ``."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, eigh, solve_triangular

from likewise._runtime.arrays import FloatArray
from likewise._runtime.memory import require_memory
from likewise._runtime.threads import single_threaded_blas
from likewise.solvers._protocols import Solution, Status, Watcher
from likewise.solvers.margin._conic_coordinate_ascent import ConicBound, ConicCoordinateAscent
from likewise.solvers.margin._coordinate_ascent import sweep_budget
from likewise.solvers.margin._interior_point import (
    FIRST_SUBSET,
    MIN_FOR_SUBSETS,
    MIN_FOR_SWEEPS,
    stratified_sample,
)
from likewise.solvers.margin._multipliers import BoundedMultipliers, BoundStep, Target
from likewise.solvers.margin._normal_equations import (
    factor_with_diagonal,
    gram_of_columns,
    row_products,
    system_fits,
    weighted_row_sum,
)
from likewise.solvers.margin._run import MarginRun
from likewise.solvers.margin.problem import MarginObjective, ProjectionJacobian

_BOUNDARY_SHARE = 0.99  # of the way to the boundary that a step may go
_SUBSET_STEPS = 60  # for one subset of the constraints
_RELATIVE_COST = 3.0  # of a Newton step here, compared with one of `interior_point`


def conic_interior_point(
    problem: MarginObjective,
    start: FloatArray | None = None,
    *,
    max_iter: int,
    tol: float,
    watcher: Watcher | None = None,
) -> Solution:
    """Minimise a margin problem over ``M = Σ αₗXₗ`` with ``α ≥ 0``.

    As `interior_point`, with the weights α as further unknowns. Coordinate ascent runs first where
    there are many constraints. If it is forecast to take too long, Newton's method begins with a
    subset, and adds violated constraints and those whose weights should be positive. Each subset
    is then one step of the history.

    Parameters
    ----------
    problem : MarginObjective
        The problem. Its constraints are pairs.
    start : array of shape (n_constraints,), optional
        Multipliers of a similar problem; coordinate ascent begins with them.
    max_iter : int
        The maximum number of steps: evaluations of coordinate ascent, and Newton steps.
    tol : float
        The relative duality gap to reach.
    watcher : callable, optional
        Called with an `Iteration` after each step; returns True to stop.

    Returns
    -------
    Solution
        As that of `interior_point`.
    """
    run = MarginRun(problem, None, tol, max_iter, watcher)
    try:
        status = _solve(run, start)
    except KeyboardInterrupt:
        status = "interrupted"
    except FloatingPointError:
        status = "stalled"
    return run.solution(status)


def _solve(run: MarginRun, start: FloatArray | None) -> Status:
    n = len(run.problem.matrices)
    if n > MIN_FOR_SWEEPS and run.problem.loss.reaches_zero:
        budget = _RELATIVE_COST * sweep_budget(run.problem.matrices)
        status = ConicCoordinateAscent(run, start).solve(budget=budget)
        if status is not None:
            return status
    return _ConicNewtonSteps(run).solve() if n <= MIN_FOR_SUBSETS else _solve_by_subsets(run)


def _solve_by_subsets(run: MarginRun) -> Status:
    """Solve for some constraints; add violated ones and those whose weights should be positive."""
    problem, matrices = run.problem, run.problem.matrices
    n, bound = len(matrices), ConicBound(run.problem.matrices)
    chosen, n_steps = stratified_sample(matrices, FIRST_SUBSET), run.n_steps
    while True:
        # A subset that is hard to solve to the last digits is left for the next, larger one.
        max_iter = min(_SUBSET_STEPS, run.max_iter - n_steps)
        part = MarginRun(problem.subset(chosen), None, run.tol / 4, max_iter)
        _ConicNewtonSteps(part).solve()
        n_steps += part.n_steps
        multipliers = np.zeros(n)
        multipliers[chosen] = part.multipliers
        M, q = part.M, matrices.inner(part.M)
        slack = bound.slack(M, multipliers)
        status = run.record(multipliers, M, q, partial(bound.matrix, M))
        run.n_steps = n_steps
        if status is not None:
            return status
        if n_steps >= run.max_iter:
            return "max_iter"
        beyond_margin = matrices.sign * (q + problem.intercept(q)) - 1
        others = np.setdiff1d(np.arange(n), chosen)
        if not len(others):
            return "stalled"
        if problem.loss.reaches_zero and not system_fits(2 * len(chosen), matrices.n_entries):
            return ConicCoordinateAscent(run, run.multipliers).solve() or "stalled"
        half = len(chosen) // 2
        violated = others[np.argsort(beyond_margin[others], kind="stable")[:half]]
        generators = others[np.argsort(slack[others], kind="stable")[:half]]
        added = np.union1d(
            violated[beyond_margin[violated] < 0.1], generators[slack[generators] < 0]
        )
        chosen = np.union1d(chosen, added if len(added) else violated)


class _ConicStep(NamedTuple):
    """A change of all unknowns."""

    bounded: BoundStep
    b: float
    weights: FloatArray
    slack: FloatArray


class _ConicNewtonSteps:
    """Newton's method on the optimality conditions over the hull.

    With the multipliers x, the weights α, the slack y of the dual cone and the dual variables s, t
    of the bounds of x, the conditions are, for every constraint, ::

        h(⟨M, X⟩ + b) - 1 + loss*'(x/C) - s + t = 0,    M = Σ αX,    Σ xh = 0,
        y = ⟨M - A(x), X⟩ ≥ 0,    A(x) = Σ xhX,
        α·y = s·x = t·(C - x) = μ → 0.

    B has the coordinates of the X as its rows, so that ``⟨X, X'⟩`` are products of rows, and dm
    are the coordinates of dM. With the weights θ of `BoundedMultipliers.linearise` and
    ``ρ = α/y``, a step solves ::

        dx = θ (rhs - h(B dm + db)),    dy = B (dm - Bᵀ(h dx)) - (y - ⟨M - A(x), X⟩),
        dα = (target/y - α) - ρ dy,     dm = Bᵀ dα,

    which leaves one system in dm, see `_ReducedSystem`.
    """

    def __init__(self, run: MarginRun) -> None:
        self.run, self.problem, self.matrices = run, run.problem, run.problem.matrices
        self.sign, n = self.matrices.sign, len(self.matrices)
        self.coordinates = self._coordinates()
        self.is_zero = ~self.coordinates.any(axis=1)  # pairs of equal rows
        self.bounded = BoundedMultipliers(run.problem, self.sign, np.full(n, 0.1 * run.problem.C))
        self.bounded.values = np.asarray(self.problem.balanced(self.bounded.values))
        self.b = 0.0
        self.weights = np.ones(n)
        q = self.matrices.inner(self.matrices.combine(self.weights))
        self.weights /= float(q.mean()) or 1.0  # 0 if all differences are
        self._evaluate()
        self.slack = np.full(n, max(1.0, float(np.abs(self.actual_slack).mean())))
        self.bound = ConicBound(self.matrices)

    def solve(self) -> Status:
        """Take steps until the run stops."""
        while True:
            bound_matrix = partial(self.bound.matrix, self.M)
            status = self.run.record(self.bounded.values, self.M, self.q, bound_matrix)
            if status is not None and self.run.may_stop(status):
                return status
            self._step()

    def _coordinates(self) -> FloatArray:
        """Return B with as few columns as possible."""
        n, d = len(self.matrices), self.matrices.n_features
        size = self.matrices.n_entries
        require_memory(
            8 * n * min(n, size) * 4,
            f"The conic hull of {n} pairs",
            "fewer neighbours or fewer pairs need less",
        )
        if size <= n:
            identity = ProjectionJacobian(np.zeros((d, d)))
            return np.asarray(self.matrices.coordinates(identity, np.arange(n)))
        with single_threaded_blas():
            values, vectors = eigh(self.matrices.gram(np.arange(n)))
        kept = values > values.max(initial=0.0) * n * np.finfo(np.float64).eps
        return np.ascontiguousarray(vectors[:, kept] * np.sqrt(values[kept]))

    def _evaluate(self) -> None:
        self.M = self.matrices.combine(self.weights)
        self.q = self.matrices.inner(self.M)
        A = self.matrices.combine(self.bounded.values * self.sign)
        self.actual_slack = self.matrices.inner(self.M - A)
        # The weight of a zero matrix has no effect, but its slack is 0, and α = μ/y would overflow:
        # with another slack the weight tends to 0.
        self.actual_slack[self.is_zero] = 1.0

    def _step(self) -> None:
        """Take a step of Mehrotra's predictor-corrector method."""
        bounded = self.bounded
        theta, residual = bounded.linearise(self.q, self.b)
        system = _ReducedSystem(
            self.coordinates, theta, self.weights / self.slack, self.matrices.n_jobs
        )
        step = self._direction(system, residual, 0.0, 0.0, 0.0)
        length = min(1.0, self._max_length(step))
        count = bounded.n_bounds + len(self.slack)
        mu = (bounded.complementarity() + float(self.weights @ self.slack)) / count
        predicted = bounded.complementarity_after(length, step.bounded)
        predicted += float(
            (self.weights + length * step.weights) @ (self.slack + length * step.slack)
        )
        target = mu * min(1.0, max(predicted / count / mu, 0.0)) ** 3
        step = self._direction(
            system,
            residual,
            target - step.bounded.lower_dual * step.bounded.values,
            target + step.bounded.upper_dual * step.bounded.values,
            target - step.weights * step.slack,
        )
        length = min(1.0, _BOUNDARY_SHARE * self._max_length(step))
        bounded.apply(length, step.bounded)
        self.b += length * step.b
        self.weights = self.weights + length * step.weights
        self.slack = self.slack + length * step.slack
        self._evaluate()

    def _direction(
        self,
        system: _ReducedSystem,
        residual: FloatArray,
        lower: Target,
        upper: Target,
        conic: Target,
    ) -> _ConicStep:
        """Return the step towards ``s·x = lower``, ``t·(C - x) = upper`` and ``α·y = conic``."""
        B, theta, rho, n_jobs = system.B, system.theta, system.rho, system.n_jobs
        rhs = self.bounded.rhs(residual, lower, upper)
        slack_residual = self.slack - self.actual_slack
        weight_rhs = conic / self.slack - self.weights
        from_multipliers = weighted_row_sum(B, self.sign * theta * rhs, n_jobs)
        from_weights = weighted_row_sum(B, weight_rhs + rho * slack_residual, n_jobs)
        dm = system.solve(from_weights, from_multipliers)
        # dm is linear in db: dm(db) = dm - db·along_b; db makes Σ xh vanish.
        along_b = system.solve(np.zeros_like(from_weights), system.theta_sum)
        imbalance = float(self.bounded.values @ self.sign)
        db = (float(self.sign @ (theta * rhs)) + imbalance - float(system.theta_sum @ dm)) / (
            float(theta.sum()) - float(system.theta_sum @ along_b)
        )
        dm = dm - db * along_b
        dx = theta * (rhs - self.sign * (row_products(B, dm, n_jobs) + db))
        da = weighted_row_sum(B, self.sign * dx, n_jobs)
        dy = row_products(B, dm - da, n_jobs) - slack_residual
        return _ConicStep(
            self.bounded.complete(dx, lower, upper), float(db), weight_rhs - rho * dy, dy
        )

    def _max_length(self, step: _ConicStep) -> float:
        return self.bounded.max_length(
            step.bounded, (self.weights, step.weights), (self.slack, step.slack)
        )


class _ReducedSystem:
    """The system ``(I + G_ρ + G_ρ G_θ) dm = u + G_ρ v`` with ``G_ρ = BᵀρB`` and ``G_θ = BᵀθB``.

    With the Cholesky factor ``LLᵀ = I + G_θ`` it is ``(I + LᵀG_ρL) Lᵀdm = Lᵀ(u + G_ρ v)``, which is
    symmetric.
    """

    def __init__(
        self, B: FloatArray, theta: FloatArray, rho: FloatArray, n_jobs: int | None
    ) -> None:
        self.B, self.theta, self.rho, self.n_jobs = B, theta, rho, n_jobs
        self.theta_sum = weighted_row_sum(B, theta, n_jobs)
        lower_rho = gram_of_columns(B * np.sqrt(rho)[:, None], n_jobs)
        self.gram_rho = np.tril(lower_rho) + np.tril(lower_rho, -1).T
        gram_theta = gram_of_columns(B * np.sqrt(theta)[:, None], n_jobs)
        self.lower = np.tril(factor_with_diagonal(gram_theta, np.ones(len(gram_theta)))[0])
        with single_threaded_blas():
            symmetric = self.lower.T @ self.gram_rho @ self.lower
        self.factor = factor_with_diagonal(symmetric, np.ones(len(symmetric)))

    def solve(self, u: FloatArray, v: FloatArray) -> FloatArray:
        """Return dm."""
        with single_threaded_blas():
            rhs = self.lower.T @ (u + self.gram_rho @ v)
            transformed = cho_solve(self.factor, rhs)
            return np.asarray(solve_triangular(self.lower, transformed, trans="T", lower=True))
