"""A primal-dual interior-point method for margin problems over a cone."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise.solvers._protocols import Solution, Status, Watcher
from likewise.solvers.margin._coordinate_ascent import CoordinateAscent, sweep_budget
from likewise.solvers.margin._newton_steps import NewtonSteps
from likewise.solvers.margin._normal_equations import MAX_GRAM_SIZE, system_fits
from likewise.solvers.margin._primal_descent import primal_descent
from likewise.solvers.margin._run import MarginRun
from likewise.solvers.margin.problem import (
    ConstraintOperator,
    MarginObjective,
    ProjectionWithJacobian,
)

MIN_FOR_SWEEPS = 256  # constraints
MIN_FOR_SUBSETS = 2048
FIRST_SUBSET = 512
_MAX_KEPT_COORDINATES = 2**25  # entries, where they do not change from step to step
_NEAR_MARGIN = 0.1  # beyond the margin of 1


def interior_point(
    problem: MarginObjective,
    projection: ProjectionWithJacobian,
    start: FloatArray | None = None,
    *,
    max_iter: int,
    tol: float,
    watcher: Watcher | None = None,
) -> Solution:
    """Minimise a margin problem over a cone until its relative duality gap is at most `tol`.

    Newton's method on the optimality conditions, with the multipliers λ strictly between their
    bounds and complementarity driven to 0 (Mehrotra's predictor-corrector method). The cone enters
    through the Jacobian of its projection. With many constraints, most of which may be inactive,
    the method begins with a subset and adds violated constraints; the gap is always that of the
    whole problem.

    Coordinate ascent on the multipliers runs first, and often reaches the gap in less time. It is
    also the fallback where Newton's method would need a matrix wider than `MAX_GRAM_SIZE`. For a
    smooth loss without a cone, L-BFGS in M and b gives the first multipliers.

    Parameters
    ----------
    problem : MarginObjective
        The problem.
    projection : callable
        Projects a symmetric matrix on the cone and returns a `ProjectionJacobian`.
    start : array of shape (n_constraints,), optional
        Multipliers of a similar problem. Coordinate ascent begins with them, and the first subset
        of constraints are those with a non-zero multiplier.
    max_iter : int
        The maximum number of steps: evaluations of coordinate ascent, and Newton steps.
    tol : float
        The relative duality gap ``(primal - dual) / primal`` to reach.
    watcher : callable, optional
        Called with an `Iteration` after each step; returns True to stop.

    Returns
    -------
    Solution
        ``x`` is M and ``multipliers`` the λ with ``M = P(A(λ))``. ``history`` has "primal",
        "dual" and "gap" of every step.
    """
    run = MarginRun(problem, projection, tol, max_iter, watcher)
    try:
        status = _solve(run, projection, start)
    except KeyboardInterrupt:
        status = "interrupted"
    except FloatingPointError:
        status = "stalled"
    return run.solution(status)


def _solve(run: MarginRun, projection: ProjectionWithJacobian, start: FloatArray | None) -> Status:
    problem, n = run.problem, len(run.problem.matrices)
    if n > MIN_FOR_SWEEPS and problem.loss.reaches_zero:
        status = CoordinateAscent(run, start).solve(budget=sweep_budget(problem.matrices))
        if status is not None:
            return status
    size = problem.matrices.n_entries
    without_cone = projection(run.M).is_identity
    coordinates_kept = without_cone and n * size <= _MAX_KEPT_COORDINATES
    if n <= MIN_FOR_SUBSETS or coordinates_kept or not problem.loss.reaches_zero:
        if not system_fits(n, size):
            raise MemoryError(
                f"{n} constraints on {len(run.M)} features need a matrix of their {n} × {n} inner "
                f"products, but {MAX_GRAM_SIZE} × {MAX_GRAM_SIZE} is the largest allowed: give "
                "fewer constraints or fewer features."
            )
        if without_cone and not problem.loss.reaches_zero:
            return _solve_from_primal(run, start)
        return NewtonSteps(run, np.arange(n), start).solve() or "stalled"
    return _solve_by_subsets(run, start)


def _solve_from_primal(run: MarginRun, start: FloatArray | None) -> Status:
    """Record the start, then multipliers from steps in M and b, then Newton steps if needed."""
    n = len(run.problem.matrices)
    first = np.full(n, run.problem.C / 2) if start is None else start
    multipliers = run.problem.balanced(first)
    jacobian, q = run.evaluate(multipliers)
    status = run.record(multipliers, jacobian.projection, q)
    if status is not None:
        return status
    multipliers, ended = primal_descent(run, start)
    if ended == "interrupted":
        jacobian, q = run.evaluate(multipliers)
        run.record(multipliers, jacobian.projection, q)
        return ended
    return NewtonSteps(run, np.arange(n), multipliers).solve() or "stalled"


def _solve_by_subsets(run: MarginRun, start: FloatArray | None) -> Status:
    """Solve for some constraints, and add those that are violated or nearly so."""
    problem, matrices = run.problem, run.problem.matrices
    chosen = stratified_sample(matrices, FIRST_SUBSET) if start is None else np.flatnonzero(start)
    while True:
        if not system_fits(len(chosen), matrices.n_entries):
            return CoordinateAscent(run, run.multipliers).solve() or "stalled"
        steps = NewtonSteps(run, chosen)
        status = steps.solve()
        if status is not None:
            return status
        beyond_margin = matrices.sign * (steps.q + problem.intercept(steps.q)) - 1
        beyond_margin[chosen] = np.inf
        # Constraints that are nearly violated are added, too: most would be in the next subset.
        near = np.flatnonzero(beyond_margin < _NEAR_MARGIN)
        by_violation = near[np.argsort(beyond_margin[near], kind="stable")]
        chosen = np.union1d(chosen, by_violation[: len(chosen)])


def stratified_sample(matrices: ConstraintOperator, count: int) -> IndexArray:
    """Return about `count` constraints, with both signs in proportion."""
    order = np.random.RandomState(0).permutation(len(matrices))
    by_sign = [order[matrices.sign[order] == sign] for sign in (-1.0, 1.0)]
    share = min(1.0, count / len(matrices))
    return np.sort(np.concatenate([rows[: int(np.ceil(share * len(rows)))] for rows in by_sign]))
