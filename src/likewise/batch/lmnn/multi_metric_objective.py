"""The LMNN objective with one metric per cluster of rows, and its lower bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from likewise import _loops
from likewise._numerics.products import gradient_in_components, map_rows
from likewise._runtime.arrays import Array, BoolArray, FloatArray, IndexArray
from likewise.objectives.large_margin import GroupedPairs, LargeMargin, PairLoss
from likewise.objectives.large_margin_bound import (
    DualBound,
    LargeMarginBound,
    LowerBound,
    QuadraticPenalty,
    negative_part,
    scaled_to_feasible,
)


@dataclass(frozen=True, eq=False)
class MultiMetricLargeMargin(LargeMargin):
    """`LargeMargin` where the distance of a pair is that of the metric of its second row.

    The variable has the L of every cluster: shape (n_clusters, n_components, n_features).

    Parameters
    ----------
    clusters : int array of shape (n_samples,)
        The cluster of each row.
    n_clusters : int
        Number of clusters.
    """

    clusters: IndexArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_clusters: int = 1

    def transform(self, L: Array) -> Array:
        """Return the data transformed by each of the metrics."""
        return np.stack([self.map_rows(one) for one in L])

    def sqdist(self, Z: Array, pairs: GroupedPairs) -> FloatArray:
        """Return the squared distance of each pair under the metric of its second row."""
        sqdist = np.empty(len(pairs))
        for cluster, part in self.split_by_cluster(pairs.cols):
            sqdist[part] = self.pair_sqdist(Z[cluster], pairs.rows[part], pairs.cols[part])
        return sqdist

    def value_and_gradient(self, L: Array) -> tuple[float, Array]:
        """Return the objective and its gradient with respect to the L of every cluster."""
        views = self._views
        Z = [map_rows(view.X, one, self.n_jobs) for view, one in zip(views, L, strict=True)]
        targets, impostors = np.empty(len(self.targets)), np.empty(len(self.impostors))
        for view, transformed in zip(views, Z, strict=True):
            for sqdist, pairs in ((targets, view.targets), (impostors, view.impostors)):
                sqdist[pairs.numbers] = _loops.pair_sqdist(
                    transformed, pairs.rows, pairs.cols, n_jobs=self.n_jobs
                )
        loss = self.loss(targets, impostors)
        gradients = [
            self._gradient(view, transformed, loss)
            for view, transformed in zip(views, Z, strict=True)
        ]
        return loss.value, np.stack(gradients)

    def lower_bound(self, penalty: QuadraticPenalty | None = None) -> LowerBound:
        """Return the function that bounds this objective over all metrics of the clusters."""
        return MultiMetricLargeMarginBound(self, penalty)

    def gradients_in_matrices(self, loss: PairLoss) -> Array:
        """Return the gradient with respect to the M of every cluster."""
        gradients = [self._gradient(view, view.X, loss) / 2 for view in self._views]
        return np.stack([(gradient + gradient.T) / 2 for gradient in gradients])

    def pull_gradients(self) -> Array:
        """Return the gradient of the pull with respect to the M of every cluster."""
        targets = np.repeat(self.weights, np.diff(self.targets.indptr)) * (1 - self.push)
        return self.gradients_in_matrices(PairLoss(0.0, targets, np.zeros(len(self.impostors))))

    def impostors_where(
        self, test: Callable[[int, IndexArray, IndexArray], BoolArray]
    ) -> BoolArray:
        """Return the result of a test of the rows and columns of each cluster's impostors."""
        pairs = self.impostors
        mask = np.empty(len(pairs), dtype=bool)
        for cluster, part in self.split_by_cluster(pairs.cols):
            mask[part] = test(cluster, pairs.rows[part], pairs.cols[part])
        return mask

    def _gradient(self, view: _ClusterView, Z: Array, loss: PairLoss) -> Array:
        """Return the gradient in the L that transforms the rows of `view` to Z."""
        parts = (
            (view.targets, loss.targets[view.targets.numbers]),
            (view.impostors, loss.impostors[view.impostors.numbers]),
        )
        rows, cols, weights = (
            np.concatenate(arrays)
            for arrays in zip(
                *((p.rows[w != 0], p.cols[w != 0], w[w != 0]) for p, w in parts), strict=True
            )
        )
        product = _loops.laplacian_apply(Z, rows, cols, weights, n_jobs=self.n_jobs)
        return gradient_in_components(product, view.X, self.n_jobs)

    @cached_property
    def _views(self) -> list[_ClusterView]:
        """The pairs of each metric, with only the rows that occur in them."""
        views = []
        for (_, targets), (_, impostors) in zip(
            self.split_by_cluster(self.targets.cols),
            self.split_by_cluster(self.impostors.cols),
            strict=True,
        ):
            ends = [self.targets.rows[targets], self.targets.cols[targets]]
            ends += [self.impostors.rows[impostors], self.impostors.cols[impostors]]
            kept, positions = np.unique(np.concatenate(ends), return_inverse=True)
            local = np.split(positions, np.cumsum([len(part) for part in ends])[:-1])
            views.append(
                _ClusterView(
                    self.X[kept],
                    _LocalPairs(targets, *local[:2]),
                    _LocalPairs(impostors, *local[2:]),
                )
            )
        return views

    def split_by_cluster(self, cols: IndexArray) -> Iterator[tuple[int, IndexArray]]:
        """Yield each cluster and the indices of the pairs whose second row belongs to it."""
        cluster_of_pair = self.clusters[cols]
        order = np.argsort(cluster_of_pair, kind="stable")
        ends = np.cumsum(np.bincount(cluster_of_pair, minlength=self.n_clusters))
        yield from enumerate(np.split(order, ends[:-1]))


