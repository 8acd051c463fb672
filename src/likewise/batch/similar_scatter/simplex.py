"""Concave functions of shares that sum to 1, with a certificate."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dposv

from likewise._runtime.arrays import Array
from likewise.solvers._protocols import Iteration, Solution, Status, Watcher

_CENTRING = 0.03  # each step aims at this share of the complementarity that is left
_TO_THE_WALL = 0.99  # how much of the way to the nearest wall a step may go
_HALVINGS = 40


class Curved(Protocol):
    """A concave function of shares with two derivatives."""

    def value_slope_and_curvature(self, shares: Array) -> tuple[float, Array, Array]:
        """Return the value, its slope, and minus its second derivative."""
        ...


def maximise_on_simplex(
    objective: Curved,
    start: Array,
    *,
    max_iter: int,
    tol: float,
    watcher: Watcher | None = None,
) -> Solution:
    """Maximise a concave function over ``n ≥ 0, Σ n = 1`` by primal-dual Newton steps.

    A step costs one look at the curvature and one Cholesky factor; there are a dozen of them,
    whatever the problem. The gap of Frank and Wolfe, the largest entry of the slope g less
    ``g·n``, bounds how much is missing; it is given as a share of the value, or of ``g·n`` where
    that is larger in size.

    Parameters
    ----------
    objective : Curved
    start : array of shape (n,)
        Shares to begin with, all positive; they are scaled to sum to 1.
    max_iter : int
        Steps allowed.
    tol : float
        Converged when the gap is at most this.
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
    >>> class Roots:  # its maximum has shares in proportion to the squares of the factors
    ...     def value_slope_and_curvature(self, n):
    ...         roots = np.array([1.0, 3.0]) * np.sqrt(n)
    ...         return roots.sum(), roots / n / 2, np.diag(roots / n**2 / 4)
    >>> maximise_on_simplex(Roots(), np.ones(2), max_iter=50, tol=1e-9).x.round(4)
    array([0.1, 0.9])
    """
    shares = np.array(start, dtype=np.float64) / np.sum(start)
    value, slope, curvature = objective.value_slope_and_curvature(shares)
    if not np.isfinite(value) or not np.isfinite(slope).all():
        return Solution(shares, value, 1, "failed")
    history = [value]
    # At the maximum no slope is above the level, and where one is below it the share is 0.
    level = 2 * float(slope.max()) - float(slope @ shares)
    below = level - slope
    status: Status = "max_iter"
    try:
        while (gap := _gap(value, slope, shares)) > tol and len(history) <= max_iter:
            aim = _CENTRING * float(shares @ below) / len(shares)
            move, rise = _newton(shares, below, slope - level + aim / shares, curvature)
            fall = (aim - below * move) / shares - below
            found = _search(objective, shares, move, value, aim)
            if found is None:
                status = "stalled"
                break
            shares, (value, slope, curvature) = found
            step = _longest(below, fall)
            level, below = level + step * rise, below + step * fall
            history.append(value)
            here = Iteration(len(history) - 1, shares.copy(), value)
            if watcher is not None and watcher(here):
                status = "interrupted"
                break
    except KeyboardInterrupt:
        status = "interrupted"
    gap = _gap(value, slope, shares)
    return Solution(
        x=shares,
        value=value,
        n_iter=max(1, len(history) - 1),
        status="converged" if gap <= tol else status,
        gap=gap,
        history={"objective": np.asarray(history)},
    )


def _gap(value: float, slope: Array, shares: Array) -> float:
    here = float(slope @ shares)
    missing = max(0.0, float(slope.max()) - here)
    return missing / (max(abs(value), abs(here)) or 1.0)


def _newton(shares: Array, below: Array, right: Array, curvature: Array) -> tuple[Array, float]:
    """Solve ``(C + diag(below / shares)) move + rise 1 = right`` for a move that sums to 0."""
    matrix = curvature.copy()
    matrix.flat[:: len(matrix) + 1] += below / shares
    # LAPACK itself: for a few features, what SciPy has around it would take longer.
    _, both, _ = dposv(matrix, np.column_stack([right, np.ones_like(right)]))
    rise = float(both[:, 0].sum() / both[:, 1].sum())
    return both[:, 0] - rise * both[:, 1], rise


def _longest(values: Array, move: Array) -> float:
    """Return the step, 1 at most, that keeps ``values + step * move`` off zero."""
    shrink = float((-move / values).max())
    return min(1.0, _TO_THE_WALL / shrink) if shrink > 0 else 1.0


def _search(
    objective: Curved, shares: Array, move: Array, value: float, aim: float
) -> tuple[Array, tuple[float, Array, Array]] | None:
    """Return a point on the way that raises ``value + aim Σ log n``, and what is there."""
    step = _longest(shares, move)
    before = value + aim * float(np.log(shares).sum())
    for _ in range(_HALVINGS):
        there = shares + step * move
        there /= there.sum()
        found = objective.value_slope_and_curvature(there)
        raised = found[0] + aim * float(np.log(there).sum()) - before
        if raised >= -1e-14 * abs(before) and np.isfinite(found[1]).all():
            return there, found
        step /= 2
    return None
