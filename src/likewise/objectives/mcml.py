"""The objective of maximally collapsing metric learning."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from likewise._numerics.products import product_over_rows
from likewise._runtime.arrays import Array, IndexArray
from likewise.objectives.softmax_neighbours import SoftmaxNeighbours


@dataclass(frozen=True, eq=False)
class MCMLObjective:
    """``Σ_i KL(p⁰(·|i) ‖ p(·|i))`` with p⁰ uniform on the rest of i's class: convex in M.

    Parameters
    ----------
    neighbours : SoftmaxNeighbours
        Labelled samples and their neighbour probabilities p. The only sample of a class has no p⁰:
        it is a neighbour of others but not a term of the sum.
    """

    neighbours: SoftmaxNeighbours

    @cached_property
    def _anchors(self) -> IndexArray | None:
        """The samples whose class has other samples, None if that is all of them."""
        has_others = self.neighbours.class_stop - self.neighbours.class_start > 1
        return None if has_others.all() else np.flatnonzero(has_others)

    @cached_property
    def _target(self) -> tuple[float, Array]:
        """``Σ_ij p⁰_ij log p⁰_ij`` and ``Σ_ij p⁰_ij (x_i - x_j)(x_i - x_j)ᵀ``."""
        X, n_jobs = self.neighbours.X, self.neighbours.n_jobs
        start, stop = self.neighbours.class_start, self.neighbours.class_stop
        sizes = stop - start
        negative_entropy = -float(np.log(sizes[sizes > 1] - 1).sum())
        scatter = np.zeros((X.shape[1], X.shape[1]))
        for first, last in zip(*np.unique([start, stop], axis=1), strict=True):
            if last - first > 1:
                centred = X[first:last] - X[first:last].mean(axis=0)
                factor = 2 * (last - first) / (last - first - 1)
                scatter += factor * product_over_rows(centred, centred, n_jobs)
        return negative_entropy, scatter

    def value_and_matrix_gradient(self, F: Array) -> tuple[float, Array]:
        """Return the value at ``M = FᵀF`` and its gradient in M."""
        negative_entropy, target_scatter = self._target
        log_partition, scatter = self.neighbours.log_partition(F, self._anchors)
        value = negative_entropy + float(np.vdot(F @ target_scatter, F))
        return value + float(log_partition.sum()), target_scatter - scatter
