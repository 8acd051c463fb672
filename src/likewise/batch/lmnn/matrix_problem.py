"""The LMNN problem in M for the projected subgradient method."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.validation import pluralize
from likewise.batch.lmnn.problem import LMNNProblem
from likewise.batch.lmnn.projected_subgradient import ValueAndBound
from likewise.metric import canonical_components, nearest_psd
from likewise.objectives import PairLoss

# The derivatives of hinges smoothed over these shares of the margin are tried as dual variables;
# those of the hinges with their kinks give weak bounds.
_SMOOTHINGS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)


class LMNNMatrixProblem:
    """A `SubgradientProblem` over positive semidefinite M, with the incremental update of Eq. 19.

    Parameters
    ----------
    problem : LMNNProblem
        The same problem in L, which searches impostors and computes bounds.
    """

    def __init__(self, problem: LMNNProblem) -> None:
        self.problem = problem
        self._gradient: Array | None = None
        self._loss: PairLoss | None = None

    def project(self, M: Array) -> Array:
        """Return the nearest positive semidefinite matrix (Eq. 20)."""
        return nearest_psd(M)

    def evaluate_exactly(self, M: Array) -> ValueAndBound | None:
        """Search all impostors at M, make them the working set, and bound the optimum."""
        L = canonical_components(M)
        margin = self.problem.objective.margin
        first = self.problem.evaluate_exactly(L, _SMOOTHINGS[0] * margin)
        if first is None:
            return None
        self._gradient = self._loss = None  # they belong to the previous working set
        others = [
            self.problem.evaluate_exactly(L, smoothing * margin) for smoothing in _SMOOTHINGS[1:]
        ]
        bounds = [found.lower_bound for found in (first, *others) if found is not None]
        return ValueAndBound(first.value, max(bounds))

    def value_and_subgradient(self, M: Array) -> tuple[float, Array]:
        """Return the objective over the working set and a subgradient in M."""
        objective = self.problem.objective
        Z = objective.transform(canonical_components(M))
        loss = objective.loss(
            objective.sqdist(Z, objective.targets), objective.sqdist(Z, objective.impostors)
        )
        if self._gradient is None or self._loss is None:
            self._gradient = objective.gradient_in_matrix(loss)
        else:
            change = PairLoss(
                0.0, loss.targets - self._loss.targets, loss.impostors - self._loss.impostors
            )
            self._gradient = self._gradient + objective.gradient_in_matrix(change)
        self._loss = loss
        value, gradient = loss.value, self._gradient
        if self.problem.penalty is not None:
            value += self.problem.penalty.value(M)
            gradient = gradient + self.problem.penalty.gradient(M)
        return value, np.asarray(gradient)


def require_all_components(L: Array, n_components: int | None) -> None:
    """Raise if the initial L has fewer rows than columns, which no M can be limited to."""
    if len(L) < L.shape[1]:
        by_init = f"init with {pluralize(len(L), 'row')}"
        asking = f"n_components={n_components}" if n_components else by_init
        raise ValueError(
            f"solver='projected' learns all {L.shape[1]} components, but {asking} asks for fewer; "
            "solver='lbfgs' can."
        )
