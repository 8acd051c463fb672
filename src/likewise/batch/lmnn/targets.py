"""Supervision of LMNN: labels or triplets become target pairs and a search for impostors."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise.batch.lmnn.impostors import FixedImpostors, ImpostorSearch, LabelledImpostorSearch
from likewise.constraints import Triplets, target_neighbors
from likewise.neighbors._arguments import Algorithm
from likewise.objectives import GroupedPairs, LargeMargin


class Selection(NamedTuple):
    """The target pairs, the weights of their groups, and the search for their impostors."""

    targets: GroupedPairs
    weights: FloatArray
    search: ImpostorSearch

    def objective(self, X: Array, push: float, margin: float, n_jobs: int | None) -> LargeMargin:
        """Return the LMNN objective on X, with no impostors found yet."""
        impostors = GroupedPairs.empty(len(self.weights))
        return LargeMargin(X, self.targets, impostors, self.weights, push, margin, n_jobs=n_jobs)


class Supervision(Protocol):
    """Labels or triplets."""

    @property
    def codes(self) -> IndexArray | None:
        """The class of each row, or None if there are no labels."""
        ...

    def select_targets(self, Z: Array) -> Selection:
        """Select the target neighbours by the distances of the transformed rows Z."""
        ...


class LabelSupervision:
    """The targets of a row are its nearest rows of the same class, impostors are of the others."""

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

    def select_targets(self, Z: Array) -> Selection:
        """Select the nearest rows of the same class: one group per row."""
        index = target_neighbors(
            Z, self.labels, self.n_neighbors, algorithm=self.algorithm, n_jobs=self.n_jobs
        )
        n_samples, k = index.shape
        targets = GroupedPairs(
            np.repeat(np.arange(n_samples), k),
            np.ascontiguousarray(index.ravel()),
            np.arange(0, n_samples * k + 1, k),
        )
        search = LabelledImpostorSearch(
            self.codes, targets, self.weights > 0, self.margin, self.n_jobs, self.algorithm
        )
        return Selection(targets, self.weights, search)


class TripletSupervision:
    """Each distinct pair (anchor, positive) is a group, with the negatives of its triplets."""

    codes: None = None

    def __init__(self, triplets: Triplets, n_samples: int, n_jobs: int | None) -> None:
        self.n_jobs = n_jobs
        anchor, positive, negative = triplets.index.T
        pairs, group = np.unique(anchor * n_samples + positive, return_inverse=True)
        order = np.argsort(group, kind="stable")
        anchors, positives = np.divmod(pairs, n_samples)
        self.targets = GroupedPairs(anchors, positives, np.arange(len(pairs) + 1))
        self.impostors = GroupedPairs.from_sorted(
            group[order],
            len(pairs),
            np.ascontiguousarray(anchor[order]),
            np.ascontiguousarray(negative[order]),
        )

    def select_targets(self, Z: Array) -> Selection:
        """Return the pairs of the triplets, whatever Z is."""
        weights = np.ones(len(self.targets))
        return Selection(self.targets, weights, FixedImpostors(self.impostors, self.n_jobs))
