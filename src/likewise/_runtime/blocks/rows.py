"""Rows in blocks that stay where they are: only sums and a few rows come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.blocks.engines import Engine, tree_sum
from likewise._runtime.blocks.stored_results import load

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class BlockedRows:
    """A table of rows in blocks, with the group of each row.

    Attributes
    ----------
    engine : Engine
    blocks : tuple of handles
        Each of a block's rows and their groups.
    counts : int array of shape (n_blocks,)
        The number of rows of each block.
    n_features : int
    dtype : dtype
    """

    engine: Engine
    blocks: tuple[Any, ...]
    counts: IndexArray
    n_features: int
    dtype: Any

    def __len__(self) -> int:
        return int(self.counts.sum())

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and features."""
        return len(self), self.n_features

    @property
    def starts(self) -> IndexArray:
        """The number of the first row of each block."""
        return np.asarray(np.cumsum(self.counts) - self.counts)

    def map(self, task: Callable[[Array, IndexArray], T]) -> list[T]:
        """Return ``task(rows, groups)`` of every block, in the order of blocks."""
        return self.engine.gather(self.engine.submit_each(partial(_on_block, task), self.blocks))

    def total(self, task: Callable[[Array, IndexArray], T]) -> T:
        """Return the sum of ``task(rows, groups)`` over blocks, added in a fixed tree."""
        parts = self.engine.submit_each(partial(_on_block, task), self.blocks)
        return cast("T", tree_sum(self.engine, parts))

    def derive(self, task: Callable[[Array, IndexArray], tuple[Array, IndexArray]]) -> BlockedRows:
        """Return the rows and groups that `task` makes of every block; they stay where they are."""
        blocks = self.engine.submit_each(partial(_on_block, task), self.blocks)
        handles = self.engine.submit_each(_count_rows, blocks)
        counts = np.array(self.engine.gather(handles), dtype=np.int64)
        return replace(self, blocks=tuple(blocks), counts=counts)

    def take(self, index: IndexArray) -> Array:
        """Return a few rows by their numbers."""
        block = np.searchsorted(self.starts + self.counts, index, side="right")
        wanted = {b: np.flatnonzero(block == b) for b in np.unique(block).tolist()}
        handles = [
            self.engine.submit(_take, self.blocks[b], index[places] - self.starts[b])
            for b, places in wanted.items()
        ]
        rows = np.empty((len(index), self.n_features), dtype=self.dtype)
        for places, part in zip(wanted.values(), self.engine.gather(handles), strict=True):
            rows[places] = part
        return rows

    def gathered(self) -> tuple[Array, IndexArray]:
        """Return all rows and groups, where they are few."""
        rows, groups = zip(*self.engine.gather(self.blocks), strict=True)
        return np.concatenate(rows), np.concatenate(groups)

    def group_of_each(self) -> IndexArray:
        """Return the group of each row."""
        return np.concatenate(self.map(_groups_of))

    def as_dask(self, numbers: IndexArray | None = None) -> Any:
        """Return all rows, or those of ascending numbers, as a Dask array; they stay in place."""
        import dask
        import dask.array as da

        chosen = np.arange(len(self)) if numbers is None else numbers
        parts = np.split(chosen, np.searchsorted(chosen, self.starts[1:]))
        arrays = []
        for block, part, start in zip(self.blocks, parts, self.starts, strict=True):
            if len(part):
                taken = self.engine.submit(_take, block, part - start)
                if not hasattr(taken, "key"):  # it is no future, but held in this process
                    taken = dask.delayed(load, pure=False)(taken)
                arrays.append(da.from_delayed(taken, (len(part), self.n_features), self.dtype))
        return da.concatenate(arrays)

    def scaled(self, factor: float) -> BlockedRows:
        """Return the rows times a factor, in the same groups."""
        return self.derive(partial(_scale, factor))

    def regrouped(self, new_group: IndexArray) -> BlockedRows:
        """Return the rows whose group has a new number of at least 0, in their new groups."""
        return self.derive(partial(_regroup, new_group))

    def sorted_by(
        self, task: Callable[[Array, IndexArray], IndexArray], n_keys: int
    ) -> tuple[BlockedRows, list[Any]]:
        """Put the rows into blocks by their keys; those of a block stay in the order they had.

        Blocks have as many rows as before. Every block sends others what they get of it.

        Parameters
        ----------
        task : callable
            Returns the key of each row of a block, an integer from 0 to ``n_keys - 1``: the first
            block gets the rows of the least keys.
        n_keys : int

        Returns
        -------
        rows : BlockedRows
        numbers : list of handles
            For each block, the numbers that its rows had among all rows, which ascend.
        """
        engine = self.engine
        keys = engine.submit_each(partial(_on_block, task), self.blocks)
        sizes = np.array(engine.gather(engine.submit_each(partial(_key_sizes, n_keys), keys)))
        before = np.cumsum(sizes, axis=0) - sizes  # rows of the same key in blocks before
        totals = sizes.sum(axis=0)
        places = before + np.cumsum(totals) - totals  # of the first row of each key
        starts, places_of_blocks = self.starts.tolist(), range(len(self.blocks))
        pieces_of_blocks = []
        for start, count in zip(starts, self.counts.tolist(), strict=True):
            sent = (places < start + count) & (places + sizes > start) & (sizes > 0)
            # To a block without rows the first block sends none, of the right type.
            senders = np.flatnonzero(sent.any(axis=1)).tolist() or [0]
            columns = (self.blocks, keys, places, starts)
            pieces_of_blocks.append(
                engine.submit_each(
                    partial(_piece, start, start + count),
                    *([column[b] for b in senders] for column in columns),
                )
            )
        sorted_blocks = engine.submit_each(_joined, pieces_of_blocks, places=places_of_blocks)
        blocks, numbers = (
            engine.submit_each(itemgetter(k), sorted_blocks, places=places_of_blocks)
            for k in (0, 1)
        )
        _check_every_row_is_there(
            self.counts, engine.gather(engine.submit_each(_sums_of_powers, numbers))
        )
        return replace(self, blocks=tuple(blocks)), numbers

    def in_one_group(self) -> BlockedRows:
        """Return the same rows, all of group 0."""
        blocks = self.engine.submit_each(partial(_on_block, _in_one_group), self.blocks)
        return replace(self, blocks=tuple(blocks))


