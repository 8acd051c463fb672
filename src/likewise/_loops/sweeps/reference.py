"""Passes over dual variables in NumPy: the definition of what the compiled loops compute."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import FloatArray, IndexArray


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
