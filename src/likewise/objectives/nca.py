"""The objective of neighbourhood components analysis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from likewise._numerics.products import product_over_rows
from likewise._runtime.arrays import Array, IndexArray
from likewise.objectives.softmax_neighbours import SoftmaxNeighbours


@dataclass(frozen=True, eq=False)
class NCAObjective:
    """``-Σ_i p_i + regularization Σ_i ‖L x_i‖²``: to be minimised.

    Parameters
    ----------
    rows : SoftmaxNeighbours
        Labelled rows x, about their mean; ``p_i`` is the probability that row i picks a row of its
        own class.
    regularization : float
        What large distances cost.
    """

    rows: SoftmaxNeighbours
    regularization: float = 0.0

    @property
    def n_rows(self) -> int:
        """How many rows there are to make batches of."""
        return len(self.rows.X)

    @cached_property
    def _scatter(self) -> Array:
        return product_over_rows(self.rows.X, self.rows.X, self.rows.n_jobs)

    def value_and_gradient(self, L: Array) -> tuple[float, Array]:
        """Return the value at L and its slope, from all rows."""
        return self.batch_value_and_gradient(L, None)

    def batch_value_and_gradient(self, L: Array, batch: IndexArray | None) -> tuple[float, Array]:
        """Return the same estimated from the rows of `batch`, each compared with all rows."""
        found = self.rows.choices(L, gains=True, anchors=batch)
        times = 1.0 if batch is None else self.n_rows / len(batch)
        slope = times * found.slope
        value = -times * float(found.own_shares.sum())
        if self.regularization:
            spread = L @ self._scatter
            value += self.regularization * float(np.vdot(L, spread))
            slope += 2 * self.regularization * spread
        return value, slope
