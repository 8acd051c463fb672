"""A primal-dual interior-point method for large-margin problems over a cone."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise.solvers._protocols import Solution, Status, Watcher
from likewise.solvers.margin._coordinate_ascent import CoordinateAscent, worth_spending
from likewise.solvers.margin._newton_steps import NewtonSteps
from likewise.solvers.margin._normal_equations import LARGEST_TABLE, table_fits
from likewise.solvers.margin._run import MarginRun

WORTH_SWEEPING = 256  # constraints
WORTH_SPLITTING = 2048
FIRST_SET = 512
_COORDINATES_KEPT = 2**25  # entries; they do not change from step to step
_NEARLY = 0.1  # beyond the margin of 1


def interior_point(
    problem: Any,
    start: FloatArray | None = None,
    *,
    max_iter: int,
    tol: float,
    watcher: Watcher | None = None,
) -> Solution:
    """Minimise a `MarginProblem` until its relative duality gap is at most `tol`.

    Newton's method on the optimality conditions, with the multipliers λ strictly between their
    bounds and their complementarity driven to zero (Mehrotra's predictor and corrector). The
    cone enters through the slope of its projection. Where the constraints are many, and most of
    them may rest at 0, the method begins with some and adds those that are broken; the gap is
    always that of the whole problem. Coordinate ascent on the multipliers comes before all this,
    and often reaches the gap in less time; it is also what is left where Newton's method would
    need a table of more than `LARGEST_TABLE` constraints by as many.

    Parameters
    ----------
    problem : MarginProblem
        What is to be solved.
    start : array of shape (n_constraints,), optional
        Multipliers of a similar problem. Coordinate ascent begins with them, and where constraints
        are added step by step, those with a multiplier come first.
    max_iter : int
        Steps allowed: rounds of coordinate ascent, and Newton steps.
    tol : float
        Relative duality gap ``(primal - dual) / primal`` to reach.
    watcher : callable, optional
        Called with an `Iteration`; returns True to stop.

    Returns
    -------
    Solution
        ``x`` is M and ``multipliers`` the λ with ``M = P(A(λ))``; ``history`` has "primal",
        "dual" and "gap" of every step.
    """
    run = MarginRun(problem, tol, max_iter, watcher)
    try:
        status = _solve(run, start)
    except KeyboardInterrupt:
        status = "interrupted"
    except FloatingPointError:
        status = "stalled"
    return run.solution(status)


def _solve(run: MarginRun, start: FloatArray | None) -> Status:
    problem, n = run.problem, len(run.problem.matrices)
    everything = np.arange(n)
    if n > WORTH_SWEEPING and problem.loss.reaches_zero:
        affordable = worth_spending(problem.matrices)
        ended = CoordinateAscent(run, start).take(affordable=affordable)
        if ended is not None:
            return ended
    size, face = problem.matrices.n_entries, problem.cone.face(run.M)
    kept = face.basis is None and n * size <= _COORDINATES_KEPT
    if n <= WORTH_SPLITTING or kept or not problem.loss.reaches_zero:
        if not table_fits(n, size):
            raise MemoryError(
                f"{n} constraints on {len(run.M)} features would need a table of their {n} × {n} "
                f"inner products, but {LARGEST_TABLE} × {LARGEST_TABLE} is the largest allowed: "
                "give fewer constraints or fewer features."
            )
        return NewtonSteps(run, everything, start).take() or "stalled"
    chosen = sample(problem.matrices, FIRST_SET) if start is None else np.flatnonzero(start)
    while True:
        if not table_fits(len(chosen), size):
            return CoordinateAscent(run, run.multipliers).take() or "stalled"
        steps = NewtonSteps(run, chosen)
        ended = steps.take()
        if ended is not None:
            return ended
        beyond = problem.matrices.sign * (steps.q + problem.intercept(steps.q)) - 1
        beyond[chosen] = np.inf
        # Those that are nearly broken come along: they would be in the next round.
        near = np.flatnonzero(beyond < _NEARLY)
        chosen = np.union1d(chosen, near[np.argsort(beyond[near], kind="stable")[: len(chosen)]])


def sample(matrices: Any, count: int) -> IndexArray:
    """Return some constraints, of both signs in their shares."""
    order = np.random.RandomState(0).permutation(len(matrices))
    of_sign = [order[matrices.sign[order] == sign] for sign in (-1.0, 1.0)]
    share = min(1.0, count / len(matrices))
    return np.sort(np.concatenate([rows[: int(np.ceil(share * len(rows)))] for rows in of_sign]))
