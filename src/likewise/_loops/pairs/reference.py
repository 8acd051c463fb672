"""Online steps on pairs in NumPy: the definition of what the compiled loops compute.

For a pair with difference v and sign y (+1 same, -1 different): ``q = vᵀMv``,
``p = 1 - y(b - q)``, the step t of the `StepRule`, then ``M -= t y v vᵀ`` and ``b += t y``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from likewise._loops.pairs.types import MAX_PAIR_SQNORM, LowRankMetric, StepRule, Steps
from likewise._runtime.arrays import FloatArray, FloatingArray, IndexArray


def pair_differences(X: FloatingArray, pairs: IndexArray, scale: float) -> tuple[FloatArray, float]:
    """Return the scaled difference of each pair, and the largest of their squared norms.

    Parameters
    ----------
    X : array of shape (n_samples, d), float32 or float64, C-contiguous
    pairs : int64 array of shape (n, 2)
        Row numbers.
    scale : float
        The factor of the differences.

    Returns
    -------
    V : float64 array of shape (n, d)
        ``scale * (X[pairs[:, 0]] - X[pairs[:, 1]])``.
    max_sqnorm : float
        NaN if a difference is NaN, infinity if a squared norm overflows.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        V = np.subtract(X[pairs[:, 0]], X[pairs[:, 1]], dtype=np.float64)
        V *= scale
        return V, float(np.einsum("nd,nd->n", V, V).max(initial=0.0))


def triangle_quadratics(V: FloatArray, half: FloatArray, diagonal: FloatArray) -> FloatArray:
    """Return ``vᵀMv`` of each row, from ``half = V tril(M)`` and the diagonal of M.

    With M symmetric that is ``2 vᵀ tril(M) v - Σ Mⱼⱼ vⱼ²``.
    """
    return np.asarray(2 * np.einsum("nd,nd->n", half, V) - np.square(V) @ diagonal)


