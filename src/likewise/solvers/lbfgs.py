"""Limited-memory BFGS."""

from __future__ import annotations

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from likewise._runtime.arrays import Array
from likewise.solvers._protocols import Iteration, Smooth, Solution, Status, Watcher

_STATUS: dict[int, Status] = {0: "converged", 1: "max_iter"}  # SciPy's codes; others: stalled


def lbfgs(
    objective: Smooth,
    start: Array,
    *,
    max_iter: int,
    tol: float,
    watcher: Watcher | None = None,
) -> Solution:
    """Minimise a smooth function from `start`.

    Parameters
    ----------
    objective : Smooth
        Provides ``value_and_gradient(x)``.
    start : array
        Initial point, of any shape; the solution has the same shape.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Converged when an iteration lowers the value by at most ``tol`` relative to it, or when
        no entry of the gradient exceeds ``tol`` times the largest at the start. Both tests are
        invariant to the scale of the objective.
    watcher : callable, optional
        Called with an `Iteration`; returns True to stop.

    Returns
    -------
    Solution
        ``history["objective"]`` has the value at the start and after each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> class Bowl:
    ...     def value_and_gradient(self, x):
    ...         return float(x @ x), 2 * x
    >>> lbfgs(Bowl(), np.array([3.0, 4.0]), max_iter=50, tol=1e-8).status
    'converged'
    """
    run = _Run(objective, start, tol, watcher)
    first_value, first_gradient = run.evaluate(run.best)
    max_gradient = float(np.abs(first_gradient).max(initial=0.0))
    if not np.isfinite(first_value) or not np.isfinite(max_gradient):
        return Solution(run.best.reshape(run.shape), first_value, 1, "failed", max_gradient)
    run.best_value, run.best_gradient = first_value, first_gradient
    run.first_max_gradient = max_gradient
    run.cached_value = first_value
    run.history.append(first_value)
    try:
        found = minimize(
            run.evaluate,
            run.best,
            jac=True,
            method="L-BFGS-B",
            callback=run.after_iteration,
            options={
                "maxiter": max_iter,
                "maxfun": 20 * max_iter + 20,
                "ftol": 0.0,  # SciPy's test is absolute for values below 1; `_Run` has its own
                "gtol": tol * max_gradient,
            },
        )
        status = run.ended or _STATUS.get(found.status, "stalled")
    except KeyboardInterrupt:
        status = "interrupted"
    return Solution(
        x=run.best.reshape(run.shape),
        value=run.best_value,
        n_iter=max(1, len(run.history) - 1),  # an optimal start counts as one iteration
        status=status,
        grad_norm=float(np.linalg.norm(run.best_gradient)),
        history={"objective": np.asarray(run.history)},
    )


class _Run:
    """The state of one minimisation, which survives an interrupt."""

    def __init__(self, objective: Smooth, start: Array, tol: float, watcher: Watcher | None):
        self.objective = objective
        self.shape = start.shape
        self.tol = tol
        self.watcher = watcher
        self.best = np.asarray(start, dtype=np.float64).ravel().copy()
        self.best_value = np.inf
        self.best_gradient = self.best
        self.last_gradient = self.best
        self.first_max_gradient = 0.0
        self.cached_value: float | None = None  # at the start, where SciPy evaluates again
        self.history: list[float] = []
        self.ended: Status | None = None

    def evaluate(self, flat: Array) -> tuple[float, Array]:
        if self.cached_value is not None:
            value, self.cached_value = self.cached_value, None
            return value, self.last_gradient
        value, gradient = self.objective.value_and_gradient(flat.reshape(self.shape))
        # A copy: it may become the best point's gradient, and the objective may reuse its array.
        self.last_gradient = np.array(gradient, dtype=np.float64).ravel()
        return float(value), self.last_gradient

    def after_iteration(self, intermediate_result: OptimizeResult) -> None:
        before, value = self.best_value, float(intermediate_result.fun)
        if not np.isfinite(value) or value > before:
            self.ended = "stalled"  # keep the previous point
            raise StopIteration
        best = intermediate_result.x.copy(), value, self.last_gradient
        self.best, self.best_value, self.best_gradient = best  # which no interrupt divides
        self.history.append(value)
        decrease = (before - value) / (max(abs(before), abs(value)) or 1.0)
        gap = min(decrease, float(np.abs(self.best_gradient).max()) / self.first_max_gradient)
        here = Iteration(len(self.history) - 1, self.best.reshape(self.shape).copy(), value, gap)
        if self.watcher is not None and self.watcher(here):
            self.ended = "interrupted"
        elif decrease <= self.tol:
            self.ended = "converged"
        if self.ended:
            raise StopIteration
