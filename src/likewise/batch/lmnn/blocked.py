"""LMNN from rows in blocks on a cluster or in a file: its data and supervision."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from likewise._numerics.centring import robust_centre
from likewise._numerics.spread import magnitudes
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.blocks import is_dask, is_read_in_blocks
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.blocks.validation import check_blocked_labels
from likewise.batch._scatter import group_sizes
from likewise.batch.lmnn.blocked_search import BlockedImpostorSearch
from likewise.batch.lmnn.blocked_targets import select_targets
from likewise.batch.lmnn.near_rows import near_rows_together
from likewise.batch.lmnn.preconditioning import centred_and_scaled, power_of_two
from likewise.constraints import unit_sqdist
from likewise.constraints._class_sizes import check_sizes
from likewise.objectives.blocked import BlockedLargeMargin, BlockedPairs, MappedRows

_Block = tuple[Array, IndexArray]


@dataclass(frozen=True, eq=False)
class BlockedData:
    """Centred and scaled training data, as `CentredData`; the scale is part of the map.

    Attributes
    ----------
    X : MappedRows
    scale : float
    """

    X: MappedRows
    scale: float

    @classmethod
    def from_rows(cls, X: BlockedRows) -> BlockedData:
        """Centre X and divide it by a power of two such that its largest entry is about 1."""
        magnitude = power_of_two(float(magnitudes(X).max()))
        centre = robust_centre(X).astype(np.float64)
        rows = X.derive(partial(_centred, centre, 1 / magnitude))
        residual = power_of_two(float(magnitudes(rows).max()))
        base = cls(MappedRows(rows, np.eye(X.n_features)), 1 / magnitude)
        return base.with_scale(1 / magnitude / residual)

    @property
    def base(self) -> BlockedRows:
        """The rows that an initial metric is computed from."""
        return self.X.rows

    def with_scale(self, scale: float) -> BlockedData:
        """Return the same data at another scale."""
        X = self.X.scaled(scale / self.scale)
        return replace(self, X=X, scale=scale)

    def rescaled(
        self, scale: str | float, targets: BlockedPairs, L: Array, n_jobs: int | None
    ) -> BlockedData:
        """Return the data at `scale`; "auto" makes the median squared distance of `targets` 1."""
        if isinstance(scale, str):
            objective = BlockedLargeMargin(self.X, targets, targets)
            sqdist = objective.sqdist(self.transform(L, n_jobs), targets)
            scale = self.scale / float(np.sqrt(unit_sqdist(objective.sample(sqdist))))
        return self.with_scale(float(scale))

    def transform(self, L: Array, n_jobs: int | None) -> MappedRows:
        """Return the rows mapped by L, which is not computed yet."""
        return self.X.mapped(L)

    def scatter(self, L: Array, n_jobs: int | None) -> Array:
        """Return ``ZᵀZ`` for the transformed rows Z minus their mean."""
        return self.X.moments(np.arange(self.X.shape[1]), L)[1] * len(self.X)


class BlockedSelection(NamedTuple):
    """The target pairs, the weights of their groups, and the search for their impostors."""

    targets: BlockedPairs
    weights: FloatArray
    search: BlockedImpostorSearch

    def objective(
        self, X: MappedRows, push: float, margin: float, n_jobs: int | None
    ) -> BlockedLargeMargin:
        """Return the LMNN objective on X, with no impostors found yet."""
        impostors = replace(self.targets, targets=False)
        return BlockedLargeMargin(X, self.targets, impostors, push, margin)


class BlockedSupervision:
    """Targets are the nearest rows of the same class; the blocks of rows hold the classes.

    Parameters
    ----------
    n_neighbors : int
    margin : float
    n_free : int
        Rows less classes.
    numbers : list of handles
        The numbers of the rows of each block in the user's data, ascending: of rows at equal
        distances those of least number are targets, as in memory.
    """

    fixed = False

    def __init__(self, n_neighbors: int, margin: float, n_free: int, numbers: list[Any]) -> None:
        self.codes = np.empty(0, dtype=np.int64)
        self.n_neighbors, self.margin, self.n_free = n_neighbors, margin, n_free
        self.numbers = numbers

    def select_targets(self, Z: MappedRows) -> BlockedSelection:
        """Select the nearest rows of the same class, by a search for every pair of blocks."""
        targets = select_targets(Z, self.numbers, self.n_neighbors)
        weights = np.broadcast_to(np.float64(1), len(Z))
        return BlockedSelection(
            targets, weights, BlockedImpostorSearch(targets, self.margin, Z.rows)
        )


def learns_from_blocks(learner: Any, X: Any, anchor_weight: Any, targets: Any) -> bool:
    """Return whether LMNN learns from blocks of X: a Dask collection, or a large memory map.

    A memory map is read as a whole for options that need rows in memory.
    """
    if is_read_in_blocks(X):
        return not _given_for_memory(learner, anchor_weight, targets)
    return is_dask(X)


def _given_for_memory(learner: Any, anchor_weight: Any, targets: Any) -> list[str]:
    """Return which options are given that need rows in memory."""
    given = {
        "anchor_weight": anchor_weight is not None,
        "targets": targets is not None,
        "kernel": learner.kernel is not None,
        "validation_fraction": learner.validation_fraction is not None,
        "solver='projected'": learner.solver == "projected",
    }
    return [name for name, is_given in given.items() if is_given]


def supervise_blocks(
    learner: Any, X: Any, y: Any, anchor_weight: Any, targets: Any
) -> tuple[BlockedRows, BlockedSupervision]:
    """Return the rows of a Dask collection or memory map in blocks, and their supervision.

    Raises an error for a Dask collection with options that need rows in memory.
    """
    for name in _given_for_memory(learner, anchor_weight, targets):
        raise ValueError(
            f"{name} is given, but X is a Dask collection, from which LMNN cannot learn with it: "
            "leave it out, or gather the rows by X.compute()."
        )
    rows, classes = check_blocked_labels(learner, X, y)
    check_sizes(group_sizes(rows, np.empty(0, dtype=np.int64)), classes, learner.n_neighbors)
    n_free = len(rows) - len(classes)
    rows, numbers = near_rows_together(rows)
    return rows, BlockedSupervision(learner.n_neighbors, learner.margin, n_free, numbers)


def _centred(centre: Array, scale: float, rows: Array, codes: IndexArray) -> _Block:
    return centred_and_scaled(rows, centre, scale), codes
