"""Softmax over distances in C++: the functions of `reference`."""

from __future__ import annotations

import numpy as np

import likewise._loops._native as _native
from likewise._loops.softmax.types import Softmax
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
    """See `likewise._loops.softmax.reference.softmax_rows`."""
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
    """See `likewise._loops.softmax.reference.near_softmax`."""
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
