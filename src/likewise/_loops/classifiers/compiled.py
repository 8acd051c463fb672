"""Online classifiers in C++: the functions of `reference`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import likewise._loops._native as _native
from likewise._loops.classifiers.types import ClassifierRule, EventLearner, Sketch
from likewise._runtime.arrays import FloatArray, IndexArray


def event_learner(
    W: FloatArray, precision: FloatArray, max_sqnorm: FloatArray, top2: bool, rule: ClassifierRule
) -> EventLearner:
    """See `likewise._loops.classifiers.reference.event_learner`."""
    learner: EventLearner = _native.EventLearner(W, precision, max_sqnorm, top2, *rule).learn
    return learner


def dense_events(
    W: FloatArray,
    precision: FloatArray,
    max_sqnorm: FloatArray,
    X: FloatArray,
    labels: IndexArray,
    top2: bool,
    rule: ClassifierRule,
) -> tuple[FloatArray, int]:
    """See `likewise._loops.classifiers.reference.dense_events`."""
    scores = np.empty((len(X), len(W)))
    return scores, _native.dense_events(W, precision, max_sqnorm, X, labels, top2, *rule, scores)


def csr_events(
    W: FloatArray,
    precision: FloatArray,
    max_sqnorm: FloatArray,
    values: FloatArray,
    features: NDArray[np.int32],
    starts: IndexArray,
    width: int,
    labels: IndexArray,
    top2: bool,
    rule: ClassifierRule,
) -> tuple[FloatArray, int]:
    """See `likewise._loops.classifiers.reference.csr_events`."""
    scores = np.empty((len(labels), len(W)))
    return scores, _native.csr_events(
        W, precision, max_sqnorm, values, features, starts, width, labels, top2, *rule, scores
    )


def factor_events(
    W: FloatArray,
    columns: FloatArray,
    diagonal: FloatArray,
    max_sqnorm: FloatArray,
    X: FloatArray,
    labels: IndexArray,
    top2: bool,
    max_updates: int,
    rule: ClassifierRule,
) -> tuple[FloatArray, int]:
    """See `likewise._loops.classifiers.reference.factor_events`."""
    scores = np.empty((len(X), len(W)))
    taken, updates = _native.factor_events(
        W, columns, diagonal, max_sqnorm, X, labels, top2, max_updates, *rule, scores
    )
    return scores[:taken], updates


def low_rank_events(
    W: FloatArray,
    sketch: Sketch,
    max_sqnorm: FloatArray,
    X: FloatArray,
    labels: IndexArray,
    top2: bool,
    rule: ClassifierRule,
) -> tuple[FloatArray, int]:
    """See `likewise._loops.classifiers.reference.low_rank_events`."""
    scores = np.empty((len(X), len(W)))
    taken, updates = _native.low_rank_events(W, *sketch, max_sqnorm, X, labels, top2, *rule, scores)
    return scores[:taken], updates


def block_events(
    w: FloatArray,
    sigma: FloatArray,
    diagonal: FloatArray,
    X: FloatArray,
    labels: IndexArray,
    known_rows: IndexArray,
    known_products: FloatArray,
    quadratic_forms: FloatArray,
    gains: FloatArray,
    gain_weights: FloatArray,
    rule: ClassifierRule,
) -> tuple[FloatArray, int, bool]:
    """See `likewise._loops.classifiers.reference.block_events`."""
    scores = np.empty(len(X))
    taken, updates, trusted = _native.block_events(
        w,
        sigma,
        diagonal,
        X,
        labels,
        known_rows,
        known_products,
        quadratic_forms,
        gains,
        gain_weights,
        *rule,
        scores,
    )
    return scores[:taken], updates, trusted
