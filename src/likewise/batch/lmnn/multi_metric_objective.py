"""LMNN's objective where every cluster of rows has a metric of its own, and its certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from likewise import _loops
from likewise._numerics.products import gradient_in_components, map_rows
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise.objectives.large_margin import Costs, GroupedPairs, LargeMargin
from likewise.objectives.large_margin_bound import Bound, LargeMarginBound, QuadraticPenalty


@dataclass(frozen=True, eq=False)
class MultiMetricLargeMargin(LargeMargin):
    """The same costs as `LargeMargin`, a pair being measured by the metric of its second row.

    A point is the maps of all clusters, an array of shape (n_clusters, n_components, n_features).

    Parameters
    ----------
    clusters : int array of shape (n_rows,)
        The cluster of each row.
    n_clusters : int
        How many there are.
    """

    clusters: IndexArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_clusters: int = 1

    def mapped(self, L: Array) -> Array:
        """Return the rows as each of the metrics sees them."""
        return np.stack([map_rows(self.X, one, self.n_jobs) for one in L])

    def distances(self, Z: Array, pairs: GroupedPairs) -> FloatArray:
        """Return the squared distances of pairs, each by the metric of its second row."""
        found = np.empty(len(pairs))
        for cluster, part in self.parts(pairs.cols):
            found[part] = _loops.pair_sqdist(
                Z[cluster], pairs.rows[part], pairs.cols[part], n_jobs=self.n_jobs
            )
        return found

    def value_and_gradient(self, L: Array) -> tuple[float, Array]:
        """Return the cost under all maps, and its slope in each."""
        Z = [map_rows(view.X, one, self.n_jobs) for view, one in zip(self._views, L, strict=True)]
        near, far = np.empty(len(self.near)), np.empty(len(self.far))
        for view, mapped in zip(self._views, Z, strict=True):
            for found, pairs in ((near, view.near), (far, view.far)):
                found[pairs.number] = _loops.pair_sqdist(
                    mapped, pairs.rows, pairs.cols, n_jobs=self.n_jobs
                )
        costs = self.costs(near, far)
        return costs.value, np.stack(
            [self._slope(view, mapped, costs) for view, mapped in zip(self._views, Z, strict=True)]
        )

    def bound(
        self, penalty: QuadraticPenalty | None = None
    ) -> Callable[[Any, FloatArray, FloatArray], Bound]:
        """Return what bounds this objective over all metrics of the clusters."""
        if penalty is not None:
            raise NotImplementedError("The metrics of clusters are not shrunk.")
        return MultiMetricLargeMarginBound(self)

    def slopes_in_matrices(self, costs: Costs) -> Array:
        """Return the slope in the matrix of each metric."""
        slopes = [self._slope(view, view.X, costs) / 2 for view in self._views]
        return np.stack([(slope + slope.T) / 2 for slope in slopes])

    def pull_slopes(self) -> Array:
        """Return the slope of the pull in each matrix."""
        near = np.repeat(self.weights, np.diff(self.near.start)) * (1 - self.push)
        return self.slopes_in_matrices(Costs(0.0, near, np.zeros(len(self.far))))

    def _slope(self, view: _View, Z: Array, costs: Costs) -> Array:
        """Return the slope in the L of a metric that maps the rows of its view to Z."""
        parts = (view.near, costs.near[view.near.number]), (view.far, costs.far[view.far.number])
        rows, cols, weights = (
            np.concatenate(arrays)
            for arrays in zip(
                *((p.rows[w != 0], p.cols[w != 0], w[w != 0]) for p, w in parts), strict=True
            )
        )
        spread = _loops.laplacian_apply(Z, rows, cols, weights, n_jobs=self.n_jobs)
        return gradient_in_components(spread, view.X, self.n_jobs)

    @cached_property
    def _views(self) -> list[_View]:
        """What each metric measures; a metric need not map the rows that it never meets."""
        views = []
        for (_, near), (_, far) in zip(
            self.parts(self.near.cols), self.parts(self.far.cols), strict=True
        ):
            ends = [self.near.rows[near], self.near.cols[near]]
            ends += [self.far.rows[far], self.far.cols[far]]
            rows, places = np.unique(np.concatenate(ends), return_inverse=True)
            place = np.split(places, np.cumsum([len(part) for part in ends])[:-1])
            views.append(_View(self.X[rows], _Pairs(near, *place[:2]), _Pairs(far, *place[2:])))
        return views

    def parts(self, cols: IndexArray) -> Iterator[tuple[int, IndexArray]]:
        """Yield each cluster, and the pairs whose second row belongs to it."""
        cluster_of = self.clusters[cols]
        order = np.argsort(cluster_of, kind="stable")
        ends = np.cumsum(np.bincount(cluster_of, minlength=self.n_clusters))
        yield from enumerate(np.split(order, ends[:-1]))


class _Pairs(NamedTuple):
    """Some of the pairs: their numbers, and their rows as counted in a view."""

    number: IndexArray
    rows: IndexArray
    cols: IndexArray


class _View(NamedTuple):
    """What one metric measures: its pairs, and the rows that occur in them."""

    X: Array
    near: _Pairs
    far: _Pairs


class MultiMetricLargeMarginBound:
    """A number that no metrics of the clusters can undercut together.

    As in `LargeMarginBound`, with the largest s that makes P + sQ positive semi-definite for all
    of the clusters.

    Parameters
    ----------
    objective : MultiMetricLargeMargin
        Data, targets and weights.
    """

    def __init__(self, objective: MultiMetricLargeMargin) -> None:
        self._bounds = [
            LargeMarginBound(objective.X, pull, n_jobs=objective.n_jobs)
            for pull in objective.pull_slopes()
        ]

    def __call__(
        self, objective: MultiMetricLargeMargin, near: FloatArray, far: FloatArray
    ) -> Bound:
        """Return what the slopes of the objective's hinges prove at these squared distances."""
        pairs = objective.far
        felt = np.empty(len(pairs), dtype=bool)
        for cluster, part in objective.parts(pairs.cols):
            felt[part] = self._bounds[cluster].felt(pairs.rows[part], pairs.cols[part])
        objective = replace(objective, far=pairs.chosen(felt))
        slopes = objective.costs(near, far[felt], pull=0.0)
        dual = -objective.margin * float(slopes.far.sum())
        least = min(
            bound.least(Q)
            for bound, Q in zip(self._bounds, objective.slopes_in_matrices(slopes), strict=True)
        )
        return Bound(dual, dual if least >= -1 else dual / -least)
