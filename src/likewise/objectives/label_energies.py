"""The energy of a label: how much a point with that label would add to the LMNN objective."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from likewise import _loops
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise.neighbors import nearest

BLOCK_VALUES = 1 << 19  # distances per block: few enough to stay in the cache of a core


def sort_by_class(codes: IndexArray, n_classes: int) -> tuple[IndexArray, IndexArray]:
    """Return the order of the rows by class, and where each class begins in it."""
    start = np.zeros(n_classes + 1, dtype=np.int64)
    np.cumsum(np.bincount(codes, minlength=n_classes), out=start[1:])
    return np.argsort(codes, kind="stable"), start


def targets_by_class(
    points: Array, rows: Array, class_start: IndexArray, k: int, n_jobs: int | None
) -> IndexArray:
    """Return the k nearest rows of each class, shape (n_points, n_classes, k).

    The rows are sorted by class. In a smaller class the nearest one fills the remaining places.
    """
    targets = np.empty((len(points), len(class_start) - 1, k), dtype=np.int64)
    for code, (start, stop) in enumerate(pairwise(class_start.tolist())):
        _, index = nearest(points, rows[start:stop], min(k, stop - start), n_jobs=n_jobs)
        targets[:, code] = start + index[:, :1]
        targets[:, code, : index.shape[1]] = start + index
    return targets


def values_by_row(pairs: IndexArray, values: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Return a table with the values of the pairs of each row, in order, and 0 after the last.

    The pairs are sorted by their first row.
    """
    rows = pairs[:, 0]
    table = np.zeros(shape)
    table[rows, np.arange(len(rows)) - np.searchsorted(rows, rows)] = values
    return table


class SquaredDistances:
    """Squared distances to fixed rows, by one matrix product per block of points.

    Parameters
    ----------
    rows : array of shape (n_samples, n_features)
        Centred rows: far from the origin the products would lose precision.
    unit : float
        Divisor of the squared distances.
    """

    def __init__(self, rows: Array, unit: float = 1.0) -> None:
        rows = rows.astype(np.float64)
        squares = np.square(rows).sum(axis=1)
        # (p, ‖p‖², 1) · (-2r, 1, ‖r‖²) = ‖p - r‖²
        self._factor = np.column_stack([-2 * rows, np.ones(len(rows)), squares]).T / unit

    def to(self, points: Array) -> FloatArray:
        """Return the squared distances from points to all rows."""
        points = points.astype(np.float64)
        squares = np.square(points).sum(axis=1)
        found = np.column_stack([points, squares, np.ones(len(points))]) @ self._factor
        return np.maximum(found, 0, out=found)


def label_energies(
    to_rows: FloatArray,
    targets: IndexArray,
    class_start: IndexArray,
    to_targets: FloatArray,
    *,
    push: float,
    margin: float,
    impostors: bool = True,
    from_rows: Callable[[int], FloatArray] | None = None,
) -> FloatArray:
    """Return the LMNN energy of every label for a block of points.

    Parameters
    ----------
    to_rows : float64 array of shape (n_points, n_samples)
        Squared distances from the points to the training rows, which are sorted by class.
    targets : int array of shape (n_points, n_classes, k)
        The training rows that would be the targets of a point with each label. In a class of
        fewer than k rows the first ones count, as many as there are.
    class_start : int array of shape (n_classes + 1,)
        Where the rows of each class begin; the last entry is n_samples.
    to_targets : float64 array of shape (n_samples, k)
        Squared distances of the training rows to their targets; of those in a class of at most k
        rows the first ones count, as many as there are others.
    push, margin : float
        The weight of the push, and the margin.
    impostors : bool
        Whether the training rows inside the margin of a point count.
    from_rows : callable, optional
        Squared distances from the training rows to the points if these had a given label, shape
        (n_points, n_samples); the same as `to_rows` by default.

    Returns
    -------
    float64 array of shape (n_points, n_classes)

    Examples
    --------
    >>> to_rows = np.array([[0.0, 1.0, 9.0, 16.0]])
    >>> targets = np.array([[[0], [2]]])
    >>> class_start, to_targets = np.array([0, 2, 4]), np.array([[1.0], [1.0], [1.0], [1.0]])
    >>> label_energies(to_rows, targets, class_start, to_targets, push=0.5, margin=1.0)
    array([[ 0. , 15.5]])
    """
    n_points, n_classes, k = targets.shape
    sqdist = np.take_along_axis(to_rows, targets.reshape(n_points, -1), axis=1)
    sizes = np.diff(class_start)
    # No distance is below a squared radius of 0.
    has_target = np.arange(k) < sizes[:, None]
    sqdist = np.where(has_target, sqdist.reshape(n_points, n_classes, k), 0.0)  # D(t, j)
    anchor_sqradii = np.where(has_target, sqdist + margin, 0.0)
    row_has_target = np.arange(k)[:, None] < np.repeat(sizes - 1, sizes)
    sqradii = np.where(row_has_target, to_targets.T + margin, 0.0)
    if from_rows is None:
        push_loss = _sum_over_other_classes(_loops.impostor_hinges(to_rows, class_start, sqradii))
    else:
        push_loss = np.empty((n_points, n_classes))
        for label in range(n_classes):
            class_loss = _loops.impostor_hinges(from_rows(label), class_start, sqradii)
            push_loss[:, label] = np.delete(class_loss, label, axis=1).sum(axis=1)
    if impostors:
        push_loss += _loops.anchor_hinges(to_rows, class_start, anchor_sqradii)
    return np.asarray((1 - push) * sqdist.sum(axis=2) + push * push_loss)


def _sum_over_other_classes(by_class: FloatArray) -> FloatArray:
    """Return, for each column, the sum of all others, without a difference that would cancel."""
    before, after = np.zeros_like(by_class), np.zeros_like(by_class)
    np.cumsum(by_class[:, :-1], axis=1, out=before[:, 1:])
    np.cumsum(by_class[:, :0:-1], axis=1, out=after[:, -2::-1])
    return np.asarray(before + after)
