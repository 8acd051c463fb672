"""The objective of neighbourhood components analysis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from likewise._runtime.arrays import Array, IndexArray


class Neighbours(Protocol):
    """What the objective needs of stochastic neighbours, wherever they are."""

    @property
    def n_samples(self) -> int:
        """The number of samples."""

    def scatter(self) -> Array:
        """Return ``XᵀX``."""

    def same_class_probability(
        self, L: Array, anchors: IndexArray | None = None
    ) -> tuple[Array, Array]:
        """Return the probabilities of the anchors, and the gradient of minus their sum."""


@dataclass(frozen=True, eq=False)
class NCAObjective:
    """``-Σ_i p_i + regularization Σ_i ‖L x_i‖²``, to be minimised.

    Parameters
    ----------
    neighbours : SoftmaxNeighbours or TorchSoftmaxNeighbours
        Labelled, centred samples x; ``p_i`` is the probability that sample i chooses a neighbour
        of its own class.
    regularization : float
        Penalty on the squared norms of the mapped samples.
    """

    neighbours: Neighbours
    regularization: float = 0.0

    @property
    def n_samples(self) -> int:
        """The number of samples that batches are drawn from."""
        return self.neighbours.n_samples

    @cached_property
    def _scatter(self) -> Array:
        return self.neighbours.scatter()

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
