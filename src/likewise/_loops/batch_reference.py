"""The loops of batch learners in NumPy: the definition of what the compiled ones compute."""

from __future__ import annotations

import numpy as np

from likewise._loops.batch_common import NEGLIGIBLE, Softmax
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


def bregman_sweep(
    M: FloatArray,
    V: FloatArray,
    sign: FloatArray,
    multipliers: FloatArray,
    reciprocals: FloatArray,
    *,
    share: float,
    softness: float,
) -> None:
    """Project M on each constraint on a squared distance in turn, once.

    Parameters
    ----------
    M : float64 array of shape (d, d)
        Positive definite; changed, as are `multipliers` and `reciprocals`.
    V : float64 array of shape (n, d), C-contiguous
        The differences that constraints are about.
    sign : float64 array of shape (n,)
        1 where ``vᵀMv`` should be at most its bound, -1 where at least.
    multipliers, reciprocals : float64 arrays of shape (n,)
        The dual variable of each constraint, and 1 / its slackened bound.
    share, softness : float
        ``γ/(γ + 1)`` and ``1/γ`` for slack weight γ.
    """
    for k, (v, y) in enumerate(zip(V, sign, strict=True)):
        w = M @ v
        p = float(v @ w)
        if not p > 0:
            continue
        alpha = min(multipliers[k], y * share * (1 / p - reciprocals[k]))
        multipliers[k] -= alpha
        reciprocals[k] += y * alpha * softness
        M += (y * alpha / (1 - y * alpha * p)) * np.outer(w, w)


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


def margin_sweep(
    M: FloatArray,
    V: FloatArray,
    plus: IndexArray,
    minus: IndexArray | None,
    sign: FloatArray,
    curvature: FloatArray,
    multipliers: FloatArray,
    slopes: FloatArray,
    order: IndexArray,
    *,
    b: float,
    top: float,
    softness: float,
    weight: float,
) -> float:
    """Make the multipliers of large-margin constraints best one by one, once.

    Constraint l is about ``X = vvᵀ`` of a row v of `V`, for triplets less that of another row. It
    wants ``h(⟨M, X⟩ + b) ≥ 1``; M is to stay the sum of all ``λhX``, and b a constant plus
    `weight` times the sum of all ``λh``.

    Parameters
    ----------
    M : float64 array of shape (d, d)
        Symmetric; changed, as are `multipliers` and `slopes`.
    V : float64 array of shape (n_differences, d), C-contiguous
        The differences.
    plus, minus : int64 arrays of shape (n,)
        Rows of `V`, one a constraint; `minus` is None for pairs.
    sign, curvature : float64 arrays of shape (n,)
        The h, and ``‖X‖²``.
    multipliers, slopes : float64 arrays of shape (n,)
        The λ; and what the dual objective loses by a little more of λ, for constraints visited.
    order : int64 array
        The constraints to visit.
    b : float
        The threshold's b at the start.
    top, softness, weight : float
        The largest λ; the curvature that the loss has of itself; how fast b follows ``Σ λh``.

    Returns
    -------
    float
        The new b.
    """
    for k in order:
        v = V[plus[k]]
        w = None if minus is None else V[minus[k]]
        q = float(v @ M @ v) - (0.0 if w is None else float(w @ M @ w))
        slopes[k] = sign[k] * (q + b) - 1 + softness * multipliers[k]
        down = curvature[k] + softness + weight
        if not down > 0:
            continue
        after = min(max(multipliers[k] - slopes[k] / down, 0.0), top)
        change = (after - multipliers[k]) * sign[k]
        multipliers[k] = after
        b += change * weight
        M += change * np.outer(v, v)
        if w is not None:
            M -= change * np.outer(w, w)
    return b
