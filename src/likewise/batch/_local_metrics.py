"""Distances to rows of which each is measured by the metric of its cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import _kernels
from likewise._threads import run_blocks
from likewise.constraints import target_neighbors
from likewise.neighbors import nearest
from likewise.objectives import energies

Array = NDArray[Any]
Index = NDArray[np.int64]
Reals = NDArray[np.float64]

_BLOCK_VALUES = 1 << 20  # distances in memory at a time, for each thread


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
    codes: Index
    clusters: Index
    components: Array
    n_jobs: int | None

    def nearest(self, X: Array, k: int) -> tuple[Reals, Index]:
        """Search each cluster by its own metric; return the k nearest rows of all."""
        squares, index = [], []
        for cluster, L in enumerate(self.components):
            members = np.flatnonzero(self.clusters == cluster)
            if len(members):
                found, row = nearest(
                    self._about(X) @ L.T,
                    self._about(self.rows[members]) @ L.T,
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
    ) -> Reals:
        """Return LMNN's energy of every label for every row of X.

        Distances from training rows to x are by the metric of the nearest target that x would have
        in the class that is tried.
        """
        targets = np.stack([self._targets(X, code, n_neighbors) for code in range(n_classes)], 1)
        maps = [_Map(L, self._about(self.rows)) for L in self.components.astype(np.float64)]
        to_targets = self._to_own_targets(maps, n_neighbors)
        members = [np.flatnonzero(self.clusters == cluster) for cluster in range(len(maps))]
        found = np.empty((len(X), n_classes))

        def block(start: int, stop: int) -> None:
            points, chosen = self._about(X[start:stop]), targets[start:stop]
            to_rows = np.empty((len(points), len(self.rows)))
            for seen, rows in zip(maps, members, strict=True):
                to_rows[:, rows] = seen.sqdist(points, rows)

            def from_rows(label: int) -> Reals:
                distances = np.empty_like(to_rows)
                own = self.clusters[chosen[:, label, 0]]
                for cluster in np.unique(own):
                    distances[own == cluster] = maps[cluster].sqdist(points[own == cluster])
                return distances

            found[start:stop] = energies(
                to_rows,
                chosen,
                self.codes,
                to_targets,
                push=push,
                margin=margin,
                from_rows=from_rows,
            )

        run_blocks(block, len(X), max(1, _BLOCK_VALUES // len(self.rows)), self.n_jobs)
        return found

    def _targets(self, X: Array, code: int, k: int) -> Index:
        """Return the nearest rows of a class, by the features as they are."""
        members = np.flatnonzero(self.codes == code)
        return members[nearest(X, self.rows[members], k, n_jobs=self.n_jobs)[1]]

    def _to_own_targets(self, maps: list[_Map], k: int) -> Reals:
        """Return the squared distances of the rows to their targets."""
        cols = target_neighbors(self.rows, self.codes, k, n_jobs=self.n_jobs).ravel()
        rows = np.repeat(np.arange(len(self.rows)), k)
        found = np.empty(len(rows))
        for cluster, seen in enumerate(maps):
            part = np.flatnonzero(self.clusters[cols] == cluster)
            found[part] = _kernels.pair_sqdist(
                seen.rows, rows[part], cols[part], n_jobs=self.n_jobs
            )
        return found.reshape(-1, k)

    def _about(self, X: Array) -> Array:
        """Return rows near the origin: far from it products would lose the digits."""
        return np.asarray(X - self.rows[0])


class _Map:
    """One of the metrics: L, and all rows through it."""

    def __init__(self, L: Reals, rows: Array) -> None:
        self.L, self.rows = L, np.ascontiguousarray(rows @ L.T)
        self.norms = np.square(self.rows).sum(axis=1)

    def sqdist(self, points: Array, rows: Index | slice = slice(None)) -> Reals:
        """Return the squared distances of points to some of the rows."""
        mapped = points @ self.L.T
        found = np.square(mapped).sum(axis=1)[:, None] + self.norms[rows]
        found -= 2 * mapped @ self.rows[rows].T
        return np.asarray(np.maximum(found, 0, out=found))
