"""Softmax over distances in NumPy: the definition of what the compiled loops compute."""

from __future__ import annotations

import numpy as np

from likewise._loops.softmax.types import NEGLIGIBLE, Softmax
from likewise._runtime.arrays import Float32Array, FloatArray, IndexArray


def softmax_rows(
    products: FloatArray,
    sqnorm: FloatArray,
    anchors: IndexArray,
    class_start: IndexArray,
    class_stop: IndexArray,
    column_sums: FloatArray,
    *,
    probability_gradient: bool,
) -> Softmax:
    """Replace inner products of anchors with all points by softmax weights.

    Anchor ``i = anchors[r]`` of row r picks another point j with probability ``p_ij`` proportional
    to ``exp(-‖z_i - z_j‖²)``; probabilities of e⁻⁴⁰ times the largest or less count as 0.

    Parameters
    ----------
    products : float64 array of shape (m, n), C-contiguous
        ``z_i · z_j``; replaced by the weights.
    sqnorm : float64 array of shape (n,)
        ``‖z_j‖²``.
    anchors, class_start, class_stop : int64 arrays of shape (m,)
        The anchor of each row, and the range of the points of its class.
    column_sums : float64 array of shape (n,)
        The sum of the weights of each column is added to it.
    probability_gradient : bool
        Weights are gradients with respect to ``-‖z_i - z_j‖²``. True: of the same-class probability
        ``p_i``, which is ``p_ij ([same class] - p_i)``. False: of the log sum, which is ``p_ij``.

    Returns
    -------
    Softmax
    """
    p = products  # no other array is as large
    p *= -2
    p += sqnorm
    p += sqnorm[anchors][:, None]
    p[np.arange(len(anchors)), anchors] = np.inf
    least = p.min(axis=1, keepdims=True)
    np.subtract(least, p, out=p)
    for row in p:
        row[row < -NEGLIGIBLE] = -np.inf
    np.exp(p, out=p)
    total = p.sum(axis=1, keepdims=True)
    p /= total
    own = np.empty(len(anchors))
    for r, (start, stop) in enumerate(zip(class_start, class_stop, strict=True)):
        before, same, after = np.split(p[r], [start, stop])
        own[r], outside = same.sum(), before.sum() + after.sum()
        if probability_gradient:
            # 1 - p_i as the sum over other classes, which is precise where it is small.
            same *= outside
            before *= -own[r]
            after *= -own[r]
    column_sums += p.sum(axis=0)
    log_sums = np.log(total[:, 0]) - least[:, 0]
    return Softmax(log_sums, own)


def near_softmax(
    approx_sqdist: Float32Array,
    error_bound: float,
    points: FloatArray,
    summands: FloatArray,
    anchors: IndexArray,
    class_start: IndexArray,
    class_stop: IndexArray,
    column_sums: FloatArray,
    weighted_sums: FloatArray,
    anchor_sums: FloatArray | None,
    *,
    probability_gradient: bool,
) -> Softmax:
    """Compute `softmax_rows` and two products of its weights where most are negligible.

    Parameters
    ----------
    approx_sqdist : float32 array of shape (m, n), C-contiguous
        ``‖z_i - z_j‖²`` plus a constant per row, approximately. The entries of the anchors
        themselves are overwritten.
    error_bound : float
        The largest error of the difference of two entries of a row. Points that are certainly
        negligible, going by it, are skipped.
    points : float64 array of shape (n, k), C-contiguous
        z.
    summands : float64 array of shape (n, d), C-contiguous
    anchors, class_start, class_stop : int64 arrays of shape (m,)
        The anchor of each row, and the range of the points of its class.
    column_sums : float64 array of shape (n,)
        The sum of the weights of each column is added to it.
    weighted_sums : float64 array of shape (m, d), C-contiguous
        Becomes ``weights @ summands``.
    anchor_sums : float64 array of shape (n, k), C-contiguous, or None
        ``weights.T @ points[anchors]`` is added to it.
    probability_gradient : bool
        Which weights to use: see `softmax_rows`.

    Returns
    -------
    Softmax
    """
    parts = []
    for r, i in enumerate(anchors):
        approx_sqdist[r, i] = np.nan
        near = np.flatnonzero(
            approx_sqdist[r] <= np.nanmin(approx_sqdist[r]) + (NEGLIGIBLE + error_bound)
        )
        # The anchor, then the points that count: those of its class are still a range.
        place = np.concatenate([[i], near])
        first, last = 1 + np.searchsorted(near, [class_start[r], class_stop[r]])
        differences = points[place] - points[i]
        sqnorm = np.einsum("ij,ij->i", differences, differences)
        weights, here = np.zeros((1, len(place))), np.zeros(1, dtype=np.int64)
        parts.append(
            softmax_rows(
                weights,
                sqnorm,
                here,
                first + here,
                last + here,
                np.zeros(len(place)),
                probability_gradient=probability_gradient,
            )
        )
        column_sums[place] += weights[0]
        weighted_sums[r] = weights[0] @ summands[place]
        if anchor_sums is not None:
            anchor_sums[place] += np.outer(weights[0], points[i])
    return Softmax(
        np.concatenate([part.log_sums for part in parts]),
        np.concatenate([part.same_class_probability for part in parts]),
    )
