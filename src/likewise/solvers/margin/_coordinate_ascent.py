"""Coordinate ascent on the multipliers of a margin problem."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise.solvers._protocols import Status
from likewise.solvers.margin._run import BoundMatrix, MarginRun
from likewise.solvers.margin.problem import ConstraintOperator

_MIN_SWEEPS, _MAX_SWEEPS = 4, 40  # between two evaluations of all constraints
_VISITS = 4.0  # of a constraint, on average, between two evaluations
_BAND = 0.25  # of the usual change of a gradient: nearer to 0 a constraint stays active
_BUDGET_SHARE = 0.5  # of the interior-point method's work
_FORECAST_EVERY = 10  # evaluations
_NEWTON_STEPS = 25  # that the interior-point method needs, roughly
_SWEEP_COST = 8.0  # of a multiplication in a sweep, relative to one in a large matrix product


class CoordinateAscent:
    """Maximises the dual objective over one multiplier after the other, with M explicit.

    A visit costs ``n_features²`` multiplications, whatever the number of constraints. A good start
    and multipliers that end at a bound therefore cost little. Multipliers that stay at a bound are
    left out until an evaluation of all constraints shows that they may move. The intercept b
    follows by the method of multipliers: a penalty on ``Σ λh``, whose derivative is added to b.

    For a cone smaller than all symmetric matrices, M is the projection of A(λ), that is A(λ) + Y
    with the best Y for λ. Each sweep keeps Y fixed, and Y is updated after it.

    Parameters
    ----------
    run : MarginRun
        The problem, and the record of all steps.
    start : array of shape (n_constraints,), optional
        Initial multipliers.
    """

    # Whether M is A(λ) itself: many sweeps are then made between two evaluations.
    is_unprojected = False

    def __init__(self, run: MarginRun, start: FloatArray | None) -> None:
        self.run, self.problem, self.matrices = run, run.problem, run.problem.matrices
        self.sweeps = self.matrices.coordinate_sweeps()
        C, loss, n = self.problem.C, self.problem.loss, len(self.matrices)
        self.upper_bound = C * loss.max_derivative
        self.curvature = float(loss.conjugate_curvature(np.ones(1))[0]) / C
        typical = float(np.median(self.sweeps.squared_norms))
        self.penalty = typical if self.matrices.has_intercept else 0.0
        self.multipliers = np.zeros(n) if start is None else np.minimum(start, self.upper_bound)
        self.gradient = np.zeros(n)
        self.b = 0.0
        self.random = np.random.RandomState(0)

    def solve(self, *, budget: float = np.inf) -> Status | None:
        """Sweep until the run stops; None if that is forecast to take more multiplications.

        Parameters
        ----------
        budget : float
            The number of multiplications allowed.
        """
        n, d = len(self.matrices), len(self.run.M)
        work = 0.0
        self._balance()
        M, q = self._evaluate()
        self.gradient = self._gradient(q)
        active = np.arange(n)
        while True:
            n_sweeps = 1
            if self.is_unprojected:
                wanted = _VISITS * n / max(len(active), 1)
                n_sweeps = int(np.clip(wanted, _MIN_SWEEPS, _MAX_SWEEPS))
            self._sweep(M, active, n_sweeps)
            work += _SWEEP_COST * n_sweeps * len(active) * float(d * d)
            self._balance()
            M, q = self._evaluate()
            before, self.gradient = self.gradient, self._gradient(q)
            status = self.run.record(self.multipliers, M, q, self._bound_matrix(M))
            if status is not None:
                return status
            if work + self._remaining_work(work) > budget:
                return None
            change = float(np.sqrt(np.mean(np.square(self.gradient - before))))
            active = self._active((_BAND if self.is_unprojected else 1.0) * change)

    def _evaluate(self) -> tuple[FloatArray, FloatArray]:
        """Return the M of the multipliers, and ``⟨M, X⟩`` of all constraints."""
        jacobian, q = self.run.evaluate(self.multipliers)
        self.is_unprojected = jacobian.is_identity
        return jacobian.projection, q

    def _bound_matrix(self, M: FloatArray) -> BoundMatrix | None:
        """Return what makes the matrix of the dual bound from multipliers, where that is not M."""
        return None

    def _remaining_work(self, work: float) -> float:
        """Return the multiplications left if the gap goes on to fall as in the last steps."""
        steps = len(self.run.primal)
        if steps >= self.run.max_iter // 2:
            return np.inf
        if steps % _FORECAST_EVERY:
            return 0.0
        now, then = (
            1 - self.run.dual[step] / self.run.primal[step] for step in (-1, -_FORECAST_EVERY)
        )
        if now >= then:
            return np.inf
        remaining = _FORECAST_EVERY * np.log(now / self.run.tol) / np.log(then / now)
        return float(work / steps * remaining)

    def _sweep(self, M: FloatArray, active: IndexArray, times: int) -> None:
        M = self.sweeps.working_copy(M)
        for _ in range(times):
            self.b = self.sweeps.sweep(
                M,
                self.matrices.sign,
                self.multipliers,
                self.gradient,
                active[self.random.permutation(len(active))],
                b=self.b,
                upper_bound=self.upper_bound,
                curvature=self.curvature,
                penalty=self.penalty,
            )

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
