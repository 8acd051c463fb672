"""Where impostors come from: an exact search by labels, or the user's own triplets."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from likewise import _loops, neighbors
from likewise._runtime.arrays import Array, BoolArray, FloatArray, IndexArray
from likewise.neighbors._arguments import Algorithm
from likewise.objectives import GroupedPairs

_LEAST_LIMIT = 1_000_000
_PAIRS_PER_ROW = 100


class FindImpostors(Protocol):
    """Where far pairs come from.

    Attributes
    ----------
    limit : int or None
        More pairs than this are a flood; with None memory is the only limit, for one search.
    """

    limit: int | None

    def __call__(self, Z: Array, near: FloatArray, slack: float) -> tuple[GroupedPairs, FloatArray]:
        """Return all pairs that matter at the mapped rows Z, and their squared distances.

        `near` are the squared distances to the targets; `slack` asks for pairs that would matter
        if radii were larger by this share. Raises `TooManyPairs` for a flood.
        """
        ...


class ImpostorsByLabel:
    """Rows of another class inside an anchor's margin, by an exact search.

    Parameters
    ----------
    labels : int array of shape (n_rows,)
    targets : GroupedPairs
        One group a row.
    active : bool array of shape (n_rows,)
        The anchors that count.
    margin : float
    n_jobs : int or None
    algorithm : {"auto", "brute", "tree"}
        How the search is done.
    """

    def __init__(
        self,
        labels: IndexArray,
        targets: GroupedPairs,
        active: BoolArray,
        margin: float,
        n_jobs: int | None,
        algorithm: Algorithm = "auto",
    ) -> None:
        self.labels, self.targets, self.active = labels, targets, active
        self.margin, self.n_jobs, self.algorithm = margin, n_jobs, algorithm
        self.limit: int | None = max(_LEAST_LIMIT, _PAIRS_PER_ROW * len(labels))

    def __call__(self, Z: Array, near: FloatArray, slack: float) -> tuple[GroupedPairs, FloatArray]:
        """Search the rows of other classes."""
        widest = np.maximum.reduceat(near, self.targets.start[:-1])
        radius2 = np.where(self.active, (self.margin + widest) * (1 + slack), 0.0)
        try:
            rows, cols, sqdist = self._search(Z, radius2)
        except MemoryError:
            raise MemoryError(
                "There are more pairs of rows of different classes within the margin than fit in "
                "the free memory; learn from fewer rows or with a smaller n_neighbors."
            ) from None
        # A set that once grew to this size by small steps, or had to be borne, is no flood.
        self.limit = max(self.limit or 0, 4 * len(rows))
        return GroupedPairs.sorted_by(rows, len(self.labels), rows, cols), sqdist

    def _search(self, Z: Array, radius2: FloatArray) -> tuple[Array, Array, FloatArray]:
        """Return pairs of rows of different class within the first row's radius, in order."""
        return neighbors.within_radius_of_other_class(
            Z,
            self.labels,
            radius2,
            max_pairs=self.limit,
            algorithm=self.algorithm,
            n_jobs=self.n_jobs,
        )


class ImpostorsByCluster(ImpostorsByLabel):
    """The same where a pair is measured by the metric of its second row's cluster.

    Parameters
    ----------
    clusters : int array of shape (n_rows,)
    labels, targets, active, margin, n_jobs
        As in `ImpostorsByLabel`.
    """

    def __init__(self, clusters: IndexArray, *args: Any) -> None:
        super().__init__(*args)
        self.clusters = clusters

    def _search(self, Z: Array, radius2: FloatArray) -> tuple[Array, Array, FloatArray]:
        parts, left = [], self.limit
        # Rows of one cluster and class against all other classes: together every pair once.
        for cluster, label in np.unique(np.stack([self.clusters, self.labels]), axis=1).T:
            inside = (self.clusters == cluster) & (self.labels == label)
            members = np.flatnonzero(inside | (self.labels != label))
            rows, cols, sqdist = neighbors.within_radius_of_other_class(
                np.ascontiguousarray(Z[cluster][members]),
                inside[members].astype(np.int64),
                np.where(inside, 0.0, radius2)[members],
                max_pairs=left,
                n_jobs=self.n_jobs,
            )
            parts.append((members[rows], members[cols], sqdist))
            left = None if left is None else left - len(rows)
        rows, cols, sqdist = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.lexsort((cols, rows))
        return rows[order], cols[order], sqdist[order]


class GivenImpostors:
    """Far pairs that the user named: all of them, always."""

    limit: int | None = None

    def __init__(self, far: GroupedPairs, n_jobs: int | None) -> None:
        self.far, self.n_jobs = far, n_jobs

    def __call__(self, Z: Array, near: FloatArray, slack: float) -> tuple[GroupedPairs, FloatArray]:
        """Return the given pairs and their squared distances."""
        far = self.far
        return far, _loops.pair_sqdist(Z, far.rows, far.cols, n_jobs=self.n_jobs)


def search_all(find: FindImpostors, Z: Array, near: FloatArray) -> tuple[GroupedPairs, FloatArray]:
    """Search, however many pairs there are: only memory is a limit."""
    find.limit = None
    return find(Z, near, 0.0)
