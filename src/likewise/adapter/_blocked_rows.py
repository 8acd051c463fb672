"""Rows in blocks that are assigned to classes or clusters: only sums over blocks travel."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from likewise._numerics.products import product_over_rows
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.blocks.engines import shared, tree_sum
from likewise._runtime.blocks.rows import BlockedRows
from likewise.adapter._grouped_rows import SpaceInMemory, class_sums, scatter_about

_Block = tuple[Array, IndexArray]


class RowsInBlocks:
    """Centred rows in blocks, as `RowsInMemory`.

    Parameters
    ----------
    parts : tuple of BlockedRows
        The group of a row is its class, or -1. Each part is held elsewhere: on a cluster, or in
        this process.
    """

    labelled = None
    """The groups, which are where the rows are."""

    def __init__(self, parts: tuple[BlockedRows, ...]) -> None:
        self.parts = parts

    @classmethod
    def centred(cls, parts: tuple[BlockedRows, ...]) -> tuple[RowsInBlocks, FloatArray, FloatArray]:
        """Return the rows less their mean, the mean and the covariance."""
        n = sum(map(len, parts))
        mean = _total(parts, _sum) / n
        rows = cls(tuple(_centred(part, mean) for part in parts))
        scatters = [part.total(partial(_scatter, part.engine.n_jobs)) for part in rows.parts]
        scatter = functools.reduce(operator.add, scatters)
        return rows, mean, scatter / n

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def take(self, numbers: IndexArray) -> Array:
        """Return a few rows by their numbers."""
        ends = np.cumsum([len(part) for part in self.parts])
        of_part = np.searchsorted(ends, numbers, side="right")
        first = self.parts[0]
        rows = np.empty((len(numbers), first.n_features), dtype=first.dtype)
        for p, part in enumerate(self.parts):
            rows[of_part == p] = part.take(numbers[of_part == p] - (ends[p] - len(part)))
        return rows

    def space(self, F: FloatArray, scale: float) -> SpaceInBlocks:
        """Return the rows under the metric of the directions F."""
        return SpaceInBlocks(self.parts, F, scale)

    def class_means(self, assigned: Any, n_classes: int) -> tuple[FloatArray, IndexArray]:
        """Return the mean and the number of the rows that are assigned to each class."""
        sums = _sum_over_blocks(self.parts, _class_sums, assigned, n_classes)
        return _means(sums)

    def class_scatter(self, n_classes: int) -> tuple[FloatArray, IndexArray, FloatArray]:
        """Return means and numbers of labelled rows, in float64, and the scatter about them."""
        means, counts = _means(_total(self.parts, partial(_labelled_sums, n_classes)))
        scatters = []
        for part in self.parts:
            centres = shared(part.engine, means)
            handles = [part.engine.submit(_labelled_scatter, b, centres) for b in part.blocks]
            scatters.append(tree_sum(part.engine, handles))
        return means, counts, functools.reduce(operator.add, scatters)


class SpaceInBlocks:
    """Rows in blocks under the metric ``I / s + 2 FᵀF``, as `SpaceInMemory`.

    Parameters
    ----------
    parts : tuple of BlockedRows
    F : array of shape (n_directions, n_features)
    scale : float
        s.
    """

    def __init__(self, parts: tuple[BlockedRows, ...], F: FloatArray, scale: float) -> None:
        self.parts = parts
        metric = (F.astype(parts[0].dtype), scale)
        self._metrics = [shared(part.engine, metric) for part in parts]

    def means(self, assigned: Any, n_classes: int) -> Array:
        """Return the sums of the assigned rows of each class, scaled to length 1."""
        sums = _sum_over_blocks(self.parts, _unit_sums, assigned, n_classes, self._metrics)
        return np.asarray(sums, dtype=self.parts[0].dtype)

    def assign(self, centres: Array) -> list[list[Any]]:
        """Return handles of the centre of largest cosine for each row of each block."""
        found = []
        for part, metric in zip(self.parts, self._metrics, strict=True):
            there = shared(part.engine, centres)
            found.append([part.engine.submit(_assign, b, metric, there) for b in part.blocks])
        return found


def _sum_over_blocks(
    parts: tuple[BlockedRows, ...],
    task: Callable[..., Array],
    assigned: list[list[Any]] | None,
    n_classes: int,
    metrics: list[Any] | None = None,
) -> FloatArray:
    """Return the sum of a task on every block and its assignment, which is its groups by default.

    Parts are added in order, and their blocks in a fixed tree.
    """
    totals = []
    for p, part in enumerate(parts):
        extra = [] if metrics is None else [metrics[p]]
        handles = [
            part.engine.submit(
                task, n_classes, b, None if assigned is None else assigned[p][k], *extra
            )
            for k, b in enumerate(part.blocks)
        ]
        totals.append(tree_sum(part.engine, handles))
    return functools.reduce(operator.add, totals)


def _total(
    parts: tuple[BlockedRows, ...], task: Callable[[Array, IndexArray], Array]
) -> FloatArray:
    return functools.reduce(operator.add, [part.total(task) for part in parts])


def _centred(part: BlockedRows, mean: FloatArray) -> BlockedRows:
    shift = mean.astype(part.dtype)
    blocks = tuple(part.engine.submit(_less, block, shift) for block in part.blocks)
    return BlockedRows(part.engine, blocks, part.counts, part.n_features, part.dtype)


def _means(sums: FloatArray) -> tuple[FloatArray, IndexArray]:
    """Split sums of rows from the numbers of rows in the last column."""
    counts = sums[:, -1].astype(np.int64)
    return sums[:, :-1] / np.maximum(counts, 1)[:, None], counts


def _less(block: _Block, shift: Array) -> _Block:
    return block[0] - shift, block[1]


def _sum(rows: Array, groups: IndexArray) -> FloatArray:
    return np.asarray(rows.sum(axis=0, dtype=np.float64))


def _scatter(n_jobs: int | None, rows: Array, groups: IndexArray) -> FloatArray:
    return product_over_rows(rows, rows, n_jobs)


def _labelled_sums(n_classes: int, rows: Array, groups: IndexArray) -> FloatArray:
    return np.column_stack(class_sums(rows.astype(np.float64), groups, n_classes))


def _labelled_scatter(block: _Block, means: FloatArray) -> FloatArray:
    rows, groups = block
    labelled = groups >= 0
    return scatter_about(rows[labelled].astype(np.float64), groups[labelled], means)


def _class_sums(n_classes: int, block: _Block, assigned: IndexArray | None) -> FloatArray:
    rows, groups = block
    return np.column_stack(class_sums(rows, groups if assigned is None else assigned, n_classes))


def _unit_sums(
    n_classes: int,
    block: _Block,
    assigned: IndexArray | None,
    metric: tuple[FloatArray, float],
) -> FloatArray:
    rows, groups = block
    sums = _space(rows, metric).means(groups if assigned is None else assigned, n_classes)
    return sums.astype(np.float64)


def _assign(block: _Block, metric: tuple[FloatArray, float], centres: Array) -> IndexArray:
    rows, groups = block
    found = _space(rows, metric).assign(centres)
    return np.where(groups >= 0, groups, found).astype(np.int32)


def _space(rows: Array, metric: tuple[FloatArray, float]) -> SpaceInMemory:
    return SpaceInMemory(rows, *metric, np.empty(0, dtype=np.int64))
