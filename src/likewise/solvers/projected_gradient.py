"""Accelerated projected gradient steps (FISTA) for a smooth function on a convex set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from likewise._runtime.arrays import Array


def fista(
    slope: Callable[[Array], Array],
    project: Callable[[Array], Array],
    start: Array,
    *,
    steepness: float,
    max_iter: int,
    tol: float,
) -> tuple[Array, bool]:
    """Minimise a smooth convex function on a convex set.

    Parameters
    ----------
    slope : callable
        The gradient at a point.
    project : callable
        The nearest point of the set.
    start : array
        A point of the set.
    steepness : float
        A Lipschitz constant of the gradient.
    max_iter, tol : int, float
        Stop when no entry moves by more than `tol` in a step.

    Returns
    -------
    point : array
    converged : bool

    Examples
    --------
    >>> import numpy as np
    >>> nearest, _ = fista(lambda x: x - 3, lambda x: np.minimum(x, 1), np.zeros(2), steepness=1,
    ...                    max_iter=50, tol=1e-9)
    >>> nearest
    array([1., 1.])
    """
    x, ahead, pace = start, start, 1.0
    for _ in range(max_iter):
        moved = project(ahead - slope(ahead) / steepness)
        faster = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        if np.vdot(ahead - moved, moved - x) > 0:  # overshot: begin anew
            pace = faster = 1.0
        ahead = moved + (pace - 1) / faster * (moved - x)
        if np.abs(moved - x).max(initial=0.0) <= tol:
            return moved, True
        x, pace = moved, faster
    return x, False


def project_to_simplex(rows: Array) -> Array:
    """Return the nearest rows that are non-negative and sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> project_to_simplex(np.array([[0.5, 0.7], [3.0, 0.0]]))
    array([[0.4, 0.6],
           [1. , 0. ]])
    """
    ordered = -np.sort(-rows, axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, rows.shape[1] + 1)
    count = (ordered > excess).sum(axis=1)
    return np.asarray(np.maximum(rows - excess[np.arange(len(rows)), count - 1][:, None], 0.0))
