"""What each label would add to LMNN's objective, for points whose label is sought."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from likewise import _loops
from likewise._runtime.arrays import Array, FloatArray, IndexArray

BLOCK_VALUES = 1 << 19  # distances at a time, for each thread: few stay near its core


def by_class(codes: IndexArray, n_classes: int) -> tuple[IndexArray, IndexArray]:
    """Return rows in the order of their classes, and where each class begins in it."""
    start = np.zeros(n_classes + 1, dtype=np.int64)
    np.cumsum(np.bincount(codes, minlength=n_classes), out=start[1:])
    return np.argsort(codes, kind="stable"), start


class SquaredDistances:
    """Squared distances to the same rows, over and over, each block by one product.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        Rows near the origin: far from it products would lose the digits.
    unit : float
        What distances are divided by.
    """

    def __init__(self, rows: Array, unit: float = 1.0) -> None:
        rows = rows.astype(np.float64)
        squares = np.square(rows).sum(axis=1)
        # (p, ‖p‖², 1) · (-2r, 1, ‖r‖²) = ‖p - r‖²
        self._across = np.column_stack([-2 * rows, np.ones(len(rows)), squares]).T / unit

    def to(self, points: Array) -> FloatArray:
        """Return the squared distances from points to all rows."""
        points = points.astype(np.float64)
        squares = np.square(points).sum(axis=1)
        found = np.column_stack([points, squares, np.ones(len(points))]) @ self._across
        return np.maximum(found, 0, out=found)


def energies(
    to_rows: FloatArray,
    targets: IndexArray,
    class_start: IndexArray,
    to_targets: FloatArray,
    *,
    push: float,
    margin: float,
    invaders: bool = True,
    from_rows: Callable[[int], FloatArray] | None = None,
) -> FloatArray:
    """Return the energy of every label for a block of points.

    Parameters
    ----------
    to_rows : float64 array of shape (n_points, n_rows)
        Squared distances from the points to the training rows, those of a class side by side.
    targets : int array of shape (n_points, n_classes, k)
        The training rows that would be the targets of a point in each class.
    class_start : int array of shape (n_classes + 1,)
        Where the rows of each class begin; the last is where all end.
    to_targets : float64 array of shape (n_rows, k)
        Squared distances of the training rows to their own targets.
    push, margin : float
        The weight of impostors, and the margin.
    invaders : bool
        Whether rows inside the margin of a point cost.
    from_rows : callable, optional
        Squared distances from the training rows to the points if these were of a given class,
        shape (n_points, n_rows); the same as `to_rows` by default.

    Returns
    -------
    float64 array of shape (n_points, n_classes)

    Examples
    --------
    >>> to_rows = np.array([[0.0, 1.0, 9.0, 16.0]])
    >>> targets = np.array([[[0], [2]]])
    >>> class_start, to_targets = np.array([0, 2, 4]), np.array([[1.0], [1.0], [1.0], [1.0]])
    >>> energies(to_rows, targets, class_start, to_targets, push=0.5, margin=1.0)
    array([[ 0. , 15.5]])
    """
    n_points, n_classes, k = targets.shape
    near = np.take_along_axis(to_rows, targets.reshape(n_points, -1), axis=1)  # D(t, j)
    near = near.reshape(n_points, n_classes, k)
    radii = np.ascontiguousarray(to_targets.T + margin)
    if from_rows is None:
        pushed = _of_others(_loops.invaded_hinges(to_rows, class_start, radii))
    else:
        pushed = np.empty((n_points, n_classes))
        for label in range(n_classes):
            by_class = _loops.invaded_hinges(from_rows(label), class_start, radii)
            pushed[:, label] = np.delete(by_class, label, axis=1).sum(axis=1)
    if invaders:
        pushed += _loops.invader_hinges(to_rows, class_start, near + margin)
    return np.asarray((1 - push) * near.sum(axis=2) + push * pushed)


def _of_others(by_class: FloatArray) -> FloatArray:
    """Return, for each column, the sum of all others; no difference is taken that would round."""
    before, after = np.zeros_like(by_class), np.zeros_like(by_class)
    np.cumsum(by_class[:, :-1], axis=1, out=before[:, 1:])
    np.cumsum(by_class[:, :0:-1], axis=1, out=after[:, -2::-1])
    return np.asarray(before + after)
