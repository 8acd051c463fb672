"""LMNN's problem in M, as the paper's own solver sees it."""

from __future__ import annotations

import numpy as np

from likewise._numerics.products import map_rows
from likewise._runtime.arrays import Array
from likewise.batch.lmnn.problem import LMNNProblem
from likewise.batch.lmnn.projected_subgradient import Bounds
from likewise.metric import canonical_components, nearest_psd
from likewise.objectives.large_margin import Costs

# Widths of rounded hinges whose slopes are tried as dual solutions: kinks themselves prove little.
_WIDTHS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)


class LMNNMatrixProblem:
    """Hinges with their kinks over all metrics M; the slope is updated where it changed (Eq. 19).

    Parameters
    ----------
    problem : LMNNProblem
        The same problem in L, which searches and bounds.
    """

    def __init__(self, problem: LMNNProblem) -> None:
        self.problem = problem
        self._slope: Array | None = None
        self._weights: Costs | None = None

    def project(self, M: Array) -> Array:
        """Return the nearest metric."""
        return nearest_psd(M)

    def look(self, M: Array) -> Bounds | None:
        """Search all impostors at M."""
        L = canonical_components(M)
        margin = self.problem.objective.margin
        first = self.problem.look(L, _WIDTHS[0] * margin)
        if first is None:
            return None
        self._slope = self._weights = None  # they belong to the working set before
        # Nothing is searched again for the other widths.
        others = [self.problem.look(L, width * margin) for width in _WIDTHS[1:]]
        return Bounds(first.value, max(look.bound for look in (first, *others) if look is not None))

    def value_and_slope(self, M: Array) -> tuple[float, Array]:
        """Return the value over the working set and a subgradient in M."""
        objective = self.problem.objective
        Z = map_rows(objective.X, canonical_components(M), objective.n_jobs)
        costs = objective.costs(
            objective.distances(Z, objective.near), objective.distances(Z, objective.far)
        )
        if self._slope is None or self._weights is None:
            self._slope = objective.slope_in_matrix(costs)
        else:
            change = Costs(0.0, costs.near - self._weights.near, costs.far - self._weights.far)
            self._slope = self._slope + objective.slope_in_matrix(change)
        self._weights = costs
        value, slope = costs.value, self._slope
        if self.problem.penalty is not None:
            value += self.problem.penalty.value(M)
            slope = slope + self.problem.penalty.slope(M)
        return value, np.asarray(slope)
