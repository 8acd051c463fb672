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
    """``Σ_i KL(p⁰(·|i) ‖ p(·|i))``, p⁰ uniform on the other rows of i's class: convex in M.

    Parameters
    ----------
    rows : SoftmaxNeighbours
        Labelled rows, which pick each other with probabilities p. A row that is alone in its class
        has no p⁰ and is only picked.
    """

    rows: SoftmaxNeighbours

    @cached_property
    def _anchors(self) -> IndexArray | None:
        """Return the rows that have company in their class, None if all have."""
        company = self.rows.own_stop - self.rows.own_start > 1
        return None if company.all() else np.flatnonzero(company)

    @cached_property
    def _wanted(self) -> tuple[float, Array]:
        """Return ``Σ_ij p⁰_ij log p⁰_ij`` and ``Σ_ij p⁰_ij (x_i - x_j)(x_i - x_j)ᵀ``."""
        X, start, stop = self.rows.X, self.rows.own_start, self.rows.own_stop
        sizes = stop - start
        entropy = -float(np.log(sizes[sizes > 1] - 1).sum())
        scatter = np.zeros((X.shape[1], X.shape[1]))
        for first, last in zip(*np.unique([start, stop], axis=1), strict=True):
            if last - first > 1:
                own = X[first:last] - X[first:last].mean(axis=0)
                factor = 2 * (last - first) / (last - first - 1)
                scatter += factor * product_over_rows(own, own, self.rows.n_jobs)
        return entropy, scatter

    def value_and_slope(self, F: Array) -> tuple[float, Array]:
        """Return the value at ``M = FᵀF`` and its slope in M."""
        entropy, scatter = self._wanted
        found = self.rows.choices(F, gains=False, anchors=self._anchors, in_matrix=True)
        value = entropy + float(np.vdot(F @ scatter, F)) + float(found.log_sums.sum())
        return value, scatter - found.slope
