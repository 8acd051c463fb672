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
    class_start: IndexArray,
    class_stop: IndexArray,
    column_sums: FloatArray,
    *,
    probability_gradient: bool,
) -> Softmax:
    """See `likewise._loops.softmax.reference.softmax_rows`."""
    log_sums, same_class_probability = np.empty(len(anchors)), np.empty(len(anchors))
    _native.softmax_rows(
        products,
        sqnorm,
        anchors,
        class_start,
        class_stop,
        probability_gradient,
        log_sums,
        same_class_probability,
        column_sums,
    )
    return Softmax(log_sums, same_class_probability)


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
    """See `likewise._loops.softmax.reference.near_softmax`."""
    log_sums, same_class_probability = np.empty(len(anchors)), np.empty(len(anchors))
    _native.near_softmax(
        approx_sqdist,
        error_bound,
        points,
        summands,
        anchors,
        class_start,
        class_stop,
        probability_gradient,
        log_sums,
        same_class_probability,
        column_sums,
        weighted_sums,
        anchor_sums,
    )
    return Softmax(log_sums, same_class_probability)
