"""The loops over hinge losses in NumPy: the definition of what the compiled ones compute."""

import numpy as np

from likewise._loops.hinges.types import check_groups
from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.threads import count_threads


def group_hinges(
    near: FloatArray,
    near_start: IndexArray,
    far: FloatArray,
    far_start: IndexArray,
    margin: float,
    width: float,
    *,
    n_jobs: int | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what it costs, group by group, that far pairs are not `margin` beyond near ones.

    Every near pair of a group meets every far pair of it: the violation ``v = margin + near − far``
    costs 0 below 0, ``v²/(2 width)`` up to ``width`` and ``v − width/2`` beyond.

    Parameters
    ----------
    near, far : float64 arrays of shape (m,) and (p,)
        Squared distances, group by group.
    near_start, far_start : int64 arrays of shape (n_groups + 1,)
        Where the pairs of each group begin; the last is where all end.
    margin, width : float
        The hinge is rounded over ``width``; 0 leaves its kink.
    n_jobs : int or None

    Returns
    -------
    value : float64 array of shape (n_groups,)
    near_slope : float64 array of shape (m,)
        The sum of the slopes of the hinges that a near pair is part of.
    far_slope : float64 array of shape (p,)
        The same for far pairs; the value falls as far pairs grow.
    """
    check_groups(near, near_start, far, far_start, margin, width)
    count_threads(n_jobs)
    value, near_slope, far_slope = (np.zeros(n) for n in (len(near_start) - 1, len(near), len(far)))
    for group in range(len(value)):
        own = slice(near_start[group], near_start[group + 1])
        other = slice(far_start[group], far_start[group + 1])
        violation = np.maximum(margin + near[own, None] - far[other], 0)
        rounded = violation < width
        slope = np.where(rounded, violation / (width or 1), violation > 0)
        loss = np.where(rounded, violation * slope / 2, violation - width / 2 * (violation > 0))
        value[group] = loss.sum()
        near_slope[own], far_slope[other] = slope.sum(axis=1), slope.sum(axis=0)
    return value, near_slope, far_slope


def invader_hinges(distances: FloatArray, class_start: IndexArray, radii: FloatArray) -> FloatArray:
    """Return by how much rows of other classes are inside the radii that points would have.

    Parameters
    ----------
    distances : float64 array of shape (m, n), C-contiguous
        From points to rows; the rows of a class stand side by side.
    class_start : int64 array of shape (n_classes + 1,)
        Where the rows of each class begin; the last is where all end.
    radii : float64 array of shape (m, n_classes, k), C-contiguous
        The radii of each point if it were of a class.

    Returns
    -------
    float64 array of shape (m, n_classes)
        ``Σ_j Σ_l [radii[t, c, j] - distances[t, l]]_+``, l over the rows that are not of class c.
    """
    out = np.zeros((len(distances), len(class_start) - 1))
    for c in range(out.shape[1]):
        others = np.delete(distances, slice(class_start[c], class_start[c + 1]), axis=1)
        for radius in radii[:, c].T:
            out[:, c] += np.maximum(radius[:, None] - others, 0).sum(axis=1)
    return out


def invaded_hinges(distances: FloatArray, class_start: IndexArray, radii: FloatArray) -> FloatArray:
    """Return by how much points are inside the radii of rows, added up class by class.

    Parameters
    ----------
    distances : float64 array of shape (m, n), C-contiguous
        Between points and rows; the rows of a class stand side by side.
    class_start : int64 array of shape (n_classes + 1,)
        Where the rows of each class begin; the last is where all end.
    radii : float64 array of shape (k, n), C-contiguous
        The radii of each row.

    Returns
    -------
    float64 array of shape (m, n_classes)
        ``Σ_i Σ_j [radii[j, i] - distances[t, i]]_+``, i over the rows of the class.
    """
    inside = np.zeros_like(distances)
    for radius in radii:
        inside += np.maximum(radius - distances, 0)
    parts = np.split(inside, class_start[1:-1], axis=1)
    return np.stack([part.sum(axis=1) for part in parts], axis=1)
