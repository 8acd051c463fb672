"""Nearest neighbours and label energies under one metric per cluster of training rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from likewise import _loops
from likewise._numerics.centring import centred, robust_centre
from likewise._numerics.products import map_rows
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.tensors import is_tensor
from likewise._runtime.threads import run_blocks
from likewise.constraints._from_labels import nearest_of_own_class
from likewise.neighbors import nearest
from likewise.objectives.label_energies import (
    BLOCK_VALUES,
    SquaredDistances,
    label_energies,
    sort_by_class,
    targets_by_class,
    values_by_row,
)


@dataclass(frozen=True, eq=False)
class LocalMetrics:
    """Training rows, their classes and clusters, and the metric of each cluster.

    Attributes
    ----------
    rows : array of shape (n_samples, n_features)
    codes, clusters : int arrays of shape (n_samples,)
    components : array of shape (n_clusters, n_components, n_features)
        L of each cluster.
    n_jobs : int or None
    """

    rows: Array
    codes: IndexArray
    clusters: IndexArray
    components: Array
    n_jobs: int | None

    def nearest(self, X: Array, n_neighbors: int) -> tuple[FloatArray, IndexArray]:
        """Return the squared distances and row numbers of the nearest rows of all clusters.

        Of a tensor X both are tensors on its device.
        """
        if is_tensor(X):
            from likewise.batch.lmnn import torch_local_metrics

            return torch_local_metrics.nearest(self, X, n_neighbors)
        sqdist_parts, index_parts = [], []
        queries, rows = centred(X, self.centre), centred(self.rows, self.centre)
        for cluster, L in enumerate(self.components):
            members = np.flatnonzero(self.clusters == cluster)
            if len(members):
                cluster_sqdist, cluster_index = nearest(
                    map_rows(queries, L, self.n_jobs),
                    map_rows(rows[members], L, self.n_jobs),
                    min(n_neighbors, len(members)),
                    n_jobs=self.n_jobs,
                )
                sqdist_parts.append(cluster_sqdist)
                index_parts.append(members[cluster_index])
        sqdist, index = np.hstack(sqdist_parts), np.hstack(index_parts)
        order = np.lexsort((index, sqdist), axis=1)[:, :n_neighbors]
        return np.take_along_axis(sqdist, order, axis=1), np.take_along_axis(index, order, axis=1)

    def sqdist(self, X: Array, index: IndexArray) -> FloatArray:
        """Return the squared distances of each row of X to the training rows that it names."""
        sqdist = np.empty(index.shape)
        for cluster, L in enumerate(self.components):
            places = np.nonzero(self.clusters[index] == cluster)
            differences = X[places[0]] - self.rows[index[places]]
            sqdist[places] = np.square(map_rows(differences, L, self.n_jobs)).sum(axis=1)
        return sqdist

    def energies(
        self, X: Array, n_classes: int, n_neighbors: int, *, push: float, margin: float
    ) -> FloatArray:
        """Return the LMNN energy of every label for every row of X.

        Distances from training rows to x are those of the metric of the nearest target that x would
        have in the class.
        """
        order, class_start = sort_by_class(self.codes, n_classes)
        return self._reordered(order)._sorted_energies(X, class_start, n_neighbors, push, margin)

    def _sorted_energies(
        self, X: Array, class_start: IndexArray, n_neighbors: int, push: float, margin: float
    ) -> FloatArray:
        """Return the energies if the training rows are sorted by class."""
        targets = targets_by_class(X, self.rows, class_start, n_neighbors, self.n_jobs)
        metrics, to_targets = self._cluster_metrics(n_neighbors)
        energies = np.empty((len(X), len(class_start) - 1))

        def block(start: int, stop: int) -> None:
            queries, chosen = centred(X[start:stop], self.centre), targets[start:stop]
            to_rows = np.empty((len(queries), len(self.rows)))
            for metric in metrics:
                to_rows[:, metric.members] = metric.to_members.to(queries @ metric.L.T)

            def from_rows(label: int) -> FloatArray:
                sqdist = np.empty_like(to_rows)
                query_clusters = self.clusters[chosen[:, label, 0]]
                for cluster in np.unique(query_clusters):
                    metric, part = metrics[cluster], query_clusters == cluster
                    sqdist[part] = metric.to_all.to(queries[part] @ metric.L.T)
                return sqdist

            energies[start:stop] = label_energies(
                to_rows,
                chosen,
                class_start,
                to_targets,
                push=push,
                margin=margin,
                from_rows=from_rows,
            )

        run_blocks(block, len(X), max(1, BLOCK_VALUES // len(self.rows)), self.n_jobs)
        return energies

    def _reordered(self, order: IndexArray) -> LocalMetrics:
        """Return the same with the training rows in another order."""
        return replace(
            self,
            rows=self.rows[order],
            codes=self.codes[order],
            clusters=self.clusters[order],
        )

    def _cluster_metrics(self, n_neighbors: int) -> tuple[list[_ClusterMetric], FloatArray]:
        """Return the metrics, and the squared distances of the rows to their targets."""
        pairs = nearest_of_own_class(self.rows, self.codes, n_neighbors, n_jobs=self.n_jobs)
        anchors, targets = np.ascontiguousarray(pairs.T)
        metrics, to_targets = [], np.empty(len(targets))
        rows = centred(self.rows.astype(np.float64), self.centre)
        for cluster, L in enumerate(self.components.astype(np.float64)):
            Z = map_rows(rows, L, self.n_jobs)
            part = np.flatnonzero(self.clusters[targets] == cluster)
            to_targets[part] = _loops.pair_sqdist(
                Z, anchors[part], targets[part], n_jobs=self.n_jobs
            )
            members = np.flatnonzero(self.clusters == cluster)
            to_members = SquaredDistances(Z[members])
            metrics.append(_ClusterMetric(L, members, to_members, SquaredDistances(Z)))
        return metrics, values_by_row(pairs, to_targets, (len(self.rows), n_neighbors))

    @cached_property
    def centre(self) -> Array:
        """A centre of the rows: products of centred rows keep the precision of differences."""
        return robust_centre(self.rows)


class _ClusterMetric(NamedTuple):
    """The L of a cluster, its rows, and the squared distances to them and to all rows."""

    L: FloatArray
    members: IndexArray
    to_members: SquaredDistances
    to_all: SquaredDistances
