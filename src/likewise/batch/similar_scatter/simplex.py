"""Maximise concave functions on the probability simplex, with a certificate of optimality."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dposv

from likewise._runtime.arrays import Array
from likewise.solvers import Iteration, Solution, Status, Watcher

_CENTRING = 0.03  # each step aims at this share of the current complementarity
_TO_BOUNDARY = 0.99  # the share of the way to the boundary that a step may go
_MAX_HALVINGS = 40


class TwiceDifferentiable(Protocol):
    """A concave function of weights with two derivatives."""

    def value_gradient_and_curvature(self, weights: Array) -> tuple[float, Array, Array]:
        """Return the value, its gradient, and minus its Hessian."""
        ...


def maximise_on_simplex(
    objective: TwiceDifferentiable,
    start: Array,
    *,
    max_iter: int,
    tol: float,
    watcher: Watcher | None = None,
) -> Solution:
    """Maximise a concave function over ``w ≥ 0, Σ w = 1`` by primal-dual interior-point steps.

    A step costs one evaluation of the Hessian and one Cholesky factorisation; about a dozen steps
    are needed, whatever the problem. The Frank–Wolfe gap, the largest entry of the gradient g less
    ``g·w``, bounds the distance to the maximum. It is reported relative to the value, or to
    ``g·w`` if that is larger in magnitude.

    Parameters
    ----------
    objective : TwiceDifferentiable
    start : array of shape (n,)
        Initial weights, all positive; they are scaled to sum to 1.
    max_iter : int
        Maximum number of steps.
    tol : float
        Converged when the relative gap is at most this.
    watcher : callable, optional
        Called with an `Iteration`; returns True to stop.

    Returns
    -------
    Solution
        ``gap`` is the certificate. ``history["objective"]`` has the value at the start and after
        each step.

    Examples
    --------
    >>> import numpy as np
    >>> class Roots:  # the maximiser is proportional to the squared coefficients
    ...     def value_gradient_and_curvature(self, w):
    ...         roots = np.array([1.0, 3.0]) * np.sqrt(w)
    ...         return roots.sum(), roots / w / 2, np.diag(roots / w**2 / 4)
    >>> maximise_on_simplex(Roots(), np.ones(2), max_iter=50, tol=1e-9).x.round(4)
    array([0.1, 0.9])
    """
    weights = np.array(start, dtype=np.float64) / np.sum(start)
    value, gradient, curvature = objective.value_gradient_and_curvature(weights)
    if not np.isfinite(value) or not np.isfinite(gradient).all():
        return Solution(weights, value, 1, "failed")
    history = [value]
    # KKT: with the multiplier ν of Σ w = 1, the dual slack ν - g is ≥ 0, and 0 where w > 0.
    multiplier = 2 * float(gradient.max()) - float(gradient @ weights)
    slack = multiplier - gradient
    status: Status = "max_iter"
    try:
        while (gap := _relative_gap(value, gradient, weights)) > tol and len(history) <= max_iter:
            barrier = _CENTRING * float(weights @ slack) / len(weights)
            rhs = gradient - multiplier + barrier / weights
            direction, multiplier_change = _newton_direction(weights, slack, rhs, curvature)
            slack_change = (barrier - slack * direction) / weights - slack
            found = _line_search(objective, weights, direction, value, barrier)
            if found is None:
                status = "stalled"
                break
            weights, (value, gradient, curvature) = found
            step = _longest_step(slack, slack_change)
            multiplier, slack = multiplier + step * multiplier_change, slack + step * slack_change
            history.append(value)
            gap = _relative_gap(value, gradient, weights)
            here = Iteration(len(history) - 1, weights.copy(), value, gap)
            if watcher is not None and watcher(here):
                status = "interrupted"
                break
    except KeyboardInterrupt:
        status = "interrupted"
    gap = _relative_gap(value, gradient, weights)
    return Solution(
        x=weights,
        value=value,
        n_iter=max(1, len(history) - 1),
        status="converged" if gap <= tol else status,
        gap=gap,
        history={"objective": np.asarray(history)},
    )


def _relative_gap(value: float, gradient: Array, weights: Array) -> float:
    """Return the Frank–Wolfe gap, relative to the value or to ``g·w``."""
    inner = float(gradient @ weights)
    gap = max(0.0, float(gradient.max()) - inner)
    return gap / (max(abs(value), abs(inner)) or 1.0)


def _newton_direction(
    weights: Array, slack: Array, rhs: Array, curvature: Array
) -> tuple[Array, float]:
    """Solve ``(C + diag(slack / w)) dw + dν 1 = rhs`` with ``Σ dw = 0``; return dw and dν."""
    matrix = curvature.copy()
    matrix.flat[:: len(matrix) + 1] += slack / weights
    # LAPACK directly: for a few features SciPy's checks would take longer than the solve.
    _, both, _ = dposv(matrix, np.column_stack([rhs, np.ones_like(rhs)]))
    multiplier_change = float(both[:, 0].sum() / both[:, 1].sum())
    return both[:, 0] - multiplier_change * both[:, 1], multiplier_change


def _longest_step(values: Array, change: Array) -> float:
    """Return the step, 1 at most, that keeps ``values + step * change`` positive."""
    shrink = float((-change / values).max())
    return min(1.0, _TO_BOUNDARY / shrink) if shrink > 0 else 1.0


def _line_search(
    objective: TwiceDifferentiable,
    weights: Array,
    direction: Array,
    value: float,
    barrier: float,
) -> tuple[Array, tuple[float, Array, Array]] | None:
    """Return a point that raises ``value + barrier Σ log w``, and the objective there."""
    step = _longest_step(weights, direction)
    before = value + barrier * float(np.log(weights).sum())
    for _ in range(_MAX_HALVINGS):
        trial = weights + step * direction
        trial /= trial.sum()
        found = objective.value_gradient_and_curvature(trial)
        raised = found[0] + barrier * float(np.log(trial).sum()) - before
        if raised >= -1e-14 * abs(before) and np.isfinite(found[1]).all():
            return trial, found
        step /= 2
    return None
