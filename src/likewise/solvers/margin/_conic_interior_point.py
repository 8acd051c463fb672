"""The interior-point method where M is a sum of the pairs' own matrices, with weights above 0."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, eigh, solve_triangular

from likewise._runtime.arrays import FloatArray
from likewise._runtime.memory import require_memory
from likewise._runtime.threads import single_threaded_blas
from likewise.solvers._protocols import Solution, Status, Watcher
from likewise.solvers.margin._conic_coordinate_ascent import ConicBound, ConicCoordinateAscent
from likewise.solvers.margin._coordinate_ascent import worth_spending
from likewise.solvers.margin._interior_point import (
    FIRST_SET,
    WORTH_SPLITTING,
    WORTH_SWEEPING,
    sample,
)
from likewise.solvers.margin._multipliers import BoundedMultipliers
from likewise.solvers.margin._normal_equations import factored, gram, products, sums, table_fits
from likewise.solvers.margin._run import MarginRun

_INSIDE = 0.99
_PART = 60  # steps for a part of the pairs
_DEARER = 3.0  # a Newton step here against one of `interior_point`


def conic_interior_point(
    problem: Any,
    start: FloatArray | None = None,
    *,
    max_iter: int,
    tol: float,
    watcher: Watcher | None = None,
) -> Solution:
    """Minimise a `MarginProblem` over ``M = Σ αₗXₗ`` with ``α ≥ 0``.

    As `interior_point`, with the weights α as further unknowns. Coordinate ascent comes first where
    the pairs are many. If it would take too long, the method begins with some pairs and adds those
    that are broken or that M should be made of, too; a step of the history is then one such part.

    Parameters
    ----------
    problem : MarginProblem
        What is to be solved; its matrices are of pairs.
    start : array of shape (n_pairs,), optional
        Multipliers of a similar problem, for coordinate ascent to begin with.
    max_iter : int
        Steps allowed: rounds of coordinate ascent, and Newton steps.
    tol : float
        Relative duality gap to reach.
    watcher : callable, optional
        Called with an `Iteration`; returns True to stop.

    Returns
    -------
    Solution
        As that of `interior_point`.
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
    n = len(run.problem.matrices)
    if n > WORTH_SWEEPING and run.problem.loss.reaches_zero:
        affordable = _DEARER * worth_spending(run.problem.matrices)
        ended = ConicCoordinateAscent(run, start).take(affordable=affordable)
        if ended is not None:
            return ended
    return _ConicSteps(run).take() if n <= WORTH_SPLITTING else _solve_in_parts(run)


def _solve_in_parts(run: MarginRun) -> Status:
    """Solve for some pairs, and add those that are broken or that M should be made of, too."""
    problem, matrices = run.problem, run.problem.matrices
    n, hull = len(matrices), ConicBound(run.problem.matrices)
    chosen, taken = sample(matrices, FIRST_SET), run.n_steps
    while True:
        # A part that is hard to the last digits is left for the next, which has more pairs.
        part = MarginRun(problem.of(chosen), run.tol / 4, min(_PART, run.max_iter - taken), None)
        _ConicSteps(part).take()
        taken += part.n_steps
        multipliers = np.zeros(n)
        multipliers[chosen] = part.multipliers
        M, q = part.M, matrices.inner(part.M)
        room = hull.room(M, multipliers)
        ended = run.record(multipliers, M, q, partial(hull.matrix, M))
        run.n_steps = taken
        if ended is not None:
            return ended
        if taken >= run.max_iter:
            return "max_iter"
        beyond = matrices.sign * (q + problem.intercept(q)) - 1
        others = np.setdiff1d(np.arange(n), chosen)
        if not len(others):
            return "stalled"
        if problem.loss.reaches_zero and not table_fits(2 * len(chosen), matrices.n_entries):
            return ConicCoordinateAscent(run, run.multipliers).take() or "stalled"
        half = len(chosen) // 2
        broken = others[np.argsort(beyond[others], kind="stable")[:half]]
        wanted = others[np.argsort(room[others], kind="stable")[:half]]
        needed = np.union1d(broken[beyond[broken] < 0.1], wanted[room[wanted] < 0])
        chosen = np.union1d(chosen, needed if len(needed) else broken)


