"""The margin problem of SVM-style metric learning: primal objective, dual objective, intercept."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise.losses import DualLoss, Hinge
from likewise.objectives.constraint_matrices import ConstraintMatrices


@dataclass(frozen=True, eq=False)
class MarginProblem:
    r"""``min ½‖M‖² + C Σ loss(1 - h(⟨M, X⟩ + b))`` over M in a cone, and its dual.

    With :math:`A(\lambda) = \sum_l \lambda_l h_l X_l` and the projection P on the cone, the dual
    problem is to maximise
    :math:`\sum_l \lambda_l - C\,\mathrm{loss}^*(\lambda_l/C) - \frac12\|P(A(\lambda))\|^2`
    over :math:`0 \le \lambda_l \le C\,\mathrm{max\_derivative}` and, where b is free,
    :math:`\sum_l \lambda_l h_l = 0`. Each feasible λ gives a lower bound on the minimum, and
    ``M = P(A(λ))`` an upper bound. A cone minimises the problem (`likewise.cones`).

    Parameters
    ----------
    matrices : ConstraintMatrices
        The X and h. Pairs have a free b, triplets have none.
    loss : DualLoss
        The loss of a violation.
    C : float
        The weight of the sum of losses.
    """

    matrices: ConstraintMatrices
    loss: DualLoss
    C: float

    def subset(self, chosen: IndexArray) -> MarginProblem:
        """Return the problem with the chosen constraints only."""
        return replace(self, matrices=self.matrices.subset(chosen))

    def intercept(self, q: FloatArray, sign: FloatArray | None = None) -> float:
        """Return the best b for given ``q = ⟨M, X⟩``.

        It is 0 where b is not free, and NaN where q is not finite. `sign` is given where `q`
        belongs to some of the constraints only.
        """
        if not self.matrices.has_intercept:
            return 0.0
        sign = self.matrices.sign if sign is None else sign
        if not np.isfinite(q).all():
            return np.nan
        # Each loss has its kink where h(q + b) = 1, that is at b = h - q.
        kinks = sign - q
        if isinstance(self.loss, Hinge):
            # The derivative in b begins at minus the number of h = +1 and grows by 1 at each kink.
            middle = int(np.count_nonzero(sign > 0))
            around = np.partition(kinks, [middle - 1, middle])[middle - 1 : middle + 1]
            return float(around.mean())

        def increasing(b: float) -> bool:
            return float(sign @ self.loss.derivative(1 - sign * (q + b))) < 0

        low, high = float(kinks.min()) - 1, float(kinks.max()) + 1
        while increasing(low):
            low -= high - low
        while not increasing(high):
            high += high - low
        while low < (middle_b := (low + high) / 2) < high:
            low, high = (low, middle_b) if increasing(middle_b) else (middle_b, high)
        return middle_b

    def primal(self, M: FloatArray, q: FloatArray, b: float) -> float:
        """Return the primal objective."""
        violations = 1 - self.matrices.sign * (q + b)
        return float(np.vdot(M, M) / 2 + self.C * self.loss.value(violations).sum())

    def dual(self, multipliers: FloatArray, M: FloatArray) -> float:
        """Return the dual objective, with ``M = P(A(λ))``."""
        conjugate = self.C * self.loss.conjugate(multipliers / self.C)
        return float((multipliers - conjugate).sum() - np.vdot(M, M) / 2)

    def balanced(self, multipliers: FloatArray) -> FloatArray:
        """Return multipliers with ``Σ λh = 0`` to the last digit, none larger than before."""
        if not self.matrices.has_intercept:
            return multipliers
        different = self.matrices.sign > 0
        sums = multipliers[different].sum(), multipliers[~different].sum()
        smaller = min(sums)
        if smaller <= 0:
            return np.zeros_like(multipliers)
        return np.asarray(multipliers * np.where(different, smaller / sums[0], smaller / sums[1]))
