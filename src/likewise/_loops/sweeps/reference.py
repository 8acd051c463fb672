"""Passes over dual variables in NumPy: the definition of what the compiled loops compute."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import FloatArray, IndexArray


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
