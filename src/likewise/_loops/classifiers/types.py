"""What the loops of online classifiers take and return, and the step sizes of all rules."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from likewise._runtime.arrays import FloatArray, IndexArray

EventLearner = Callable[[FloatArray, int], tuple[float, int, int]]
"""Maps a sample and its label to its margin, the label predicted before, and the updates."""


class Kind(IntEnum):
    """The kinds of update rule, with their numbers in the compiled loops."""

    PERCEPTRON = 0
    PAUM = 1
    PA = 2
    PA_I = 3
    PA_II = 4
    CW = 5
    AROW = 6
    SECOND_ORDER_PERCEPTRON = 7


MIN_SAMPLE_SQNORM = 1e-100  # samples of smaller squared norm, bias included, count as zero
MAX_SAMPLE_SQNORM = 1e100  # samples of larger squared norm raise an error
MAX_PRECISION = 1e150  # the inverse of the smallest variance
# After an update the margin of the sample equals the required one up to rounding. A violation
# below this is no loss; otherwise rounding would decide whether a repeated sample causes an update.
MARGIN_TOLERANCE = 1e-10
CORRELATION_TOLERANCE = 1e-6  # smallest trusted ratio of u to its value without correlations
SPAN_TOLERANCE = 1e-14  # relative norm outside of a basis that counts as rounding
CANCELLATION_TOLERANCE = 1e-3  # smallest trusted ratio of u to its value at the start of a block


class ClassifierRule(NamedTuple):
    """When a classifier updates and by how much, from the margin m and the variance ``u = xᵀΣx``.

    An update adds ``τ y Σx`` to w and ``c x xᵀ`` to Σ⁻¹, where Σ is I for first-order learners:

    ======================= ==================== =========================== =======
    kind                    when                 τ                           c
    ======================= ==================== =========================== =======
    perceptron              mistake              1                           0
    PAUM                    m ≤ its margin       size                        0
    PA                      m < 1                (1 - m)/u                   1
    PA-I                    m < 1                min(size, (1 - m)/u)        1
    PA-II                   m < 1                (1 - m)/(u + 1/(2 size))    1
    CW                      m < size·u           α                           2α·size
    AROW                    m < 1                (1 - m)/(u + size)          1/size
    second-order perceptron mistake              (1 - m)/(1 + u)             1
    ======================= ==================== =========================== =======

    `positive` and `negative` are the uneven margins, and `radius` is their R (0: the largest norm
    so far). `bias` is the value of a constant feature added to every sample (0: none).
    """

    kind: Kind
    size: float = 1.0
    positive: float = 0.0
    negative: float = 0.0
    radius: float = 0.0
    bias: float = 0.0

    def may_update(self, m: float, mistake: bool, threshold: float) -> bool:
        """Return whether a sample may cause an update, as far as its margin alone can tell."""
        match self.kind:
            case Kind.PERCEPTRON | Kind.SECOND_ORDER_PERCEPTRON:
                return mistake
            case Kind.PAUM:
                return m <= threshold
            case Kind.CW:
                return True
        return m < 1 - MARGIN_TOLERANCE

    def step(self, m: float, u: float) -> tuple[float, float]:
        """Return τ and c for a sample that may cause an update."""
        size = self.size
        match self.kind:
            case Kind.PERCEPTRON:
                return 1.0, 0.0
            case Kind.PAUM:
                return size, 0.0
            case Kind.PA:
                return (1 - m) / u, 1.0
            case Kind.PA_I:
                return min(size, (1 - m) / u), 1.0
            case Kind.PA_II:
                return (1 - m) / (u + 1 / (2 * size)), 1.0
            case Kind.AROW:
                return (1 - m) / (u + size), 1 / size
            case Kind.SECOND_ORDER_PERCEPTRON:
                return (1 - m) / (1 + u), 1.0
        if not m < size * u * (1 - MARGIN_TOLERANCE):
            return 0.0, 0.0
        b = 1 + 2 * size * m
        root = float(np.sqrt((1 - 2 * size * m) ** 2 + 8 * size**2 * u))
        # Two expressions of one number: each avoids cancellation where the other has it.
        alpha = 2 * (size * u - m) / (u * (b + root)) if b > 0 else (root - b) / (4 * size * u)
        return alpha, 2 * alpha * size


class Sketch(NamedTuple):
    """``Σ⁻¹ = I/s + QᵀSᵀSQ`` of each model, with a capacity for rows of Q and of S.

    The first `spanned` rows of Q (`basis`) are orthonormal. The first `used` rows of S (`rows`) are
    the updates in the coordinates of Q. In these coordinates Σ is ``U diag(D) Uᵀ`` as in
    `factor_events`, and in the orthogonal complement it is s; unused coordinates have ``D = s``.
    `trace` is ``1/s + Σ c‖x‖²``. `sums` is ``v = Σ y x`` of the second-order perceptron, whose
    weights are Σv.
    """

    basis: FloatArray
    spanned: IndexArray
    rows: FloatArray
    used: IndexArray
    columns: FloatArray
    diagonal: FloatArray
    trace: FloatArray
    sums: FloatArray


def split(x: FloatArray, basis: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the coordinates of x in an orthonormal basis, and its residual, 0 if rounding."""
    inside, outside = np.zeros(len(basis)), x.copy()
    for _ in range(2):  # the second pass removes the rounding error of the first
        products = basis @ outside
        outside -= basis.T @ products
        inside += products
    if len(basis) == len(x) or not np.sqrt(outside @ outside) > SPAN_TOLERANCE * np.sqrt(x @ x):
        outside[:] = 0
    return inside, outside


def margins(scores: FloatArray, labels: IndexArray) -> FloatArray:
    """Return the score of each label minus the best other one (minus 0 with a single model)."""
    if scores.shape[1] == 1:
        return np.where(labels == 1, scores[:, 0], -scores[:, 0])
    rows = np.arange(len(scores))
    own = scores[rows, labels]
    others = scores.copy()
    others[rows, labels] = -np.inf
    return np.asarray(own - others.max(axis=1))


def predicted(scores: FloatArray) -> IndexArray:
    """Return the predicted labels; a single score of 0 predicts label 0."""
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.int64)
    return np.asarray(scores.argmax(axis=1))