def _on_block(task: Callable[[Array, IndexArray], T], block: tuple[Array, IndexArray]) -> T:
    return task(*block)


def _count_rows(block: tuple[Array, IndexArray]) -> int:
    return len(block[0])


def _take(block: tuple[Array, IndexArray], index: IndexArray) -> Array:
    return np.asarray(block[0][index])


def _groups_of(rows: Array, groups: IndexArray) -> IndexArray:
    return groups


def _key_sizes(n_keys: int, keys: IndexArray) -> IndexArray:
    return np.bincount(keys, minlength=n_keys)


class _Piece(NamedTuple):
    """Rows on their way to another block, and the numbers that they had among all rows."""

    rows: Array
    groups: IndexArray
    numbers: IndexArray


def _piece(
    start: int,
    stop: int,
    block: tuple[Array, IndexArray],
    keys: IndexArray,
    places: IndexArray,
    first: int,
) -> _Piece:
    """Return the rows of a block whose places in the new order are from start to stop."""
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    new = places[ranked] + np.arange(len(keys)) - np.searchsorted(ranked, ranked)
    sent = np.sort(order[(new >= start) & (new < stop)])
    return _Piece(block[0][sent], block[1][sent], first + sent)


def _joined(pieces: list[_Piece]) -> tuple[tuple[Array, IndexArray], IndexArray]:
    """Return a block of pieces of one block after the other, and the numbers of its rows."""
    rows, groups, numbers = (np.concatenate(side) for side in zip(*pieces, strict=True))
    return (rows, groups), numbers


def _sums_of_powers(numbers: IndexArray) -> Array:
    """Return the sums of the 0th, first and second powers, modulo 2⁶⁴."""
    of_first = numbers.astype(np.uint64)
    return np.array([len(numbers), of_first.sum(), np.square(of_first).sum()], dtype=np.uint64)


def _check_every_row_is_there(counts: IndexArray, sums: list[Array]) -> None:
    """Raise if a block has other than its number of rows, or rows are lost or in two blocks."""
    every = _sums_of_powers(np.arange(counts.sum()))
    found = [int(of_block[0]) for of_block in sums]
    if found != counts.tolist() or (np.sum(sums, axis=0) != every).any():
        # Another kind of processor may round keys otherwise.
        raise RuntimeError(
            "Rows were lost or doubled between blocks: results of a lost worker were probably "
            "computed again by another kind of processor; fit again."
        )


def _regroup(new_group: IndexArray, rows: Array, groups: IndexArray) -> tuple[Array, IndexArray]:
    groups = new_group[groups]
    return rows[groups >= 0], groups[groups >= 0]


def _scale(factor: float, rows: Array, groups: IndexArray) -> tuple[Array, IndexArray]:
    return rows * rows.dtype.type(factor), groups


def _in_one_group(rows: Array, groups: IndexArray) -> tuple[Array, IndexArray]:
    return rows, np.zeros(len(rows), dtype=np.int64)
