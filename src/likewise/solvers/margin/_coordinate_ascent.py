"""Coordinate ascent on the multipliers of a margin problem."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise.solvers._protocols import Status
from likewise.solvers.margin._proximal_newton import ProximalNewton, newton_work
from likewise.solvers.margin._run import BoundMatrix, MarginRun
from likewise.solvers.margin.problem import ConstraintOperator

_MIN_SWEEPS, _MAX_SWEEPS = 4, 40  # between two evaluations of all constraints
_VISITS = 4.0  # of a constraint, on average, between two evaluations
_PROJECTED_VISITS = 2.0  # the same where M is projected
_VISITS_PER_FEATURE = 20  # between two projections
_MIN_PROJECTIONS = 8  # between two evaluations
_BAND = 0.25  # of the usual change of a gradient: nearer to 0 a constraint stays active
_PROJECTED_BAND = 0.5
_FIRST_BOUND = 10.0  # in units of 1/‖X‖², by which a visit moves a multiplier
_BOUND_FACTOR = 4.0
_BOUND_TOL = 1e-2  # the relative gap at which the next bound begins
_BUDGET_SHARE = 0.5  # of the interior-point method's work
_FORECAST_EVERY = 10  # evaluations
_FIRST_PROXIMITY = 1e-2  # in units of ‖X‖²
_NEWTON_SHARE = 0.5  # of the sweeps' work so far, that a Newton step may cost
_INSIDE = 1e-3  # of the upper bound: nearer, a multiplier is not counted as between its bounds
_NEWTON_STEPS = 25  # that the interior-point method needs, roughly
_SWEEP_COST = 8.0  # of a multiplication in a sweep, relative to one in a large matrix product


class CoordinateAscent:
    """Maximises the dual objective over one multiplier after the other, with M explicit.

    A visit costs ``n_features²`` multiplications, whatever the number of constraints. A good start
    and multipliers that end at a bound therefore cost little. Multipliers that stay at a bound are
    left out until an evaluation of all constraints shows that they may move. The intercept b
    follows by the method of multipliers: a penalty on ``Σ λh``, whose derivative is added to b.

    For a cone smaller than all symmetric matrices, M is the projection of A(λ), that is A(λ) + Y
    with the best Y for λ. Visits keep Y fixed, and Y is updated after some hundred of them. Where C
    is large, an upper bound below C comes first and grows, for multipliers that end at C would
    need many visits to get there. `ProximalNewton` steps follow each evaluation if the gap would
    otherwise need too many.

    Parameters
    ----------
    run : MarginRun
        The problem, and the record of all steps.
    start : array of shape (n_constraints,), optional
        Initial multipliers.
    """

    def __init__(self, run: MarginRun, start: FloatArray | None) -> None:
        self.run, self.problem, self.matrices = run, run.problem, run.problem.matrices
        self.sweeps = self.matrices.coordinate_sweeps()
        C, loss, n = self.problem.C, self.problem.loss, len(self.matrices)
        self.max_multiplier = C * loss.max_derivative
        self.curvature = float(loss.conjugate_curvature(np.ones(1))[0]) / C
        self.typical = float(np.median(self.sweeps.squared_norms))
        self.penalty = self.typical if self.matrices.has_intercept else 0.0
        self.multipliers = np.zeros(n) if start is None else np.minimum(start, self.max_multiplier)
        self.upper_bound = self.max_multiplier
        projection = run.projection
        # Whether M is the projection of A(λ) on a cone, and not A(λ) itself.
        self.is_projected = projection is None or not projection(run.M).is_identity
        by_steps = start is None and self.is_projected and np.isfinite(self.max_multiplier)
        if by_steps and self.typical > 0:
            self.upper_bound = min(self.max_multiplier, _FIRST_BOUND / self.typical)
        self.gradient = np.zeros(n)
        self.b = 0.0
        self.random = np.random.RandomState(0)
        self.proximity: float | None = None  # of Newton steps, once these are taken

    def solve(self, *, budget: float = np.inf) -> Status | None:
        """Sweep until the run stops; None if that is forecast to take more multiplications.

        Parameters
        ----------
        budget : float
            The number of multiplications allowed.
        """
        work = idle = 0.0  # idle: all work until a Newton step failed, or 0
        self._balance()
        M, q = self._evaluate()
        self.gradient = self._gradient(q)
        active = np.arange(len(self.matrices))
        while True:
            work += self._ascend(M, active)
            self._balance()
            if self.proximity is not None:
                work += self._newton_step(self.proximity)
                idle = 0.0 if self.proximity is not None else work
            M, q = self._evaluate()
            before, self.gradient = self.gradient, self._gradient(q)
            status = self.run.record(self.multipliers, M, q, self._bound_matrix(M))
            if status is not None:
                return status
            if self.upper_bound < self.max_multiplier:
                M = self._raise_bound(M, q)
            elif self.proximity is None and self._newton_work() <= _NEWTON_SHARE * (work - idle):
                self.proximity = _FIRST_PROXIMITY * self.typical
            if work + self._remaining_work(work) > budget:
                return None
            change = float(np.sqrt(np.mean(np.square(self.gradient - before))))
            active = self._active((_PROJECTED_BAND if self.is_projected else _BAND) * change)

    def _evaluate(self) -> tuple[FloatArray, FloatArray]:
        """Return the M of the multipliers, and ``⟨M, X⟩`` of all constraints."""
        jacobian, q = self.run.evaluate(self.multipliers)
        return jacobian.projection, q

    def _bound_matrix(self, M: FloatArray) -> BoundMatrix | None:
        """Return what makes the matrix of the dual bound from multipliers, where that is not M."""
        return None

    def _raise_bound(self, M: FloatArray, q: FloatArray) -> FloatArray:
        """Raise the upper bound if the problem with this one is nearly solved; return M.

        All multipliers are multiplied by the best factor that the new bound allows.
        """
        violation = 1 - self.matrices.sign * (q + self.problem.intercept(q))
        squared_norm = float(np.vdot(M, M))
        loss = float(self.problem.loss.value(violation).sum())
        primal = squared_norm / 2 + self.upper_bound * loss
        if primal - self.run.dual[-1] > max(_BOUND_TOL, self.run.tol) * primal:
            return M
        bound = self.max_multiplier
        if (self.multipliers >= self.upper_bound).any():
            bound = min(bound, _BOUND_FACTOR * self.upper_bound)
        best = float(self.multipliers.sum()) / (squared_norm or 1.0)
        factor = min(max(best, 1.0), bound / self.upper_bound)
        self.upper_bound = bound
        self.multipliers = np.minimum(factor * self.multipliers, bound)
        self.b *= factor
        self.gradient = self._gradient(factor * q)
        return factor * M

    def _remaining_work(self, work: float) -> float:
        """Return the multiplications left if the gap goes on to fall as in the last steps."""
        steps = len(self.run.primal)
        is_late = steps >= self.run.max_iter // 2  # then Newton's method needs what is left
        if self.upper_bound < self.max_multiplier or self.proximity is not None:
            return np.inf if is_late else 0.0  # Newton steps may make no progress at first
        if steps % _FORECAST_EVERY:
            return 0.0
        # The smallest gaps up to now and before the last third of the steps: a gap may oscillate.
        window = max(_FORECAST_EVERY - 1, steps // 3)
        primal, dual = np.transpose(self.run.values)
        gaps = 1 - dual / primal
        now, then = float(gaps.min()), float(gaps[:-window].min())
        if now >= then:
            return np.inf
        remaining = window * np.log(now / self.run.tol) / np.log(then / now)
        if is_late and steps + remaining > self.run.max_iter:
            return np.inf
        return float(work / steps * remaining)

    def _newton_work(self) -> float:
        """Return the multiplications that a Newton step would cost; infinite where none is."""
        if self.run.projection is None or not self.is_projected:
            return np.inf
        margin = _INSIDE * min(self.upper_bound, float(self.multipliers.max()))
        inside = (self.multipliers > margin) & (self.multipliers < self.upper_bound - margin)
        return newton_work(int(np.count_nonzero(inside)), self.matrices.n_entries)

    def _ascend(self, M: FloatArray, active: IndexArray) -> float:
        """Sweep over the active constraints, from M; return the number of multiplications."""
        visits = (_PROJECTED_VISITS if self.is_projected else _VISITS) * len(self.matrices)
        fewest = 1 if self.is_projected else _MIN_SWEEPS
        n_sweeps = int(np.clip(visits / max(len(active), 1), fewest, _MAX_SWEEPS))
        orders = [active[self.random.permutation(len(active))] for _ in range(n_sweeps)]
        order = np.concatenate(orders)
        if self.is_projected:
            self._sweep_and_project(M, order)
        else:
            self._sweep(M, order)
        return _SWEEP_COST * len(order) * float(len(M) ** 2)

    def _sweep(self, M: FloatArray, order: IndexArray) -> FloatArray:
        """Visit the constraints in this order; return the change of M."""
        before = self.sweeps.working_copy(M)
        after = before.copy()
        self.b = self.sweeps.sweep(
            after,
            self.matrices.sign,
            self.multipliers,
            self.gradient,
            order,
            b=self.b,
            upper_bound=self.upper_bound,
            curvature=self.curvature,
            penalty=self.penalty,
        )
        return (after - before)[: len(M), : len(M)]

    def _sweep_and_project(self, M: FloatArray, order: IndexArray) -> None:
        """Visit the constraints in this order, with projections in between."""
        A = self.matrices.combine(self.multipliers * self.matrices.sign)
        n_parts = max(_MIN_PROJECTIONS, -(-len(order) // self._visits_per_projection()))
        for part in np.array_split(order, n_parts):
            A = A + self._sweep(M, part)
            M = self._project(A)

    def _visits_per_projection(self) -> int:
        """Return the number of visits that take about as long as a projection."""
        return _VISITS_PER_FEATURE * self.matrices.n_features

    def _project(self, A: FloatArray) -> FloatArray:
        """Return the projection of A(λ) on the cone."""
        assert self.run.projection is not None
        return self.run.projection(A).projection

    def _newton_step(self, proximity: float) -> float:
        """Take a Newton step; return the number of multiplications."""
        newton = ProximalNewton(self.run, self.upper_bound, self.curvature)
        step = newton.step(self.multipliers, proximity)
        if step is not None:
            self.multipliers, self.b, self.proximity = step
        else:
            self.proximity = None
        return newton.work

    def _gradient(self, q: FloatArray) -> FloatArray:
        """Return the gradient of the negative dual objective, with b as multiplier of ``Σ λh``."""
        gradient = self.matrices.sign * (q + self.b) - 1 + self.curvature * self.multipliers
        return np.asarray(gradient)

    def _active(self, band: float) -> IndexArray:
        """Return the constraints whose multipliers are between their bounds or may leave one."""
        at_rest = (self.multipliers <= 0) & (self.gradient > band)
        at_rest |= (self.multipliers >= self.upper_bound) & (self.gradient < -band)
        return np.flatnonzero(~at_rest)

    def _balance(self) -> None:
        """Make ``Σ λh = 0``, by the multipliers between their bounds if these suffice."""
        if not self.matrices.has_intercept:
            return
        excess = float(self.multipliers @ self.matrices.sign)
        in_excess = (self.matrices.sign * excess > 0) & (self.multipliers > 0)
        between = in_excess & (self.multipliers < self.upper_bound)
        reduced = between if self.multipliers[between].sum() > abs(excess) else in_excess
        total = float(self.multipliers[reduced].sum())
        if total > 0:
            self.multipliers[reduced] *= 1 - abs(excess) / total


def sweep_budget(matrices: ConstraintOperator) -> float:
    """Return the multiplications that sweeps may cost before the interior-point method is run."""
    n, size = len(matrices), int(matrices.n_entries)
    smaller = min(n, size)
    return _BUDGET_SHARE * _NEWTON_STEPS * (float(n) * size * smaller / 2 + smaller**3 / 6)
