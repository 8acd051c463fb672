"""Pairs of rows by the block of their anchor, with the rows of other blocks that they refer to."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from likewise import _loops
from likewise._numerics.products import map_rows
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise.objectives.evaluation_memory import EvaluationMemory
from likewise.objectives.large_margin import GroupedPairs, LargeMargin

# One per thread and not per block: a worker holds several blocks.
_memory_of_threads: WeakValueDictionary[int, EvaluationMemory] = WeakValueDictionary()


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

    def memory_of_thread(self) -> EvaluationMemory:
        """Return the memory of this thread, which lasts as long as pairs that it was used for."""
        thread = threading.get_ident()
        memory = _memory_of_threads.setdefault(thread, EvaluationMemory())
        self._memory[thread] = memory
        return memory

    @cached_property
    def _memory(self) -> dict[int, EvaluationMemory]:
        return {}

    def __reduce__(self) -> tuple[type[LocalPairs], tuple[Any, ...]]:
        return LocalPairs, (self.X, self.numbers, self.targets, self.impostors)

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

    @classmethod
    def of_targets(
        cls,
        X: Array,
        start: int,
        rows: IndexArray,
        numbers: IndexArray,
        halo: list[tuple[Array, IndexArray]],
    ) -> LocalPairs:
        """Return the target pairs of a block, without impostors.

        Parameters
        ----------
        X : array of shape (n_anchors, n_features)
            The rows of the block.
        start : int
            The number of the first of them among all rows.
        rows, numbers : int arrays of shape (n_pairs,)
            Local numbers of anchors, ascending, and the numbers of their targets among all rows.
        halo : list of tuples of arrays
            For each other block, in order: its rows that targets are, and their ascending numbers.
        """
        n = len(X)
        others = np.concatenate([np.empty(0, np.int64), *(part[1] for part in halo)])
        own = (numbers >= start) & (numbers < start + n)
        cols = np.where(own, numbers - start, n + np.searchsorted(others, numbers))
        return cls(
            np.concatenate([X, *(part[0] for part in halo)]),
            np.concatenate([np.arange(start, start + n), others]),
            GroupedPairs.from_sorted(rows, n, rows, cols),
            GroupedPairs.empty(n),
        )

    def with_impostors(self, found: list[ImpostorsInBlock]) -> tuple[LocalPairs, FloatArray]:
        """Return the same targets with other impostors, and the squared distances of these.

        `found` has the impostors in each block, in the order of blocks.
        """
        n = self.n_anchors
        outside = [part for part in found if part.halo is not None]
        kept = np.zeros(len(self.X), dtype=bool)
        kept[self.targets.cols] = True
        kept[:n] = False
        # Numbers of each block ascend, and so do those of targets: two sorted runs are merged.
        numbers = np.concatenate([*(part.halo_numbers for part in outside), self.numbers[kept]])
        numbers.sort(kind="stable")
        numbers = numbers[np.diff(numbers, prepend=-1) > 0]
        X = np.empty((n + len(numbers), self.X.shape[1]), dtype=self.X.dtype)
        X[:n] = self.X[:n]
        moved = np.arange(len(self.X))  # where the rows of targets are now
        moved[kept] = n + np.searchsorted(numbers, self.numbers[kept])
        X[moved[kept]] = self.X[kept]
        counts = [np.bincount(part.rows, minlength=n) for part in found]
        indptr = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(sum(counts, np.zeros(n, dtype=np.int64)), out=indptr[1:])
        rows, cols = np.repeat(np.arange(n), np.diff(indptr)), np.empty(indptr[-1], dtype=np.int64)
        sqdist = np.empty(indptr[-1])
        next_slot = indptr[:-1].copy()  # of each anchor
        for part, count in zip(found, counts, strict=True):
            slots = np.repeat(next_slot - np.cumsum(count) + count, count)
            slots += np.arange(len(slots))
            places = part.cols
            if part.halo is not None:
                of_halo = n + np.searchsorted(numbers, part.halo_numbers)
                X[of_halo] = part.halo
                places = of_halo[part.cols]
            cols[slots], sqdist[slots] = places, part.sqdist
            next_slot += count
        targets = replace(self.targets, cols=moved[self.targets.cols])
        everyone = np.concatenate([self.numbers[:n], numbers])
        return LocalPairs(X, everyone, targets, GroupedPairs(rows, cols, indptr)), sqdist

    def __sizeof__(self) -> int:
        """Return the bytes of the arrays, by which a scheduler decides what to move or spill.

        The incidence of the pairs counts, which a gradient adds: it takes as much as they do.
        """
        pairs = (self.targets, self.impostors)
        arrays = (*(array for p in pairs for array in 2 * (p.rows, p.cols, p.indptr)), self.numbers)
        return int(self.X.nbytes + sum(array.nbytes for array in arrays))


class ImpostorsInBlock(NamedTuple):
    """The impostors that the anchors of a block have in one block, sorted by anchor.

    Attributes
    ----------
    rows : int array of shape (n_pairs,)
        The local numbers of anchors.
    cols : int array of shape (n_pairs,)
        Numbers of rows in `halo`, or in the own block.
    sqdist : array of shape (n_pairs,)
    halo, halo_numbers : arrays of shape (n_rows, n_features) and (n_rows,), or None
        Rows of the other block, and their ascending numbers among all rows; None in the own block.
    """

    rows: IndexArray
    cols: IndexArray
    sqdist: FloatArray
    halo: Any
    halo_numbers: Any


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
