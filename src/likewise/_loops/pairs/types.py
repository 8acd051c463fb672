"""What the event-by-event loops take and give, whichever way they are computed."""

from __future__ import annotations

from typing import NamedTuple

from likewise._runtime.arrays import FloatArray

LONGEST2 = 1e150  # largest squared length of a difference: its square is still a number
VARIANTS = ("PA", "PA-I", "PA-II", "PALS")


class StepRule(NamedTuple):
    """How large a step a pair causes: the variant, and what bounds or softens it.

    With signed loss p of a pair of squared length n and ``s = 1 + n² + slack``: PA takes
    ``max(p, 0)/s``, PA-I at most C of it, PA-II ``max(p, 0)/(s + 1/(2C))`` and PALS the same of p
    with its sign. Steps smaller than `tolerance` are left out.
    """

    variant: str = "PA"
    C: float = 1.0
    slack: float = 0.0
    tolerance: float = 0.0

    @property
    def code(self) -> int:
        """The variant's number, as the compiled loops know it."""
        return VARIANTS.index(self.variant)

    def step(self, p: float, length2: float, sign: float) -> float:
        """Return the step for one pair; equal points marked different cause none."""
        if length2 == 0 and sign < 0:
            return 0.0
        s = 1 + length2**2 + self.slack
        soft = 1 / (2 * self.C)
        size = {
            "PA": max(p, 0.0) / s,
            "PA-I": min(self.C, max(p, 0.0) / s),
            "PA-II": max(p, 0.0) / (s + soft),
            "PALS": p / (s + soft),
        }[self.variant]
        return size if abs(size) >= self.tolerance else 0.0


class Steps(NamedTuple):
    """What a loop did: events taken, the new b, and signed loss and step of each event taken."""

    taken: int
    b: float
    losses: FloatArray
    steps: FloatArray


class LowRankMetric(NamedTuple):
    """A PSD matrix in an eigenbasis: ``diag(values) + Σ weights[j] rows[j] rows[j]ᵀ``, j < used.

    `rows` and `weights` have room for more than `used`.
    """

    values: FloatArray
    rows: FloatArray
    weights: FloatArray
    used: int

    def dense(self) -> FloatArray:
        """Return the matrix itself, exactly symmetric."""
        rows = self.rows[: self.used]
        low_rank = (rows.T * self.weights[: self.used]) @ rows
        matrix = (low_rank + low_rank.T) / 2
        matrix.flat[:: len(matrix) + 1] += self.values
        return matrix
