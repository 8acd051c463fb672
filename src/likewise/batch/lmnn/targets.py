"""What LMNN is told: labels or triplets, as groups of pairs that pull and push."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise.batch.lmnn.impostors import FindImpostors, GivenImpostors, ImpostorsByLabel
from likewise.constraints import Triplets, target_neighbors
from likewise.neighbors._arguments import Algorithm
from likewise.objectives import GroupedPairs


class Told(NamedTuple):
    """Pairs that pull, how much their groups count, and where impostors come from."""

    near: GroupedPairs
    weights: FloatArray
    find: FindImpostors


class Teacher(Protocol):
    """Says what pulls and what pushes, given where the rows are."""

    @property
    def codes(self) -> IndexArray | None:
        """The classes, where there are any."""
        ...

    def tell(self, Z: Array) -> Told:
        """Choose target neighbours among the mapped rows."""
        ...


class LabelTeacher:
    """Each row is pulled by its nearest rows of its class and pushed by any other class."""

    def __init__(
        self,
        codes: IndexArray,
        classes: Array,
        weights: FloatArray,
        n_neighbors: int,
        margin: float,
        n_jobs: int | None,
        algorithm: Algorithm = "auto",
    ) -> None:
        self.codes, self.labels, self.weights = codes, classes[codes], weights
        self.n_neighbors = n_neighbors
        self.margin, self.n_jobs, self.algorithm = margin, n_jobs, algorithm

    def tell(self, Z: Array) -> Told:
        """Choose target neighbours among the mapped rows."""
        targets = target_neighbors(
            Z, self.labels, self.n_neighbors, algorithm=self.algorithm, n_jobs=self.n_jobs
        )
        n_rows, k = targets.shape
        near = GroupedPairs(
            np.repeat(np.arange(n_rows), k),
            np.ascontiguousarray(targets.ravel()),
            np.arange(0, n_rows * k + 1, k),
        )
        find = ImpostorsByLabel(
            self.codes, near, self.weights > 0, self.margin, self.n_jobs, self.algorithm
        )
        return Told(near, self.weights, find)


class TripletTeacher:
    """Each distinct (anchor, positive) pulls, and is a group with its triplets' negatives."""

    codes: None = None

    def __init__(self, triplets: Triplets, n_rows: int, n_jobs: int | None) -> None:
        self.n_jobs = n_jobs
        anchor, positive, negative = triplets.index.T
        pairs, group = np.unique(anchor * n_rows + positive, return_inverse=True)
        order = np.argsort(group, kind="stable")
        anchors, positives = np.divmod(pairs, n_rows)
        self.near = GroupedPairs(anchors, positives, np.arange(len(pairs) + 1))
        self.far = GroupedPairs.sorted_by(
            group[order],
            len(pairs),
            np.ascontiguousarray(anchor[order]),
            np.ascontiguousarray(negative[order]),
        )

    def tell(self, Z: Array) -> Told:
        """Repeat what the user said."""
        return Told(self.near, np.ones(len(self.near)), GivenImpostors(self.far, self.n_jobs))
