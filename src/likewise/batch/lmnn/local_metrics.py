"""Distances to rows of which each is measured by the metric of its cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from likewise import _loops
from likewise._numerics.centring import centred, robust_centre
from likewise._numerics.products import map_rows
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.threads import run_blocks
from likewise.constraints import target_neighbors
from likewise.neighbors import nearest
from likewise.objectives import energies
from likewise.objectives.label_energies import BLOCK_VALUES, SquaredDistances, by_class


@dataclass(frozen=True, eq=False)
class LocalMetrics:
    """Rows, their classes, their clusters, and the metric of each cluster.

    Attributes
    ----------
    rows : array of shape (n_rows, n_features)
    codes, clusters : int arrays of shape (n_rows,)
    components : array of shape (n_clusters, n_components, n_features)
        L of each cluster.
    n_jobs : int or None
    """

    rows: Array
    codes: IndexArray
    clusters: IndexArray
    components: Array
    n_jobs: int | None

    def nearest(self, X: Array, k: int) -> tuple[FloatArray, IndexArray]:
        """Search each cluster by its own metric; return the k nearest rows of all."""
        squares, index = [], []
        asked, rows = centred(X, self._centre), centred(self.rows, self._centre)
        for cluster, L in enumerate(self.components):
            members = np.flatnonzero(self.clusters == cluster)
            if len(members):
                found, row = nearest(
                    map_rows(asked, L, self.n_jobs),
                    map_rows(rows[members], L, self.n_jobs),
                    min(k, len(members)),
                    n_jobs=self.n_jobs,
                )
                squares.append(found)
                index.append(members[row])
        all_squares, all_index = np.hstack(squares), np.hstack(index)
        order = np.lexsort((all_index, all_squares), axis=1)[:, :k]
        return (
            np.take_along_axis(all_squares, order, axis=1),
            np.take_along_axis(all_index, order, axis=1),
        )

    def energies(
        self, X: Array, n_classes: int, n_neighbors: int, *, push: float, margin: float
    ) -> FloatArray:
        """Return LMNN's energy of every label for every row of X.

        Distances from training rows to x are by the metric of the nearest target that x would have
        in the class that is tried.
        """
        order, class_start = by_class(self.codes, n_classes)
        return self._in_order(order)._energies(X, class_start, n_neighbors, push, margin)

    def _energies(
        self, X: Array, class_start: IndexArray, n_neighbors: int, push: float, margin: float
    ) -> FloatArray:
        """Do it for rows that stand in the order of their classes."""
        ranges = list(pairwise(class_start))
        targets = np.stack([self._targets(X, *part, n_neighbors) for part in ranges], axis=1)
        maps, to_targets = self._maps(n_neighbors)
        found = np.empty((len(X), len(ranges)))

        def block(start: int, stop: int) -> None:
            points, chosen = centred(X[start:stop], self._centre), targets[start:stop]
            to_rows = np.empty((len(points), len(self.rows)))
            for seen in maps:
                to_rows[:, seen.members] = seen.to_members.to(points @ seen.L.T)

            def from_rows(label: int) -> FloatArray:
                distances = np.empty_like(to_rows)
                own = self.clusters[chosen[:, label, 0]]
                for cluster in np.unique(own):
                    seen, part = maps[cluster], own == cluster
                    distances[part] = seen.to_all.to(points[part] @ seen.L.T)
                return distances

            found[start:stop] = energies(
                to_rows,
                chosen,
                class_start,
                to_targets,
                push=push,
                margin=margin,
                from_rows=from_rows,
            )

        run_blocks(block, len(X), max(1, BLOCK_VALUES // len(self.rows)), self.n_jobs)
        return found

    def _in_order(self, order: IndexArray) -> LocalMetrics:
        """Return the same rows in another order."""
        return replace(
            self,
            rows=self.rows[order],
            codes=self.codes[order],
            clusters=self.clusters[order],
        )

    def _targets(self, X: Array, start: int, stop: int, k: int) -> IndexArray:
        """Return the nearest of some rows, by the features as they are."""
        return start + nearest(X, self.rows[start:stop], k, n_jobs=self.n_jobs)[1]

    def _maps(self, k: int) -> tuple[list[_Map], FloatArray]:
        """Return how each metric sees the rows, and their squared distances to their targets."""
        cols = target_neighbors(self.rows, self.codes, k, n_jobs=self.n_jobs).ravel()
        anchors = np.repeat(np.arange(len(self.rows)), k)
        maps, to_targets = [], np.empty(len(cols))
        rows = centred(self.rows.astype(np.float64), self._centre)
        for cluster, L in enumerate(self.components.astype(np.float64)):
            mapped = map_rows(rows, L, self.n_jobs)
            part = np.flatnonzero(self.clusters[cols] == cluster)
            to_targets[part] = _loops.pair_sqdist(
                mapped, anchors[part], cols[part], n_jobs=self.n_jobs
            )
            members = np.flatnonzero(self.clusters == cluster)
            to_members = SquaredDistances(mapped[members])
            maps.append(_Map(L, members, to_members, SquaredDistances(mapped)))
        return maps, to_targets.reshape(-1, k)

    @cached_property
    def _centre(self) -> Array:
        """A point amid the rows: about it products keep the digits of differences."""
        return robust_centre(self.rows)


class _Map(NamedTuple):
    """One of the metrics: L, the rows of its cluster, distances to them and to all rows."""

    L: FloatArray
    members: IndexArray
    to_members: SquaredDistances
    to_all: SquaredDistances
