"""Newton's method for the problem of ITML."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky

from likewise._runtime.arrays import FloatArray
from likewise.batch.itml.problem import Iterate, LogDetProblem
from likewise.solvers import Iteration, Solution, Status, Watcher


def newton(
    problem: LogDetProblem,
    start: FloatArray,
    *,
    max_iter: int,
    tol: float,
    watcher: Watcher | None = None,
) -> Solution:
    """Minimise by Newton steps with a line search, until the duality gap is small.

    Parameters
    ----------
    problem : LogDetProblem
    start : array of shape (n_features, n_features)
        Positive definite.
    max_iter : int
        Maximum number of steps.
    tol : float
        Converged when the duality gap is at most this share of the value.
    watcher : callable, optional
        Called with an `Iteration` after each step; returns True to stop.

    Returns
    -------
    Solution
        ``history`` has the value ("objective") and the relative duality gap ("gap") at the start
        and after each step.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones((1, 1))
    >>> at_least_4 = LogDetProblem(one, one, -np.ones(1), np.full(1, 4.0), slack_weight=1.0)
    >>> newton(at_least_4, one, max_iter=20, tol=1e-9).x.round(4)
    array([[1.6]])
    """
    point = Iterate(problem, cholesky(start, lower=True))
    values, gaps = [point.value], [point.gap()]
    status: Status = "max_iter" if np.isfinite(point.value) else "failed"
    try:
        while status == "max_iter":
            if gaps[-1] <= tol:
                status = "converged"
                break
            if len(values) > max_iter:
                break
            found = point.line_search(point.newton_step())
            if found is None:
                status = "stalled"
                break
            gap = found.gap()
            point = found
            values.append(point.value)
            gaps.append(gap)
            if watcher is not None and watcher(
                Iteration(len(values) - 1, point.matrix(), point.value, gap)
            ):
                status = "interrupted"
    except KeyboardInterrupt:
        status = "interrupted"
    return Solution(
        x=point.matrix(),
        value=point.value,
        n_iter=max(1, len(values) - 1),
        status=status,
        gap=gaps[-1],
        history={"objective": np.asarray(values), "gap": np.asarray(gaps)},
    )