def signed_rows(V: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ``√|w| v`` for the rows of positive weight, and for those of negative weight.

    ``Σ w v vᵀ`` is the difference of their two Gram matrices.
    """
    positive, negative = weights > 0, weights < 0
    return (
        V[positive] * np.sqrt(weights[positive])[:, None],
        V[negative] * np.sqrt(-weights[negative])[:, None],
    )


def pair_step(
    M: FloatArray,
    b: float,
    first: FloatArray,
    second: FloatArray,
    scale: float,
    sign: float,
    rule: StepRule,
) -> tuple[float, float, float]:
    """Take one event on an explicit M, which is updated in place: `pair_steps` for one pair.

    Parameters
    ----------
    M, b, rule
        As in `pair_steps`.
    first, second : float64 arrays of shape (d,)
        The two sides of the pair.
    scale : float
        The factor of their difference.
    sign : float
        +1 same, -1 different.

    Returns
    -------
    loss, step, b : float
        Signed loss and step of the event, and the new threshold. The loss is NaN, and nothing is
        updated, if the difference is not finite or its squared norm is above `MAX_PAIR_SQNORM`.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        v = scale * (first - second)
        sqnorm = float(v @ v)
    if not sqnorm <= MAX_PAIR_SQNORM:
        return np.nan, 0.0, b
    loss = float(1 - sign * (b - v @ M @ v))
    size = rule.step(loss, sqnorm, sign)
    if size:
        M -= (size * sign) * np.outer(v, v)
    return loss, size, b + size * sign


# A negative eigenvalue of at most this fraction of their sum is rounding: no projection.
_ROUNDING = 1e-13


def pair_steps(
    M: FloatArray, b: float, V: FloatArray, sign: FloatArray, rule: StepRule, max_updates: int
) -> Steps:
    """Take events one by one on an explicit M, which is updated in place.

    Parameters
    ----------
    M : float64 array of shape (d, d)
        Symmetric.
    b : float
        The threshold.
    V : float64 array of shape (n, d)
        One difference per pair.
    sign : float64 array of shape (n,)
        +1 same, -1 different.
    rule : StepRule
        The step size.
    max_updates : int
        Stop after this many updates.

    Returns
    -------
    Steps
    """
    losses, steps = np.empty(len(V)), np.empty(len(V))
    k = 0
    while k < len(V) and max_updates > 0:
        v, y = V[k], sign[k]
        losses[k] = 1 - y * (b - v @ M @ v)
        steps[k] = rule.step(losses[k], v @ v, y)
        if steps[k]:
            M -= (steps[k] * y) * np.outer(v, v)
            b += steps[k] * y
            max_updates -= 1
        k += 1
    return Steps(k, b, losses[:k], steps[:k])


def pair_block_steps(
    V: FloatArray, q: FloatArray, b: float, sign: FloatArray, rule: StepRule, max_updates: int
) -> Steps:
    """Take the events of a block from their ``q = vᵀMv`` at its start; M is not updated.

    An update by pair k changes the q of the pairs after it by ``-t y (v_k · v_j)²``.

    Parameters
    ----------
    V, b, sign, rule, max_updates
        As in `pair_steps`.
    q : float64 array of shape (n,)
        The q of all events.

    Returns
    -------
    Steps
    """
    q = q.copy()
    return _block_steps(lambda k: V[k:] @ V[k], q, b, sign, rule=rule, max_updates=max_updates)


def pair_gram_steps(
    gram: FloatArray, q: FloatArray, b: float, sign: FloatArray, rule: StepRule, max_updates: int
) -> Steps:
    """Take the events of a block as `pair_block_steps` does, from their inner products.

    Parameters
    ----------
    gram : float64 array of shape (n, n)
        ``V @ V.T``, of which only the upper triangle is read.
    q : float64 array of shape (n,)
        Updated in place.
    b, sign, rule, max_updates
        As in `pair_block_steps`.

    Returns
    -------
    Steps
    """
    return _block_steps(lambda k: gram[k, k:], q, b, sign, rule=rule, max_updates=max_updates)


def _block_steps(
    products: Callable[[int], FloatArray],
    q: FloatArray,
    b: float,
    sign: FloatArray,
    *,
    rule: StepRule,
    max_updates: int,
) -> Steps:
    """Take events; ``products(k)`` are the inner products of event k with itself and later ones."""
    losses, steps = np.empty(len(q)), np.empty(len(q))
    k = 0
    while k < len(q) and max_updates > 0:
        y, inner = sign[k], products(k)
        losses[k] = 1 - y * (b - q[k])
        steps[k] = rule.step(losses[k], inner[0], y)
        if steps[k]:
            q[k + 1 :] -= steps[k] * y * np.square(inner[1:])
            b += steps[k] * y
            max_updates -= 1
        k += 1
    return Steps(k, b, losses[:k], steps[:k])


def pair_psd_steps(
    M: FloatArray, b: float, V: FloatArray, sign: FloatArray, rule: StepRule
) -> Steps:
    """Take events one by one; after each update M is projected onto the PSD cone and b onto [1, ∞).

    Parameters as in `pair_steps`; M is positive semidefinite and updated in place.
    """
    losses, steps = np.empty(len(V)), np.empty(len(V))
    for k, (v, y) in enumerate(zip(V, sign, strict=True)):
        losses[k] = 1 - y * (b - v @ M @ v)
        steps[k] = rule.step(losses[k], v @ v, y)
        if steps[k]:
            M -= (steps[k] * y) * np.outer(v, v)
            b = max(1.0, b + steps[k] * y)
            if steps[k] * y > 0:
                values, vectors = np.linalg.eigh(M)
                if values[0] < 0:
                    M -= values[0] * np.outer(vectors[:, 0], vectors[:, 0])
    return Steps(len(V), b, losses, steps)


def low_rank_psd_steps(
    metric: LowRankMetric, b: float, V: FloatArray, sign: FloatArray, rule: StepRule
) -> tuple[Steps, int]:
    """Take events as `pair_psd_steps` does, on a metric given in an eigenbasis.

    Parameters
    ----------
    metric : LowRankMetric
        New rows and weights are written behind the first `used`.
    V : float64 array of shape (n, d)
        Differences, in the eigenbasis.
    b, sign, rule
        As in `pair_steps`.

    Returns
    -------
    Steps
        It stops where the capacity is used up, or where a new eigenbasis is needed.
    count : int
        The new number of rows of the metric.
    """
    values, rows, weights, count = metric
    losses, steps = np.empty(len(V)), np.empty(len(V))
    k = 0
    while k < len(V) and count + 2 <= len(rows):
        v, y = V[k], sign[k]
        inner = rows[:count] @ v
        q = values @ np.square(v) + weights[:count] @ np.square(inner)
        losses[k] = 1 - y * (b - q)
        steps[k] = rule.step(losses[k], v @ v, y)
        if steps[k]:
            rows[count], weights[count] = v, -steps[k] * y
            count += 1
            b = max(1.0, b + steps[k] * y)
            if steps[k] * y > 0:
                dense = LowRankMetric(values, rows, weights, count).dense()
                lowest, vectors = np.linalg.eigh(dense)
                if lowest[0] < -_ROUNDING * np.abs(lowest).sum():
                    rows[count], weights[count] = vectors[:, 0], -lowest[0]
                    count += 1
        k += 1
    return Steps(k, b, losses[:k], steps[:k]), count
