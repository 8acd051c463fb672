"""Exact search for impostors among rows in blocks: one scan for every pair of blocks."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np

from likewise import _loops, neighbors
from likewise._loops.distances.frames import SearchFrame
from likewise._loops.distances.types import PairsFound
from likewise._numerics.products import map_rows
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.blocks.rows import BlockedRows
from likewise.batch.lmnn.impostors import ImpostorLimit
from likewise.objectives.blocked import BlockedPairs, BlockedSqdist, MappedRows
from likewise.objectives.blocked.pairs import ImpostorsInBlock, LocalPairs

_Block = tuple[Array, IndexArray]


class BlockedImpostorSearch(ImpostorLimit):
    """Rows of another class within the margin of an anchor, by a search for every pair of blocks.

    Parameters
    ----------
    targets : BlockedPairs
    margin : float
    rows : BlockedRows
    """

    def __init__(self, targets: BlockedPairs, margin: float, rows: BlockedRows) -> None:
        super().__init__(len(rows))
        self.targets, self.margin = targets, margin

    def __call__(
        self, Z: MappedRows, target_sqdist: BlockedSqdist, slack: float
    ) -> tuple[BlockedPairs, BlockedSqdist]:
        """Search the rows of other classes within the radius of the farthest target."""
        rows, engine = Z.rows, Z.engine
        blocks, starts = rows.blocks, rows.starts.tolist()
        radius = (target_sqdist.factor, self.margin, slack)
        options = (Z.map, Z.search_frame(), engine.n_jobs)
        # Every block is prepared once, for all scans that it takes part in.
        packed = [
            engine.submit(_pack, block, local, sqdist, *radius, *options)
            for block, local, sqdist in zip(
                blocks, self.targets.handles, target_sqdist.handles, strict=True
            )
        ]
        found: list[list[Any]] = [[] for _ in blocks]
        for b, block in enumerate(blocks):
            for c in range(b, len(blocks)):
                limits = (self.max_pairs, engine.n_jobs)
                if c == b:
                    found[b].append(engine.submit(_within, packed[b], *limits))
                    continue
                sides = (packed[b], block, starts[b], packed[c], blocks[c], starts[c])
                both = engine.submit(_between, *sides, *limits)
                found[b].append(engine.submit(itemgetter(0), both))
                found[c].append(engine.submit(itemgetter(1), both))
        joined = [
            engine.submit(_with_impostors, local, parts)
            for local, parts in zip(self.targets.handles, found, strict=True)
        ]
        n_found = sum(engine.gather([engine.submit(itemgetter(2), both) for both in joined]))
        if self.max_pairs is not None and n_found > self.max_pairs:
            raise neighbors.TooManyPairs(self.max_pairs)
        self.accept(n_found)
        pairs = BlockedPairs(tuple(engine.submit(itemgetter(0), both) for both in joined), False)
        return pairs, BlockedSqdist(tuple(engine.submit(itemgetter(1), both) for both in joined))


def _pack(
    block: _Block,
    local: LocalPairs,
    sqdist: FloatArray,
    factor: float,
    margin: float,
    slack: float,
    L: Array,
    frame: SearchFrame,
    n_jobs: int | None,
) -> Any:
    """Return a block for scans, with the squared search radius of each row, 0 without targets."""
    indptr = local.targets.indptr
    with_targets = np.diff(indptr) > 0
    radius2 = np.zeros(local.n_anchors)
    if with_targets.any():
        farthest = np.maximum.reduceat(factor * sqdist, indptr[:-1][with_targets])
        radius2[with_targets] = (margin + farthest) * (1 + slack)
    rows, codes = block
    return _loops.pack_rows(map_rows(rows, L, n_jobs), codes, radius2, frame, n_jobs=n_jobs)


def _within(packed: Any, max_pairs: int | None, n_jobs: int | None) -> ImpostorsInBlock:
    found, _ = _loops.scan_packed(packed, packed, max_pairs=max_pairs, n_jobs=n_jobs)
    return ImpostorsInBlock(*found, None, None)


def _between(
    first: Any,
    block: _Block,
    start: int,
    second: Any,
    other: _Block,
    other_start: int,
    max_pairs: int | None,
    n_jobs: int | None,
) -> tuple[ImpostorsInBlock, ImpostorsInBlock]:
    """Return the impostors of each of two blocks in the other, with their rows."""
    forward, backward = _loops.scan_packed(first, second, max_pairs=max_pairs, n_jobs=n_jobs)
    return _with_halo(forward, other[0], other_start), _with_halo(backward, block[0], start)


def _with_halo(pairs: PairsFound, X: Array, start: int) -> ImpostorsInBlock:
    used = np.zeros(len(X), dtype=bool)
    used[pairs.cols] = True
    numbers = np.flatnonzero(used)
    place = np.cumsum(used) - 1
    return ImpostorsInBlock(
        pairs.rows, place[pairs.cols], pairs.sqdist, X[numbers], start + numbers
    )


def _with_impostors(
    local: LocalPairs, found: list[ImpostorsInBlock]
) -> tuple[LocalPairs, FloatArray, int]:
    """Return the pairs of a block, the squared distances of its impostors, and their number."""
    pairs, sqdist = local.with_impostors(found)
    return pairs, sqdist, len(sqdist)
