"""Passes over dual variables in C++: the functions of `reference`."""

from __future__ import annotations

import likewise._loops._native as _native
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
    """See `likewise._loops.sweeps.reference.margin_sweep`."""
    return float(
        _native.margin_sweep(
            M,
            V,
            far,
            near,
            sign,
            squared_norms,
            multipliers,
            gradient,
            order,
            b,
            upper_bound,
            curvature,
            penalty,
        )
    )
