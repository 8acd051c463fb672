"""What the online loops over pairs take and return."""

from __future__ import annotations

from typing import NamedTuple

from likewise._runtime.arrays import FloatArray

MAX_PAIR_SQNORM = 1e150  # largest squared norm of a difference: its square is finite
VARIANTS = ("PA", "PA-I", "PA-II", "PALS")


class StepRule(NamedTuple):
    """The step size of passive-aggressive metric learning.

    With the signed loss p of a pair, the squared norm n of its difference and
    ``s = 1 + n² + relaxation``:

    ======= ============================
    variant step
    ======= ============================
    PA      max(p, 0) / s
    PA-I    min(C, max(p, 0) / s)
    PA-II   max(p, 0) / (s + 1/(2C))
    PALS    p / (s + 1/(2C))
    ======= ============================

    Steps smaller than `tolerance` are not taken.
    """

    variant: str = "PA"
    C: float = 1.0
    relaxation: float = 0.0
    tolerance: float = 0.0

    @property
    def code(self) -> int:
        """The number of the variant in the compiled loops."""
        return VARIANTS.index(self.variant)

    def step(self, p: float, sqnorm: float, sign: float) -> float:
        """Return the step for one pair; it is 0 for equal points marked different."""
        if sqnorm == 0 and sign < 0:
            return 0.0
        s = 1 + sqnorm**2 + self.relaxation
        regularization = 1 / (2 * self.C)
        size = {
            "PA": max(p, 0.0) / s,
            "PA-I": min(self.C, max(p, 0.0) / s),
            "PA-II": max(p, 0.0) / (s + regularization),
            "PALS": p / (s + regularization),
        }[self.variant]
        return size if abs(size) >= self.tolerance else 0.0


class Steps(NamedTuple):
    """The number of events taken, the new b, and the signed loss and step of each event taken."""

    taken: int
    b: float
    losses: FloatArray
    steps: FloatArray


class LowRankMetric(NamedTuple):
    """A PSD matrix in an eigenbasis: ``diag(values) + Σ weights[j] rows[j] rows[j]ᵀ``, j < used.

    `rows` and `weights` have capacity for more than `used`.
    """

    values: FloatArray
    rows: FloatArray
    weights: FloatArray
    used: int

    def dense(self) -> FloatArray:
        """Return the dense matrix, exactly symmetric."""
        rows = self.rows[: self.used]
        low_rank = (rows.T * self.weights[: self.used]) @ rows
        matrix = (low_rank + low_rank.T) / 2
        matrix.flat[:: len(matrix) + 1] += self.values
        return matrix
