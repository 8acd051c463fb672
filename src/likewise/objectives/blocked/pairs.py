"""Pairs of rows by the block of their anchor, with the rows of other blocks that they refer to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from likewise import _loops
from likewise._numerics.products import map_rows
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise.objectives.large_margin import GroupedPairs, LargeMargin


@dataclass(frozen=True, eq=False)
class LocalPairs:
    """Target and impostor pairs of the anchors of one block, in local row numbers.

    Attributes
    ----------
    X : array of shape (n_local, n_features)
        The rows of the block, then those of other blocks that pairs refer to.
    numbers : int array of shape (n_local,)
        The number of each row among all rows; ascending after those of the block.
    targets, impostors : GroupedPairs
        One group per row of the block.
    """

    X: Array
    numbers: IndexArray
    targets: GroupedPairs
    impostors: GroupedPairs

    @property
    def n_anchors(self) -> int:
        """The number of rows of the block."""
        return len(self.targets.indptr) - 1

    def objective(
        self, push: float, margin: float, smoothing: float, n_jobs: int | None
    ) -> LargeMargin:
        """Return the objective over these anchors, each of weight 1."""
        weights = np.ones(self.n_anchors)
        return LargeMargin(
            self.X, self.targets, self.impostors, weights, push, margin, smoothing, n_jobs
        )

    def sqdist(self, L: Array, targets: bool, n_jobs: int | None) -> FloatArray:
        """Return the squared distances of the target or impostor pairs under L."""
        pairs = self.targets if targets else self.impostors
        Z = map_rows(self.X, L, n_jobs)
        return _loops.pair_sqdist(Z, pairs.rows, pairs.cols, n_jobs=n_jobs)

    def with_pairs(
        self,
        rows: IndexArray,
        numbers: IndexArray,
        halo: list[tuple[Array, IndexArray]],
        *,
        targets: bool,
    ) -> LocalPairs:
        """Return the same with other target or impostor pairs, sorted by row.

        Parameters
        ----------
        rows : int array of shape (n_pairs,)
            The local numbers of anchors.
        numbers : int array of shape (n_pairs,)
            The numbers among all rows of the others.
        halo : list of tuples of arrays
            Rows of other blocks, in any order, also repeated, and their numbers among all rows.
        targets : bool
            Whether these are the target pairs; the impostor pairs are then none.
        """
        n = self.n_anchors
        if not targets:  # what target pairs refer to stays
            used = np.unique(self.targets.cols[self.targets.cols >= n])
            halo = [*halo, (self.X[used], self.numbers[used])]
        outside = np.unique(np.concatenate([part_numbers for _, part_numbers in halo]))
        everyone = np.concatenate([self.numbers[:n], outside])
        X = np.empty((len(everyone), self.X.shape[1]), dtype=self.X.dtype)
        X[:n] = self.X[:n]
        for part, part_numbers in halo:
            X[n + np.searchsorted(outside, part_numbers)] = part
        pairs = GroupedPairs.from_sorted(rows, n, rows, _places(numbers, everyone, n))
        if targets:
            return LocalPairs(X, everyone, pairs, GroupedPairs.empty(n))
        moved = _places(self.numbers[self.targets.cols], everyone, n)
        return LocalPairs(X, everyone, replace(self.targets, cols=moved), pairs)


def _places(numbers: IndexArray, everyone: IndexArray, n: int) -> IndexArray:
    """Return the local numbers of rows: the n rows of the block are consecutive."""
    first = everyone[0] if n else 0
    own = (numbers >= first) & (numbers < first + n)
    outside = n + np.searchsorted(everyone[n:], numbers)
    return np.where(own, numbers - first, outside).astype(np.int64)


@dataclass(frozen=True, eq=False)
class BlockedPairs:
    """Handles of the `LocalPairs` of every block; `targets` says which of their pairs are meant."""

    handles: tuple[Any, ...]
    targets: bool


@dataclass(frozen=True, eq=False)
class BlockedSqdist:
    """Handles of squared distances of every block, and a factor of them all."""

    handles: tuple[Any, ...]
    factor: float = 1.0

    def __rmul__(self, factor: float) -> BlockedSqdist:
        return replace(self, factor=factor * self.factor)
