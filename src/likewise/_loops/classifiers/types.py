"""What the loops of online classifiers take and give, whichever way they are computed."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from likewise._runtime.arrays import FloatArray, IndexArray

EventLearner = Callable[[FloatArray, int], tuple[float, bool, int]]
"""Takes a row and its label; returns its margin, whether it was a mistake, and the updates."""


class Kind(IntEnum):
    """The kinds of rule, by the numbers that the compiled loops know them by."""

    PERCEPTRON = 0
    UNEVEN = 1
    HARD = 2
    CAPPED = 3
    SOFT = 4
    CONFIDENCE = 5
    REGULARISED = 6
    SECOND_ORDER_PERCEPTRON = 7


SHORTEST2 = 1e-100  # rows of less squared length count as zero
LONGEST2 = 1e100  # longer ones cannot be learned from
SUREST = 1e150  # no variance falls below its inverse, however fast confidence grows
# A row that was just learned is right by exactly the margin, up to rounding: nearer than this to
# it is no loss, or a repeated row would be learned or not by chance.
ROUNDING = 1e-10
TRUSTED = 1e-6  # share of u without correlations below which its digits are not trusted
PARALLEL = 1e-14  # share of a row outside of a basis below which it is rounding
LOST = 1e-3  # share of u at a block's start below which differences have cost digits


class ClassifierRule(NamedTuple):
    """When and how far a classifier steps, from the margin m and the variance u of an event.

    A step adds ``τ y Σx`` to w and ``c x xᵀ`` to Σ⁻¹, where Σ is I for first-order learners:

    ======================= ==================== =========================== =======
    kind                    when                 τ                           c
    ======================= ==================== =========================== =======
    perceptron              mistake              1                           0
    uneven                  m ≤ its margin       size                        0
    hard                    m < 1                (1 - m)/u                   1
    capped                  m < 1                min(size, (1 - m)/u)        1
    soft                    m < 1                (1 - m)/(u + 1/(2 size))    1
    confidence              m < size·u           α                           2α·size
    regularised             m < 1                (1 - m)/(u + size)          1/size
    second-order perceptron mistake              (1 - m)/(1 + u)             1
    ======================= ==================== =========================== =======

    `positive` and `negative` are the uneven margins, `reach` their R (0: the longest row so far),
    and `bias` the value of a feature that every row has besides its own (0: none).
    """

    kind: Kind
    size: float = 1.0
    positive: float = 0.0
    negative: float = 0.0
    reach: float = 0.0
    bias: float = 0.0

    def open(self, m: float, mistake: bool, threshold: float) -> bool:
        """Return whether an event may cause a step; what needs u as well is not ruled out."""
        match self.kind:
            case Kind.PERCEPTRON | Kind.SECOND_ORDER_PERCEPTRON:
                return mistake
            case Kind.UNEVEN:
                return m <= threshold
            case Kind.CONFIDENCE:
                return True
        return m < 1 - ROUNDING

    def step(self, m: float, u: float) -> tuple[float, float]:
        """Return τ and c for an event that may cause a step."""
        size = self.size
        match self.kind:
            case Kind.PERCEPTRON:
                return 1.0, 0.0
            case Kind.UNEVEN:
                return size, 0.0
            case Kind.HARD:
                return (1 - m) / u, 1.0
            case Kind.CAPPED:
                return min(size, (1 - m) / u), 1.0
            case Kind.SOFT:
                return (1 - m) / (u + 1 / (2 * size)), 1.0
            case Kind.REGULARISED:
                return (1 - m) / (u + size), 1 / size
            case Kind.SECOND_ORDER_PERCEPTRON:
                return (1 - m) / (1 + u), 1.0
        if not m < size * u * (1 - ROUNDING):
            return 0.0, 0.0
        b = 1 + 2 * size * m
        root = float(np.sqrt((1 - 2 * size * m) ** 2 + 8 * size**2 * u))
        # The same number twice: neither form may subtract what is nearly equal.
        alpha = 2 * (size * u - m) / (u * (b + root)) if b > 0 else (root - b) / (4 * size * u)
        return alpha, 2 * alpha * size


class Sketch(NamedTuple):
    """``Σ⁻¹ = I/s + QᵀSᵀSQ`` of each model, with room for so many rows of Q and of S.

    The rows of Q (`basis`, of which the first `spanned` count) are orthonormal, and S (`rows`, of
    which the first `used` count) is what was added, in their coordinates. In these Σ is
    ``U diag(D) Uᵀ`` as in `factor_events`, and across them s; directions that are not taken yet
    have ``D = s``. `trace` is ``1/s + Σ c‖x‖²``, and `sums` the second-order perceptron's
    ``v = Σ y x``, of which its weights are Σv.
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
    """Return x in an orthonormal basis, and what is outside of it: zero where that is rounding."""
    inside, outside = np.zeros(len(basis)), x.copy()
    for _ in range(2):  # the second pass takes what the first one rounded
        products = basis @ outside
        outside -= basis.T @ products
        inside += products
    if len(basis) == len(x) or not np.sqrt(outside @ outside) > PARALLEL * np.sqrt(x @ x):
        outside[:] = 0
    return inside, outside


def margins(scores: FloatArray, labels: IndexArray) -> FloatArray:
    """Return how far each label is ahead of the best other one (of zero with a single model)."""
    if scores.shape[1] == 1:
        return np.where(labels == 1, scores[:, 0], -scores[:, 0])
    rows = np.arange(len(scores))
    own = scores[rows, labels]
    others = scores.copy()
    others[rows, labels] = -np.inf
    return np.asarray(own - others.max(axis=1))


def predicted(scores: FloatArray) -> IndexArray:
    """Return the label that each row's scores speak for; a single zero speaks for label 0."""
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.int64)
    return np.asarray(scores.argmax(axis=1))
