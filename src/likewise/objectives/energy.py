"""What each label would add to LMNN's objective, for points whose label is sought."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Index = NDArray[np.int64]


def energies(
    to_rows: Reals,
    targets: Index,
    codes: Index,
    to_targets: Reals,
    *,
    push: float,
    margin: float,
    from_rows: Callable[[int], Reals] | None = None,
) -> Reals:
    """Return the energy of every label for a block of points.

    Parameters
    ----------
    to_rows : float64 array of shape (n_points, n_rows)
        Squared distances from the points to the training rows.
    targets : int array of shape (n_points, n_classes, k)
        The training rows that would be the targets of a point in each class.
    codes : int array of shape (n_rows,)
        Classes of the training rows.
    to_targets : float64 array of shape (n_rows, k)
        Squared distances of the training rows to their own targets.
    push, margin : float
        The weight of impostors, and the margin.
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
    >>> codes, to_targets = np.array([0, 0, 1, 1]), np.array([[1.0], [1.0], [1.0], [1.0]])
    >>> energies(to_rows, targets, codes, to_targets, push=0.5, margin=1.0)
    array([[ 0. , 15.5]])
    """
    n_points, n_classes, _ = targets.shape
    reach = np.take_along_axis(to_rows[:, None], targets, axis=2)  # D(t, j)
    found = (1 - push) * reach.sum(axis=2)
    members = np.eye(n_classes)[codes]
    invaded = None if from_rows is not None else _invaded(to_rows, to_targets + margin) @ members
    for point in range(n_points):
        found[point] += push * _invaders(to_rows[point], reach[point] + margin, codes)
    for label in range(n_classes):
        by_class = invaded
        if from_rows is not None:
            by_class = _invaded(from_rows(label), to_targets + margin) @ members
        assert by_class is not None
        found[:, label] += push * (by_class.sum(axis=1) - by_class[:, label])
    return np.asarray(found)


def _invaders(distances: Reals, radii: Reals, codes: Index) -> Reals:
    """Return, for every class, by how much rows of others are inside the radii of one point.

    ``Σ_j Σ_{l: y_l ≠ c} [radii[c, j] - distances[l]]_+``, from counts and sums of the distances
    below each radius: what is inside of one radius is inside of all larger ones.
    """
    n_classes, k = radii.shape
    order = np.argsort(radii, axis=None)
    sorted_radii = radii.ravel()[order]
    near = np.flatnonzero(distances < sorted_radii[-1])
    values = distances[near]
    below = np.searchsorted(sorted_radii, values, side="right")
    shape = (n_classes, n_classes * k)
    slot = codes[near] * shape[1] + below
    counts = np.bincount(slot, minlength=shape[0] * shape[1]).reshape(shape).cumsum(axis=1)
    sums = np.bincount(slot, values, minlength=shape[0] * shape[1]).reshape(shape).cumsum(axis=1)
    inside = sorted_radii * counts - sums  # by class of the rows, radius in sorted order
    owner = order // k
    others = inside.sum(axis=0) - inside[owner, np.arange(len(order))]
    return np.bincount(owner, others, minlength=n_classes).astype(np.float64)


def _invaded(distances: Reals, radii: Reals) -> Reals:
    """Return ``Σ_j [radii[i, j] - distances[t, i]]_+`` for every point t and row i."""
    total = np.zeros_like(distances)
    for radius in radii.T:
        total += np.maximum(radius - distances, 0)
    return total
