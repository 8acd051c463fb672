"""The loops of batch learners in C++: the same functions as in `batch_reference`."""

from __future__ import annotations

import numpy as np

import likewise._loops._native as _native
from likewise._loops.batch_common import Softmax
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
    """See `likewise._loops.batch_reference.softmax_rows`."""
    log_sums, own_shares = np.empty(len(anchors)), np.empty(len(anchors))
    _native.softmax_rows(
        products, sqnorm, anchors, own_start, own_stop, gains, log_sums, own_shares, columns
    )
    return Softmax(log_sums, own_shares)


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
    """See `likewise._loops.batch_reference.near_softmax`."""
    log_sums, own_shares = np.empty(len(anchors)), np.empty(len(anchors))
    _native.near_softmax(
        screen,
        slack,
        points,
        summed,
        anchors,
        own_start,
        own_stop,
        gains,
        log_sums,
        own_shares,
        columns,
        sums,
        returned,
    )
    return Softmax(log_sums, own_shares)


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
    """See `likewise._loops.batch_reference.bregman_sweep`."""
    _native.bregman_sweep(M, V, sign, share, softness, multipliers, reciprocals)


def invader_hinges(distances: FloatArray, class_start: IndexArray, radii: FloatArray) -> FloatArray:
    """See `likewise._loops.batch_reference.invader_hinges`."""
    out = np.empty((len(distances), len(class_start) - 1))
    _native.invader_hinges(distances, class_start, radii, out)
    return out


def invaded_hinges(distances: FloatArray, class_start: IndexArray, radii: FloatArray) -> FloatArray:
    """See `likewise._loops.batch_reference.invaded_hinges`."""
    out = np.empty((len(distances), len(class_start) - 1))
    _native.invaded_hinges(distances, class_start, radii, out)
    return out


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
    """See `likewise._loops.batch_reference.margin_sweep`."""
    return float(
        _native.margin_sweep(
            M, V, plus, minus, sign, curvature, multipliers, slopes, order, b, top, softness, weight
        )
    )
