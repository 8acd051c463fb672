"""Passes over dual variables in NumPy: the definition of what the compiled loops compute."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import FloatArray, IndexArray


def bregman_sweep(
    M: FloatArray,
    V: FloatArray,
    sign: FloatArray,
    multipliers: FloatArray,
    inverse_bounds: FloatArray,
    *,
    slack_weight: float,
) -> None:
    """Project M onto each constraint on a squared distance in turn, once: a sweep of ITML.

    Parameters
    ----------
    M : float64 array of shape (d, d)
        Positive definite; updated, as are `multipliers` and `inverse_bounds`.
    V : float64 array of shape (n, d), C-contiguous
        The difference of the two samples of each constraint.
    sign : float64 array of shape (n,)
        1 if ``vᵀMv`` is to be at most its bound, -1 if at least.
    multipliers, inverse_bounds : float64 arrays of shape (n,)
        The dual variable of each constraint, and 1 over its bound with slack.
    slack_weight : float
        The weight γ of the slack.
    """
    for k, (v, y) in enumerate(zip(V, sign, strict=True)):
        w = M @ v
        p = float(v @ w)
        if not p > 0:
            continue
        unbounded = y * (slack_weight / (slack_weight + 1)) * (1 / p - inverse_bounds[k])
        alpha = min(multipliers[k], unbounded)
        multipliers[k] -= alpha
        inverse_bounds[k] += y * alpha * (1 / slack_weight)
        M += (y * alpha / (1 - y * alpha * p)) * np.outer(w, w)


def margin_sweep(
    M: FloatArray,
    V: FloatArray,
    far: IndexArray,
    near: IndexArray | None,
    sign: FloatArray,
    squared_norms: FloatArray,
    multipliers: FloatArray,
    gradient: FloatArray,
    order: IndexArray,
    *,
    b: float,
    upper_bound: float,
    curvature: float,
    penalty: float,
) -> float:
    """Optimise the multipliers of large-margin constraints one by one: dual coordinate ascent.

    A constraint is ``h(⟨M, X⟩ + b) ≥ 1`` with ``X = uuᵀ`` for a pair and ``X = uuᵀ − vvᵀ`` for a
    triplet, u and v being rows of `V`. M stays the sum of all ``λhX``, and b a constant plus
    `penalty` times the sum of all ``λh``.

    Parameters
    ----------
    M : float64 array of shape (d, d)
        Symmetric; updated, as are `multipliers` and `gradient`.
    V : float64 array of shape (n_differences, d), C-contiguous
        The differences.
    far, near : int64 arrays of shape (n,)
        The rows u and v of each constraint; `near` is None for pairs.
    sign, squared_norms : float64 arrays of shape (n,)
        The h, and ``‖X‖²``.
    multipliers, gradient : float64 arrays of shape (n,)
        The λ, and the gradient of the negative dual objective at the constraints visited.
    order : int64 array
        The constraints to visit.
    b : float
        The intercept at the start.
    upper_bound, curvature, penalty : float
        The largest λ; the second derivative of the loss's conjugate term in λ; the weight of
        ``½(Σ λh)²``, of which b is the derivative.

    Returns
    -------
    float
        The new b.
    """
    for k in order:
        v = V[far[k]]
        w = None if near is None else V[near[k]]
        q = float(v @ M @ v) - (0.0 if w is None else float(w @ M @ w))
        gradient[k] = sign[k] * (q + b) - 1 + curvature * multipliers[k]
        second_derivative = squared_norms[k] + curvature + penalty
        if not second_derivative > 0:
            continue
        after = min(max(multipliers[k] - gradient[k] / second_derivative, 0.0), upper_bound)
        change = (after - multipliers[k]) * sign[k]
        multipliers[k] = after
        b += change * penalty
        M += change * np.outer(v, v)
        if w is not None:
            M -= change * np.outer(w, w)
    return b
