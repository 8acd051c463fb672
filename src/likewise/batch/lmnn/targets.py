"""Supervision of LMNN: labels or triplets become target pairs and a search for impostors."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.tensors import is_tensor
from likewise.batch.lmnn.impostors import FixedImpostors, ImpostorSearch, LabelledImpostorSearch
from likewise.constraints import Triplets
from likewise.constraints._class_sizes import check_class_sizes
from likewise.constraints._from_labels import nearest_of_own_class
from likewise.constraints._tuples import as_targets
from likewise.neighbors._arguments import Algorithm
from likewise.objectives import GroupedPairs, LargeMargin


class Selection(NamedTuple):
    """The target pairs, the weights of their groups, and the search for their impostors."""

    targets: GroupedPairs
    weights: FloatArray
    search: ImpostorSearch

    def objective(self, X: Array, push: float, margin: float, n_jobs: int | None) -> LargeMargin:
        """Return the LMNN objective on X, with no impostors found yet."""
        kind: type[LargeMargin] = LargeMargin
        if is_tensor(X):
            from likewise.objectives.torch_large_margin import TorchLargeMargin

            kind = cast("type[LargeMargin]", TorchLargeMargin)  # it has the same interface
        impostors = self.targets.without_pairs()
        return kind(X, self.targets, impostors, self.weights, push, margin, n_jobs=n_jobs)


class Supervision(Protocol):
    """Labels or triplets."""

    @property
    def codes(self) -> IndexArray | None:
        """The class of each row, or None if there are no labels."""
        ...

    @property
    def fixed(self) -> bool:
        """Whether the targets do not depend on distances."""
        ...

    @property
    def n_free(self) -> int | None:
        """The number of independent samples, rows less classes; None without labels."""
        ...

    def select_targets(self, Z: Array) -> Selection:
        """Select the target neighbours by the distances of the transformed rows Z."""
        ...


class LabelSupervision:
    """Targets are the nearest rows of the same class, or given ones; impostors are of the others.

    Parameters
    ----------
    codes : int array of shape (n_samples,)
        The class of each row.
    weights : array of shape (n_samples,)
        The weight of each row as an anchor.
    targets : int array of shape (n_pairs, 2) or None
        Rows and their target neighbours, sorted by row; None selects them by distance.
    n_neighbors : int
        The number of targets to select; in smaller classes all other rows are.
    margin : float
    n_jobs : int or None
    algorithm : {"auto", "brute", "tree"}
        How the searches are done.
    """

    fixed: bool

    def __init__(
        self,
        codes: IndexArray,
        weights: FloatArray,
        targets: IndexArray | None,
        n_neighbors: int,
        margin: float,
        n_jobs: int | None,
        algorithm: Algorithm = "auto",
    ) -> None:
        self.codes = codes
        self.weights = weights
        self.targets = targets
        self.fixed = targets is not None
        self.n_neighbors = n_neighbors
        self.margin = margin
        self.n_jobs = n_jobs
        self.algorithm = algorithm
        self.n_free = len(codes) - len(np.unique(codes))

    @staticmethod
    def training_targets(
        given: ArrayLike | None,
        codes: IndexArray,
        classes: Array,
        train: IndexArray,
        n_neighbors: int,
    ) -> IndexArray | None:
        """Return the given target pairs among the rows `train`, numbered within them.

        If no targets are given, return None, and warn of classes with too few rows to select
        `n_neighbors` of them.
        """
        if given is None:
            check_class_sizes(codes[train], classes, n_neighbors)
            return None
        place = np.full(len(codes), -1)
        place[train] = np.arange(len(train))
        pairs = place[as_targets(given, codes)]
        return pairs[(pairs >= 0).all(axis=1)]

    def select_targets(self, Z: Array) -> Selection:
        """Select the nearest rows of the same class, unless there are given targets.

        There is one group per row. It is empty if the row has no target.
        """
        pairs = self.targets
        if pairs is None:
            pairs = nearest_of_own_class(
                Z, self.codes, self.n_neighbors, algorithm=self.algorithm, n_jobs=self.n_jobs
            )
        rows, cols = np.ascontiguousarray(pairs.T)
        active = self.weights > 0
        if not active[rows].any():
            raise ValueError(
                "No row whose anchor_weight is not 0 has a target neighbour, but at least one is "
                "needed to learn from."
            )
        if is_tensor(Z):
            from likewise.batch.lmnn import torch_data

            there: Any = torch_data.tensor_targets(pairs, len(self.codes), Z)
            impostors: Any = torch_data.TensorImpostorSearch(self.codes, there, active, self.margin)
            return Selection(there, torch_data.tensor_weights(self.weights, Z), impostors)
        targets = GroupedPairs.from_sorted(rows, len(self.codes), rows, cols)
        search = LabelledImpostorSearch(
            self.codes, targets, active, self.margin, self.n_jobs, self.algorithm
        )
        return Selection(targets, self.weights, search)


class TripletSupervision:
    """Each distinct pair (anchor, positive) is a group, with the negatives of its triplets."""

    codes: None = None
    n_free: None = None
    fixed: bool = True
    targets: GroupedPairs
    impostors: GroupedPairs

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
