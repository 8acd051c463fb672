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
    """``-Σ_i p_i + regularization Σ_i ‖L x_i‖²``, to be minimised.

    Parameters
    ----------
    neighbours : SoftmaxNeighbours
        Labelled, centred samples x; ``p_i`` is the probability that sample i chooses a neighbour
        of its own class.
    regularization : float
        Penalty on the squared norms of the mapped samples.
    """

    neighbours: SoftmaxNeighbours
    regularization: float = 0.0

    @property
    def n_samples(self) -> int:
        """The number of samples that batches are drawn from."""
        return len(self.neighbours.X)

    @cached_property
    def _scatter(self) -> Array:
        X = self.neighbours.X
        return product_over_rows(X, X, self.neighbours.n_jobs)

    def value_and_gradient(self, L: Array) -> tuple[float, Array]:
        """Return the value at L and its gradient, from all samples."""
        return self.batch_value_and_gradient(L, None)

    def batch_value_and_gradient(self, L: Array, batch: IndexArray | None) -> tuple[float, Array]:
        """Estimate both from the samples of `batch`, each compared with all samples."""
        probability, gradient = self.neighbours.same_class_probability(L, batch)
        factor = 1.0 if batch is None else self.n_samples / len(batch)
        value, gradient = -factor * float(probability.sum()), factor * gradient
        if self.regularization:
            product = L @ self._scatter
            value += self.regularization * float(np.vdot(L, product))
            gradient += 2 * self.regularization * product
        return value, gradient
