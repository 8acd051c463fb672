"""The loops over hinge losses in NumPy: the definition of what the compiled ones compute."""

import numpy as np

from likewise._loops.hinges.types import Hinges, check_groups
from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.threads import count_threads


def group_hinges(
    near: FloatArray,
    near_start: IndexArray,
    far: FloatArray,
    far_start: IndexArray,
    weights: FloatArray,
    pull: float,
    push: float,
    margin: float,
    smoothing: float,
    *,
    out: Hinges | None = None,
    n_jobs: int | None = None,
) -> Hinges:
    """Return the sum, per group, of smoothed hinge losses of all near against all far pairs.

    A triplet is a near and a far pair of one group. Its violation ``v = margin + near − far`` has
    loss 0 below 0, ``v²/(2 smoothing)`` up to ``smoothing`` and ``v − smoothing/2`` beyond.

    Parameters
    ----------
    near, far : float64 arrays of shape (m,) and (p,)
        Squared distances, group by group.
    near_start, far_start : int64 arrays of shape (n_groups + 1,)
        Where the pairs of each group begin; the last entry is the number of pairs.
    weights : float64 array of shape (n_groups,)
        What the derivatives of each group are multiplied by.
    pull, push : float
        The derivatives are those of the losses times `push`, and of the near pairs times `pull`.
    margin, smoothing : float
        A smoothing of 0 gives the hinge itself.
    out : Hinges, optional
        Memory for the result.
    n_jobs : int or None

    Returns
    -------
    Hinges
    """
    check_groups(near, near_start, far, far_start, weights, margin, smoothing)
    count_threads(n_jobs)
    hinges = out or Hinges.empty(len(near_start) - 1, len(near), len(far))
    for group in range(len(hinges.value)):
        own = slice(near_start[group], near_start[group + 1])
        other = slice(far_start[group], far_start[group + 1])
        violation = np.maximum(margin + near[own, None] - far[other], 0)
        smoothed = violation < smoothing
        derivative = np.where(smoothed, violation / (smoothing or 1), violation > 0)
        loss = np.where(
            smoothed, violation * derivative / 2, violation - smoothing / 2 * (violation > 0)
        )
        hinges.value[group] = loss.sum()
        hinges.near_derivative[own] = weights[group] * (pull + push * derivative.sum(axis=1))
        hinges.far_derivative[other] = weights[group] * (-push * derivative.sum(axis=0))
    return hinges


def anchor_hinges(sqdist: FloatArray, class_start: IndexArray, sqradii: FloatArray) -> FloatArray:
    """Return the hinge losses of triplets in which points, with each label, are the anchors.

    Parameters
    ----------
    sqdist : float64 array of shape (m, n), C-contiguous
        Squared distances from points to training rows, which are sorted by class.
    class_start : int64 array of shape (n_classes + 1,)
        Where the rows of each class begin; the last entry is n.
    sqradii : float64 array of shape (m, n_classes, k), C-contiguous
        Squared distance to each of k targets, plus the margin, of each point with each label.

    Returns
    -------
    float64 array of shape (m, n_classes)
        ``Σ_j Σ_l [sqradii[t, c, j] - sqdist[t, l]]_+``, l over the rows that are not of class c.
    """
    out = np.zeros((len(sqdist), len(class_start) - 1))
    for c in range(out.shape[1]):
        others = np.delete(sqdist, slice(class_start[c], class_start[c + 1]), axis=1)
        for radius in sqradii[:, c].T:
            out[:, c] += np.maximum(radius[:, None] - others, 0).sum(axis=1)
    return out


def impostor_hinges(sqdist: FloatArray, class_start: IndexArray, sqradii: FloatArray) -> FloatArray:
    """Return the hinge losses of triplets in which points are the impostors of training rows.

    Parameters
    ----------
    sqdist : float64 array of shape (m, n), C-contiguous
        Squared distances between points and training rows, which are sorted by class.
    class_start : int64 array of shape (n_classes + 1,)
        Where the rows of each class begin; the last entry is n.
    sqradii : float64 array of shape (k, n), C-contiguous
        Squared distance to each of k targets, plus the margin, of each row.

    Returns
    -------
    float64 array of shape (m, n_classes)
        ``Σ_i Σ_j [sqradii[j, i] - sqdist[t, i]]_+``, i over the rows of the class.
    """
    inside = np.zeros_like(sqdist)
    for radius in sqradii:
        inside += np.maximum(radius - sqdist, 0)
    parts = np.split(inside, class_start[1:-1], axis=1)
    return np.stack([part.sum(axis=1) for part in parts], axis=1)
