"""Online steps on pairs in C++: the functions of `reference`."""

from __future__ import annotations

import numpy as np

import likewise._loops._native as _native
from likewise._loops.pairs.types import LowRankMetric, StepRule, Steps
from likewise._runtime.arrays import FloatArray, FloatingArray, IndexArray


def pair_differences(X: FloatingArray, pairs: IndexArray, scale: float) -> tuple[FloatArray, float]:
    """See `likewise._loops.pairs.reference.pair_differences`."""
    V = np.empty((len(pairs), X.shape[1]))
    return V, _native.pair_differences(X, pairs, scale, V)


def triangle_quadratics(V: FloatArray, half: FloatArray, diagonal: FloatArray) -> FloatArray:
    """See `likewise._loops.pairs.reference.triangle_quadratics`."""
    q = np.empty(len(V))
    _native.triangle_quadratics(V, half, diagonal, q)
    return q


def signed_rows(V: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """See `likewise._loops.pairs.reference.signed_rows`."""
    rows = np.empty_like(V)
    positive = _native.signed_rows(V, weights, rows)
    return rows[:positive], rows[positive : np.count_nonzero(weights)]


def pair_step(
    M: FloatArray,
    b: float,
    first: FloatArray,
    second: FloatArray,
    scale: float,
    sign: float,
    rule: StepRule,
) -> tuple[float, float, float]:
    """See `likewise._loops.pairs.reference.pair_step`."""
    _, C, relaxation, tolerance = rule
    return _native.pair_step(  # type: ignore[no-any-return]
        M, b, first, second, scale, sign, rule.code, C, relaxation, tolerance
    )


def pair_steps(
    M: FloatArray, b: float, V: FloatArray, sign: FloatArray, rule: StepRule, max_updates: int
) -> Steps:
    """See `likewise._loops.pairs.reference.pair_steps`."""
    losses, steps = np.empty(len(V)), np.empty(len(V))
    taken, b = _native.pair_steps(M, b, V, sign, rule.code, *rule[1:], max_updates, losses, steps)
    return Steps(taken, b, losses[:taken], steps[:taken])


def pair_block_steps(
    V: FloatArray, q: FloatArray, b: float, sign: FloatArray, rule: StepRule, max_updates: int
) -> Steps:
    """See `likewise._loops.pairs.reference.pair_block_steps`."""
    losses, steps = np.empty(len(V)), np.empty(len(V))
    taken, b = _native.pair_block_steps(
        V, q, b, sign, rule.code, *rule[1:], max_updates, losses, steps
    )
    return Steps(taken, b, losses[:taken], steps[:taken])


def pair_gram_steps(
    gram: FloatArray, q: FloatArray, b: float, sign: FloatArray, rule: StepRule, max_updates: int
) -> Steps:
    """See `likewise._loops.pairs.reference.pair_gram_steps`."""
    losses, steps = np.empty(len(gram)), np.empty(len(gram))
    taken, b = _native.pair_gram_steps(
        gram, q, b, sign, rule.code, *rule[1:], max_updates, losses, steps
    )
    return Steps(taken, b, losses[:taken], steps[:taken])


def pair_psd_steps(
    M: FloatArray, b: float, V: FloatArray, sign: FloatArray, rule: StepRule
) -> Steps:
    """See `likewise._loops.pairs.reference.pair_psd_steps`."""
    losses, steps = np.empty(len(V)), np.empty(len(V))
    b = _native.pair_psd_steps(M, b, V, sign, rule.code, *rule[1:], losses, steps)
    return Steps(len(V), b, losses, steps)


def low_rank_psd_steps(
    metric: LowRankMetric, b: float, V: FloatArray, sign: FloatArray, rule: StepRule
) -> tuple[Steps, int]:
    """See `likewise._loops.pairs.reference.low_rank_psd_steps`."""
    losses, steps = np.empty(len(V)), np.empty(len(V))
    taken, count, b = _native.low_rank_psd_steps(
        *metric, b, V, sign, rule.code, *rule[1:], losses, steps
    )
    return Steps(taken, b, losses[:taken], steps[:taken]), count