class _LocalPairs(NamedTuple):
    """Some of the pairs: their numbers among all pairs, and their row numbers in a view."""

    numbers: IndexArray
    rows: IndexArray
    cols: IndexArray


class _ClusterView(NamedTuple):
    """What one metric measures: its pairs, and the rows that occur in them."""

    X: Array
    targets: _LocalPairs
    impostors: _LocalPairs


class MultiMetricLargeMarginBound:
    """Lower bounds on the objective over the metrics of all clusters.

    As in `LargeMarginBound`, with the largest s that makes P + sQ positive semidefinite for every
    cluster.

    Parameters
    ----------
    objective : MultiMetricLargeMargin or TorchMultiMetricLargeMargin
        Data, targets and weights.
    penalty : QuadraticPenalty or None
        What is added to the objective, for all metrics.
    """

    def __init__(self, objective: Any, penalty: QuadraticPenalty | None = None) -> None:
        self._pulls = objective.pull_gradients()
        self._bounds = [LargeMarginBound(objective, pull) for pull in self._pulls]
        self._penalty = penalty

    def __call__(
        self, objective: MultiMetricLargeMargin, targets: FloatArray, impostors: FloatArray
    ) -> DualBound:
        """Return the bound from the derivatives of the hinges at these squared distances."""
        dual_value, gradients = self._push(objective, targets, impostors)
        if self._penalty is not None:
            return self._penalty.bound(dual_value, self._pulls, gradients)
        return scaled_to_feasible(
            dual_value,
            min(bound.min_eigenvalue(Q) for bound, Q in zip(self._bounds, gradients, strict=True)),
        )

    def descent_rows(
        self,
        objective: MultiMetricLargeMargin,
        targets: FloatArray,
        impostors: FloatArray,
        L: Array,
    ) -> tuple[list[Array], float]:
        """Return rows with ``RᵀR = [-G]₊`` for the gradient G of every cluster, and their pull."""
        _, gradients = self._push(objective, targets, impostors)
        if self._penalty is not None:
            M = np.swapaxes(L, -1, -2) @ L
            rows = [negative_part(G) for G in self._pulls + gradients + self._penalty.gradient(M)]
        else:
            rows = [b.negative_part(Q) for b, Q in zip(self._bounds, gradients, strict=True)]
        return rows, sum(bound.pull_of(R) for bound, R in zip(self._bounds, rows, strict=True))

    def _push(
        self, objective: MultiMetricLargeMargin, targets: FloatArray, impostors: FloatArray
    ) -> tuple[float, Array]:
        """Return ``margin Σλ`` and the Q of every cluster."""
        if self._penalty is None and any(bound.has_null_space for bound in self._bounds):
            kept = objective.impostors_where(
                lambda cluster, *pairs: self._bounds[cluster].in_pull_range(*pairs)
            )
            pairs = objective.impostors.select(kept)
            objective, impostors = replace(objective, impostors=pairs), impostors[kept]
        push = objective.loss(targets, impostors, pull=0.0)
        dual_value = -objective.margin * float(push.impostors.sum())
        return dual_value, objective.gradients_in_matrices(push)
