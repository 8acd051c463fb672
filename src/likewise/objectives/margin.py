"""The template of SVM-style metric learning: constraints × loss × cone, with both its values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise.losses import DualLoss, Hinge
from likewise.objectives.constraint_matrices import ConstraintMatrices


@dataclass(frozen=True, eq=False)
class MarginProblem:
    r"""``min ½‖M‖² + C Σ loss(1 - h(⟨M, X⟩ + b))`` over M in a cone, and its dual.

    With :math:`A(\lambda) = \sum_l \lambda_l h_l X_l` and the projection P on the cone, the dual
    is to maximise
    :math:`\sum_l \lambda_l - C\,\mathrm{loss}^*(\lambda_l/C) - \frac12\|P(A(\lambda))\|^2`,
    over slopes λ/C that the loss has and, where there is a free b, with
    :math:`\sum_l \lambda_l h_l = 0`. Each λ so found bounds the minimum from below, and
    ``M = P(A(λ))`` from above.

    Parameters
    ----------
    matrices : ConstraintMatrices
        The X and h; pairs have a free b, triplets have none.
    loss : DualLoss
        What a violation costs.
    C : float
        The weight of the losses, as a plain sum.
    cone : cone
        What M may be.
    """

    matrices: ConstraintMatrices
    loss: DualLoss
    C: float
    cone: Any

    def of(self, chosen: IndexArray) -> MarginProblem:
        """Return the problem of some constraints only."""
        return replace(self, matrices=self.matrices.of(chosen))

    def intercept(self, q: FloatArray, sign: FloatArray | None = None) -> float:
        """Return the b that costs least for given ⟨M, X⟩; 0 where there is none, NaN from NaN.

        `sign` is given where `q` is of some constraints only.
        """
        if not self.matrices.has_intercept:
            return 0.0
        sign = self.matrices.sign if sign is None else sign
        if not np.isfinite(q).all():
            return np.nan
        # Each loss has its kink where h(q + b) = 1, that is at b = h - q.
        kinks = sign - q
        if isinstance(self.loss, Hinge):
            # The slope begins at minus the number of h = +1 and grows by 1 at every kink.
            middle = int(np.count_nonzero(sign > 0))
            around = np.partition(kinks, [middle - 1, middle])[middle - 1 : middle + 1]
            return float(around.mean())

        def rises(b: float) -> bool:
            return float(sign @ self.loss.derivative(1 - sign * (q + b))) < 0

        low, high = float(kinks.min()) - 1, float(kinks.max()) + 1
        while rises(low):
            low -= high - low
        while not rises(high):
            high += high - low
        while low < (middle_b := (low + high) / 2) < high:
            low, high = (low, middle_b) if rises(middle_b) else (middle_b, high)
        return middle_b

    def primal(self, M: FloatArray, q: FloatArray, b: float) -> float:
        """Return the value that is to be least."""
        violations = 1 - self.matrices.sign * (q + b)
        return float(np.vdot(M, M) / 2 + self.C * self.loss.value(violations).sum())

    def dual(self, multipliers: FloatArray, M: FloatArray) -> float:
        """Return the bound that the multipliers give, with ``M = P(A(multipliers))``."""
        paid = self.C * self.loss.conjugate(multipliers / self.C)
        return float((multipliers - paid).sum() - np.vdot(M, M) / 2)

    def balanced(self, multipliers: FloatArray) -> FloatArray:
        """Return multipliers with ``Σ λh = 0`` to the last digit, none larger than before."""
        if not self.matrices.has_intercept:
            return multipliers
        different = self.matrices.sign > 0
        sums = multipliers[different].sum(), multipliers[~different].sum()
        least = min(sums)
        if least <= 0:
            return np.zeros_like(multipliers)
        return np.asarray(multipliers * np.where(different, least / sums[0], least / sums[1]))
