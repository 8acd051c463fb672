"""Distances to rows of which each is measured by the metric of its cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._threads import run_blocks
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
        to_targets = self._to_own_targets(n_classes, n_neighbors)
        everyone = np.arange(len(self.rows))
        found = np.empty((len(X), n_classes))

        def block(start: int, stop: int) -> None:
            chosen = targets[start:stop]
            points = np.arange(stop - start)
            by_cluster = self._distances(X[start:stop])
            found[start:stop] = energies(
                by_cluster[self.clusters, :, everyone].T,
                chosen,
                self.codes,
                to_targets,
                push=push,
                margin=margin,
                from_rows=lambda label: by_cluster[self.clusters[chosen[:, label, 0]], points],
            )

        size = len(self.rows) * len(self.components)
        run_blocks(block, len(X), max(1, _BLOCK_VALUES // size), self.n_jobs)
        return found

    def _targets(self, X: Array, code: int, k: int, *, exclude_self: bool = False) -> Index:
        """Return the nearest rows of a class, by the features as they are."""
        members = np.flatnonzero(self.codes == code)
        _, index = nearest(X, self.rows[members], k, exclude_self=exclude_self, n_jobs=self.n_jobs)
        return members[index]

    def _to_own_targets(self, n_classes: int, k: int) -> Reals:
        """Return the squared distances of the rows to their targets."""
        found = np.empty((len(self.rows), k))
        for code in range(n_classes):
            members = np.flatnonzero(self.codes == code)
            targets = self._targets(self.rows[members], code, k, exclude_self=True)
            difference = (self.rows[members, None] - self.rows[targets]).astype(np.float64)
            maps = self.components[self.clusters[targets]]
            found[members] = np.square(np.einsum("nkrd,nkd->nkr", maps, difference)).sum(axis=2)
        return found

    def _distances(self, X: Array) -> Reals:
        """Return the squared distances by every metric, shape (n_clusters, n_points, n_rows)."""
        queries, rows = self._about(X), self._about(self.rows)
        found = np.empty((len(self.components), len(X), len(rows)))
        for cluster, L in enumerate(self.components.astype(np.float64)):
            A, B = queries @ L.T, rows @ L.T
            np.matmul(A, -2 * B.T, out=found[cluster])
            found[cluster] += np.square(A).sum(axis=1)[:, None]
            found[cluster] += np.square(B).sum(axis=1)
        return np.maximum(found, 0, out=found)

    def _about(self, X: Array) -> Array:
        """Return rows near the origin: far from it products would lose the digits."""
        return np.asarray(X - self.rows[0])
