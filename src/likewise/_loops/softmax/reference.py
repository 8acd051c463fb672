"""Softmax over distances in NumPy: the definition of what the compiled loops compute."""

from __future__ import annotations

import numpy as np

from likewise._loops.softmax.types import NEGLIGIBLE, Softmax
from likewise._runtime.arrays import Float32Array, FloatArray, IndexArray


def softmax_rows(
    products: FloatArray,
    sqnorm: FloatArray,
    anchors: IndexArray,
    own_start: IndexArray,
    own_stop: IndexArray,
    columns: FloatArray,
    *,
    gains: bool,
) -> Softmax:
    """Turn inner products of some points with all into the probabilities to be picked.

    Point ``i = anchors[r]`` of row r picks another point j with a probability ``p_ij`` in
    proportion to ``exp(-‖z_i - z_j‖²)``; what is e⁻⁴⁰ of the largest or less counts as nothing.

    Parameters
    ----------
    products : float64 array of shape (m, n), C-contiguous
        ``z_i · z_j``; changed into weights: ``p_ij``, or for `gains` the slope of the own share
        in ``-‖z_i - z_j‖²``, which is ``p_ij ([same class] - own share)``.
    sqnorm : float64 array of shape (n,)
        ``‖z_j‖²``.
    anchors, own_start, own_stop : int64 arrays of shape (m,)
        The point of each row, and the range of the points of its class.
    columns : float64 array of shape (n,)
        The weights of each column are added to it.
    gains : bool

    Returns
    -------
    Softmax
    """
    distances = sqnorm[anchors][:, None] + sqnorm - 2 * products
    distances[np.arange(len(anchors)), anchors] = np.inf
    least = distances.min(axis=1, keepdims=True)
    exponents = least - distances
    shares = np.where(exponents >= -NEGLIGIBLE, np.exp(exponents), 0.0)
    total = shares.sum(axis=1, keepdims=True)
    shares /= total
    place = np.arange(products.shape[1])
    same = (place >= own_start[:, None]) & (place < own_stop[:, None])
    own = np.where(same, shares, 0.0).sum(axis=1)
    outside = np.where(same, 0.0, shares).sum(axis=1)
    products[:] = shares
    if gains:
        # 1 - own share as the sum of the others: it keeps its digits where it is small.
        products *= np.where(same, outside[:, None], -own[:, None])
    columns += products.sum(axis=0)
    log_sums = np.log(total[:, 0]) - least[:, 0]
    return Softmax(log_sums, own)


def near_softmax(
    screen: Float32Array,
    slack: float,
    points: FloatArray,
    summed: FloatArray,
    anchors: IndexArray,
    own_start: IndexArray,
    own_stop: IndexArray,
    columns: FloatArray,
    sums: FloatArray,
    returned: FloatArray | None,
    *,
    gains: bool,
) -> Softmax:
    """Do what `softmax_rows` and two products do, for rows of which few others count.

    Parameters
    ----------
    screen : float32 array of shape (m, n), C-contiguous
        ``‖z_i - z_j‖²`` up to a constant of the row, roughly. The anchors' own entries are changed.
    slack : float
        By how much the difference of two entries of a row may be wrong. What is farther than the
        nearest by this and more than is negligible is not looked at.
    points : float64 array of shape (n, k), C-contiguous
        z.
    summed : float64 array of shape (n, d), C-contiguous
    anchors, own_start, own_stop : int64 arrays of shape (m,)
        The point of each row, and the range of the points of its class.
    columns : float64 array of shape (n,)
        The weights of each column are added to it.
    sums : float64 array of shape (m, d), C-contiguous
        Becomes ``weights @ summed``.
    returned : float64 array of shape (n, k), C-contiguous, or None
        ``weights.T @ points[anchors]`` is added to it.
    gains : bool
        Which weights: see `softmax_rows`.

    Returns
    -------
    Softmax
    """
    parts = []
    for r, i in enumerate(anchors):
        screen[r, i] = np.nan
        near = np.flatnonzero(screen[r] <= np.nanmin(screen[r]) + (NEGLIGIBLE + slack))
        # The anchor, and then those that count: their own class is still a range.
        place = np.concatenate([[i], near])
        first, last = 1 + np.searchsorted(near, [own_start[r], own_stop[r]])
        differences = points[place] - points[i]
        sqnorm = np.einsum("ij,ij->i", differences, differences)
        weights, here = np.zeros((1, len(place))), np.zeros(1, dtype=np.int64)
        parts.append(
            softmax_rows(
                weights, sqnorm, here, first + here, last + here, np.zeros(len(place)), gains=gains
            )
        )
        columns[place] += weights[0]
        sums[r] = weights[0] @ summed[place]
        if returned is not None:
            returned[place] += np.outer(weights[0], points[i])
    return Softmax(
        np.concatenate([part.log_sums for part in parts]),
        np.concatenate([part.own_shares for part in parts]),
    )
