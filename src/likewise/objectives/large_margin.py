"""The cost of neighbours that are far and of impostors that are near: LMNN's objective.

Pairs come in groups. Every near pair of a group (an anchor and a target neighbour) pulls, and every
far pair of it (the same anchor and an impostor) has to be farther than each near one by a margin.
The hinges see distances only, so one group may have its distances from several metrics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from likewise import _loops
from likewise._numerics.products import gradient_in_components, map_rows
from likewise._runtime.arrays import Array, BoolArray, FloatArray, IndexArray
from likewise.objectives.large_margin_bound import Bound, LargeMarginBound, QuadraticPenalty


@dataclass(frozen=True, eq=False)
class GroupedPairs:
    """Pairs of rows, group by group: those of group g stand from ``start[g]`` to ``start[g + 1]``.

    Attributes
    ----------
    rows, cols : int array of shape (n_pairs,)
        Row numbers.
    start : int array of shape (n_groups + 1,)
        Where each group begins.
    """

    rows: IndexArray
    cols: IndexArray
    start: IndexArray

    @classmethod
    def sorted_by(
        cls, groups: IndexArray, n_groups: int, rows: IndexArray, cols: IndexArray
    ) -> GroupedPairs:
        """Make it from pairs that stand in the order of their groups."""
        start = np.zeros(n_groups + 1, dtype=np.int64)
        np.cumsum(np.bincount(groups, minlength=n_groups), out=start[1:])
        return cls(rows, cols, start)

    @classmethod
    def none(cls, n_groups: int) -> GroupedPairs:
        """Make groups without pairs."""
        empty = np.empty(0, dtype=np.int64)
        return cls(empty, empty, np.zeros(n_groups + 1, dtype=np.int64))

    @property
    def groups(self) -> IndexArray:
        """The group of each pair."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def chosen(self, mask: BoolArray) -> GroupedPairs:
        """Return some of the pairs, in the same groups."""
        n_groups = len(self.start) - 1
        return GroupedPairs.sorted_by(self.groups[mask], n_groups, self.rows[mask], self.cols[mask])

    def __len__(self) -> int:
        return len(self.rows)


class Costs(NamedTuple):
    """What distances cost, and the slope of that in each of them.

    Attributes
    ----------
    value : float
        Pull and push together.
    near, far : float arrays, one value a pair
        Slopes: not below 0 for near pairs, not above 0 for far ones.
    """

    value: float
    near: FloatArray
    far: FloatArray


@dataclass(frozen=True, eq=False)
class LargeMargin:
    """``Σ_g c_g [(1-μ) Σ_j D_j + μ Σ_j Σ_l hinge(margin + D_j - D_l)]`` over groups g.

    j runs over the near pairs of a group and l over its far ones.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        Rows about a point amid them (`robust_centre`), whose precision the products keep.
    near : GroupedPairs
        Anchors and their targets.
    far : GroupedPairs
        Anchors and impostors, in the same groups.
    weights : array of shape (n_groups,)
        c.
    push : float
        μ, the share of the push.
    margin : float
        How much farther, in squared distance, impostors should be.
    width : float
        The hinge is rounded over this width; 0 leaves its kink.
    n_jobs : int or None
        Threads; None uses all cores.
    """

    X: Array
    near: GroupedPairs
    far: GroupedPairs
    weights: FloatArray
    push: float = 0.5
    margin: float = 1.0
    width: float = 0.0
    n_jobs: int | None = None

    def value_and_gradient(self, L: Array) -> tuple[float, Array]:
        """Return the cost under L and its slope in L."""
        Z = self.mapped(L)
        costs = self.costs(self.distances(Z, self.near), self.distances(Z, self.far))
        spread = self.spread(Z, costs)
        return costs.value, gradient_in_components(spread, self.X, self.n_jobs)

    def mapped(self, L: Array) -> Array:
        """Return the rows through L."""
        return map_rows(self.X, L, self.n_jobs)

    def distances(self, Z: Array, pairs: GroupedPairs) -> FloatArray:
        """Return the squared distances of pairs of mapped rows."""
        return _loops.pair_sqdist(Z, pairs.rows, pairs.cols, n_jobs=self.n_jobs)

    def costs(self, near: FloatArray, far: FloatArray, *, pull: float | None = None) -> Costs:
        """Return what squared distances cost; `pull` replaces the share ``1 - push``."""
        pull = 1 - self.push if pull is None else pull
        pushed, near_slope, far_slope = _loops.group_hinges(
            near, self.near.start, far, self.far.start, self.margin, self.width, n_jobs=self.n_jobs
        )
        near_weights = np.repeat(self.weights, np.diff(self.near.start))
        far_weights = np.repeat(self.weights, np.diff(self.far.start))
        value = pull * float(near_weights @ near) + self.push * float(self.weights @ pushed)
        return Costs(
            value,
            near_weights * (pull + self.push * near_slope),
            far_weights * (-self.push * far_slope),
        )

    def spread(self, Z: Array, costs: Costs) -> Array:
        """Return ``ΛZ``, half the slope in the mapped rows, Λ the Laplacian of the slopes."""
        near, far = np.flatnonzero(costs.near), np.flatnonzero(costs.far)
        return _loops.laplacian_apply(
            Z,
            np.concatenate([self.near.rows[near], self.far.rows[far]]),
            np.concatenate([self.near.cols[near], self.far.cols[far]]),
            np.concatenate([costs.near[near], costs.far[far]]),
            n_jobs=self.n_jobs,
        )

    def bound(
        self, penalty: QuadraticPenalty | None = None
    ) -> Callable[[Any, FloatArray, FloatArray], Bound]:
        """Return what bounds this objective, plus a `penalty`, over all metrics."""
        return LargeMarginBound(self.X, self.pull_slope(), penalty, self.n_jobs)

    def pull_slope(self) -> Array:
        """Return the slope of the pull in M, the same for every M."""
        near = np.repeat(self.weights, np.diff(self.near.start)) * (1 - self.push)
        return self.slope_in_matrix(Costs(0.0, near, np.zeros(len(self.far))))

    def slope_in_matrix(self, costs: Costs) -> Array:
        """Return the slope in M: the sum of ``slope (x_a - x_b)(x_a - x_b)ᵀ`` over pairs."""
        slope = gradient_in_components(self.spread(self.X, costs), self.X, self.n_jobs) / 2
        return np.asarray((slope + slope.T) / 2)
