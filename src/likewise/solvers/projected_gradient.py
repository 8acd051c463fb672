"""Accelerated projected gradient descent (FISTA), and the projection onto the simplex."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from likewise._runtime.arrays import Array


def fista(
    gradient: Callable[[Array], Array],
    project: Callable[[Array], Array],
    start: Array,
    *,
    lipschitz: float,
    max_iter: int,
    tol: float,
) -> tuple[Array, bool]:
    """Minimise a smooth convex function on a convex set, with restarts of the momentum.

    Parameters
    ----------
    gradient : callable
        Returns the gradient at a point.
    project : callable
        Returns the Euclidean projection of a point onto the set.
    start : array
        A point of the set.
    lipschitz : float
        A Lipschitz constant of the gradient.
    max_iter : int
        Maximum number of steps.
    tol : float
        Converged when no entry changes by more than `tol` in a step.

    Returns
    -------
    point : array
    converged : bool

    Examples
    --------
    >>> import numpy as np
    >>> nearest, _ = fista(lambda x: x - 3, lambda x: np.minimum(x, 1), np.zeros(2), lipschitz=1,
    ...                    max_iter=50, tol=1e-9)
    >>> nearest
    array([1., 1.])
    """
    x, extrapolated, momentum = start, start, 1.0
    for _ in range(max_iter):
        following = project(extrapolated - gradient(extrapolated) / lipschitz)
        next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        if np.vdot(extrapolated - following, following - x) > 0:  # overshot: restart
            momentum = next_momentum = 1.0
        extrapolated = following + (momentum - 1) / next_momentum * (following - x)
        if np.abs(following - x).max(initial=0.0) <= tol:
            return following, True
        x, momentum = following, next_momentum
    return x, False


def project_to_simplex(rows: Array) -> Array:
    """Return the Euclidean projection of each row onto the probability simplex.

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
