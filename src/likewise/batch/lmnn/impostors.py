"""Exact search for impostors, by labels or from the triplets of the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from likewise import _loops, neighbors
from likewise._runtime.arrays import Array, BoolArray, FloatArray, IndexArray
from likewise.neighbors._arguments import Algorithm
from likewise.objectives import GroupedPairs

_MIN_LIMIT = 1_000_000
_PAIRS_PER_ROW = 100


class ImpostorSearch(Protocol):
    """Finds the impostor pairs that have a loss at a point.

    Attributes
    ----------
    max_pairs : int or None
        Limit on the number of pairs; with None memory is the only limit of the next search.
    """

    max_pairs: int | None

    def __call__(
        self, Z: Array, target_sqdist: FloatArray, slack: float
    ) -> tuple[GroupedPairs, FloatArray]:
        """Return all impostor pairs of the transformed rows Z, and their squared distances.

        `slack` enlarges the squared search radii by this share, so that pairs just outside the
        margin are found as well. Raises `TooManyPairs` beyond `max_pairs`.
        """
        ...


class ImpostorLimit:
    """The limit on the pairs of a search, which grows with what was found.

    Parameters
    ----------
    n_samples : int
    """

    def __init__(self, n_samples: int) -> None:
        self.max_pairs: int | None = max(_MIN_LIMIT, _PAIRS_PER_ROW * n_samples)

    def accept(self, n_pairs: int) -> None:
        """Accept from now on, with some growth, a size that was reached."""
        self.max_pairs = max(self.max_pairs or 0, 4 * n_pairs)

    @contextmanager
    def said_for_pairs(self) -> Iterator[None]:
        """Say what there is too much of if the memory does not suffice."""
        try:
            yield
        except MemoryError:
            raise MemoryError(
                "There are more pairs of rows of different classes within the margin than fit in "
                "the free memory, or in max_memory; learn from fewer rows or with a smaller "
                "n_neighbors."
            ) from None


class LabelledImpostorSearch(ImpostorLimit):
    """Rows of another class within the margin of an anchor.

    Parameters
    ----------
    codes : int array of shape (n_samples,)
        The class of each row.
    targets : GroupedPairs
        One group per row, which may be empty.
    active : bool array of shape (n_samples,)
        The anchors whose weight is not 0.
    margin : float
    n_jobs : int or None
    algorithm : {"auto", "brute", "tree"}
        How the search is done.
    """

    def __init__(
        self,
        codes: IndexArray,
        targets: GroupedPairs,
        active: BoolArray,
        margin: float,
        n_jobs: int | None,
        algorithm: Algorithm = "auto",
    ) -> None:
        self.codes = codes
        self.targets = targets
        self.active = active
        self.margin = margin
        self.n_jobs = n_jobs
        self.algorithm = algorithm
        super().__init__(len(codes))

    def __call__(
        self, Z: Array, target_sqdist: FloatArray, slack: float
    ) -> tuple[GroupedPairs, FloatArray]:
        """Search the rows of other classes within the radius of the farthest target."""
        starts, with_targets = self.targets.indptr[:-1], np.diff(self.targets.indptr) > 0
        sqradius = np.zeros(len(self.codes))
        farthest = np.maximum.reduceat(target_sqdist, starts[with_targets])
        sqradius[with_targets] = (self.margin + farthest) * (1 + slack)
        sqradius[~self.active] = 0.0
        with self.said_for_pairs():
            rows, cols, sqdist = self._search(Z, sqradius)
        self.accept(len(rows))
        return GroupedPairs.from_sorted(rows, len(self.codes), rows, cols), sqdist

    def _search(self, Z: Array, sqradius: FloatArray) -> tuple[Array, Array, FloatArray]:
        """Return pairs of different classes within the radius of the first row, sorted."""
        return neighbors.within_radius_of_other_class(
            Z,
            self.codes,
            sqradius,
            max_pairs=self.max_pairs,
            algorithm=self.algorithm,
            n_jobs=self.n_jobs,
        )


class ClusteredImpostorSearch(LabelledImpostorSearch):
    """The same where the distance of a pair is that of the metric of its second row's cluster.

    Parameters
    ----------
    clusters : int array of shape (n_samples,)
    codes, targets, active, margin, n_jobs
        As in `LabelledImpostorSearch`.
    """

    def __init__(self, clusters: IndexArray, *args: Any) -> None:
        super().__init__(*args)
        self.clusters = clusters

    def _search(self, Z: Array, sqradius: FloatArray) -> tuple[Array, Array, FloatArray]:
        parts, remaining = [], self.max_pairs
        # Rows of one cluster and class against all other classes: together every pair once.
        for cluster, code in np.unique(np.stack([self.clusters, self.codes]), axis=1).T:
            inside = (self.clusters == cluster) & (self.codes == code)
            members = np.flatnonzero(inside | (self.codes != code))
            rows, cols, sqdist = neighbors.within_radius_of_other_class(
                np.ascontiguousarray(Z[cluster][members]),
                inside[members].astype(np.int64),
                np.where(inside, 0.0, sqradius)[members],
                max_pairs=remaining,
                n_jobs=self.n_jobs,
            )
            parts.append((members[rows], members[cols], sqdist))
            remaining = None if remaining is None else remaining - len(rows)
        rows, cols, sqdist = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.lexsort((cols, rows))
        return rows[order], cols[order], sqdist[order]


class FixedImpostors:
    """The negatives of given triplets: all of them, at every point."""

    max_pairs: int | None = None

    def __init__(self, impostors: GroupedPairs, n_jobs: int | None) -> None:
        self.impostors = impostors
        self.n_jobs = n_jobs

    def __call__(
        self, Z: Array, target_sqdist: FloatArray, slack: float
    ) -> tuple[GroupedPairs, FloatArray]:
        """Return the given pairs and their squared distances."""
        pairs = self.impostors
        return pairs, _loops.pair_sqdist(Z, pairs.rows, pairs.cols, n_jobs=self.n_jobs)


def search_without_limit(
    search: ImpostorSearch, Z: Array, target_sqdist: FloatArray
) -> tuple[GroupedPairs, FloatArray]:
    """Search impostors with memory as the only limit."""
    search.max_pairs = None
    return search(Z, target_sqdist, 0.0)
