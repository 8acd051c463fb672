"""Passes over dual variables in C++: the functions of `reference`."""

from __future__ import annotations

import likewise._loops._native as _native
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
    """See `likewise._loops.sweeps.reference.bregman_sweep`."""
    _native.bregman_sweep(M, V, sign, share, softness, multipliers, reciprocals)


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
    """See `likewise._loops.sweeps.reference.margin_sweep`."""
    return float(
        _native.margin_sweep(
            M, V, plus, minus, sign, curvature, multipliers, slopes, order, b, top, softness, weight
        )
    )