class _ConicSteps:
    """Multipliers x, weights α and their room ``y = ⟨M - A(x), X⟩``, b, and the bounds' s and t."""

    def __init__(self, run: MarginRun) -> None:
        self.run, self.problem, self.matrices = run, run.problem, run.problem.matrices
        self.sign, n = self.matrices.sign, len(self.matrices)
        self.rows = self._coordinates()
        self.box = BoundedMultipliers(run.problem, self.sign, np.full(n, 0.1 * run.problem.C))
        self.box.x = np.asarray(self.problem.balanced(self.box.x))
        self.b = 0.0
        self.alpha = np.ones(n)
        q = self.matrices.inner(self.matrices.combine(self.alpha))
        self.alpha /= max(float(q.mean()), 1e-300)
        self._look()
        self.y = np.full(n, max(1.0, float(np.abs(self.room).mean())))
        self.hull = ConicBound(self.matrices)

    def take(self) -> Status:
        """Take steps until the end."""
        while True:
            ended = self.run.record(self.box.x, self.M, self.q, partial(self.hull.matrix, self.M))
            if ended is not None and self.run.may_end(ended):
                return ended
            self._step()

    def _coordinates(self) -> FloatArray:
        """Return rows with the inner products of the matrices, as short as can be."""
        n, d = len(self.matrices), self.matrices.differences.shape[1]
        size = self.matrices.n_entries
        require_memory(
            8 * n * min(n, size) * 4,
            f"The conic hull of {n} pairs",
            "fewer neighbours or fewer pairs need less",
        )
        if size <= n:
            return np.asarray(
                self.matrices.coordinates(
                    self.problem.cone.space.face(np.zeros((d, d))), np.arange(n)
                )
            )
        with single_threaded_blas():
            values, vectors = eigh(self.matrices.gram(np.arange(n)))
        kept = values > values.max(initial=0.0) * n * np.finfo(np.float64).eps
        return np.ascontiguousarray(vectors[:, kept] * np.sqrt(values[kept]))

    def _look(self) -> None:
        self.M = self.matrices.combine(self.alpha)
        self.q = self.matrices.inner(self.M)
        self.room = self.matrices.inner(self.M - self.matrices.combine(self.box.x * self.sign))

    def _step(self) -> None:
        box, n_jobs = self.box, self.matrices.n_jobs
        theta, residual = box.prepare(self.q, self.b)
        ratio = self.alpha / self.y
        G1 = gram(self.rows * np.sqrt(ratio)[:, None], n_jobs)
        G1 = np.tril(G1) + np.tril(G1, -1).T
        G2 = gram(self.rows * np.sqrt(theta)[:, None], n_jobs)
        lower = np.tril(factored(G2, np.ones(len(G2)))[0])
        with single_threaded_blas():
            W = lower.T @ G1 @ lower
        outer = factored(W, np.ones(len(W)))
        off = self.y - self.room
        imbalance = float(box.x @ self.sign)
        towards = sums(self.rows, theta, n_jobs)

        def change_of_m(pull: FloatArray, push: FloatArray) -> FloatArray:
            """Return dM with ``(I + G₁ + G₁G₂) dM = pull + G₁ push``."""
            with single_threaded_blas():
                right = lower.T @ (pull + G1 @ push)
                return np.asarray(
                    solve_triangular(lower, cho_solve(outer, right), trans="T", lower=True)
                )

        def direction(at_zero: Any, at_top: Any, at_alpha: Any) -> tuple[FloatArray, ...]:
            right = box.right(residual, at_zero, at_top)
            g0 = at_alpha / self.y - self.alpha
            a = sums(self.rows, self.sign * theta * right, n_jobs)
            p = sums(self.rows, g0 + ratio * off, n_jobs)
            dm = change_of_m(p, a)
            along = change_of_m(np.zeros_like(p), towards)
            db = (float(self.sign @ (theta * right)) + imbalance - float(towards @ dm)) / (
                float(theta.sum()) - float(towards @ along)
            )
            dm = dm - db * along
            dq = products(self.rows, dm, n_jobs)
            dx = theta * (right - self.sign * (dq + db))
            da = sums(self.rows, self.sign * dx, n_jobs)
            dy = products(self.rows, dm - da, n_jobs) - off
            dalpha = g0 - ratio * dy
            ds, dt = box.slacks(dx, at_zero, at_top)
            return dx, ds, dt, np.asarray(db), dalpha, dy

        dx, ds, dt, db, dalpha, dy = direction(0.0, 0.0, 0.0)
        length = min(1.0, self._longest(dx, ds, dt, dalpha, dy))
        count = box.count + len(self.y)
        mu = (box.owed() + float(self.alpha @ self.y)) / count
        ahead = box.owed(length, dx, ds, dt)
        ahead += float((self.alpha + length * dalpha) @ (self.y + length * dy))
        centre = mu * min(1.0, max(ahead / count / mu, 0.0)) ** 3
        dx, ds, dt, db, dalpha, dy = direction(
            centre - ds * dx, centre + dt * dx, centre - dalpha * dy
        )
        length = min(1.0, _INSIDE * self._longest(dx, ds, dt, dalpha, dy))
        box.move(length, dx, ds, dt)
        self.b += length * float(db)
        self.alpha = self.alpha + length * dalpha
        self.y = self.y + length * dy
        self._look()

    def _longest(
        self, dx: FloatArray, ds: FloatArray, dt: FloatArray, dalpha: FloatArray, dy: FloatArray
    ) -> float:
        return self.box.longest(dx, ds, dt, (self.alpha, dalpha), (self.y, dy))
