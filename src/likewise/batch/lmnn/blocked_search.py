"""Exact search for impostors among rows in blocks: one scan for every pair of blocks."""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from likewise import _loops, neighbors
from likewise._loops.distances.frames import SearchFrame
from likewise._loops.distances.types import PairsFound
from likewise._numerics.products import map_rows
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.blocks.rows import BlockedRows
from likewise.batch.lmnn.impostors import ImpostorLimit
from likewise.batch.lmnn.pairs_of_blocks import search_pairs_of_blocks
from likewise.objectives.blocked import BlockedPairs, BlockedSqdist, MappedRows
from likewise.objectives.blocked.pairs import ImpostorsInBlock, LocalPairs

_Block = tuple[Array, IndexArray]
_Limits = tuple[int | None, int | None]  # of pairs, and of threads


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
        self.margin = margin
        # Those of the last search, which include the targets, are where the next ones will be.
        self._pairs = targets.handles

    def __call__(
        self, Z: MappedRows, target_sqdist: BlockedSqdist, slack: float
    ) -> tuple[BlockedPairs, BlockedSqdist]:
        """Search the rows of other classes within the radius of the farthest target."""
        engine, places = Z.engine, range(len(Z.rows.blocks))
        radius = _Radius(target_sqdist.factor, self.margin, slack)
        with self.said_for_pairs():
            found = self._found(Z, target_sqdist, radius)
            joined = engine.submit_each(_with_impostors, self._pairs, found, places=places)
            pairs, sqdist, counts = (
                engine.submit_each(itemgetter(k), joined, places=places) for k in range(3)
            )
            del found, joined  # their parts are held by themselves
            counts = engine.gather(counts)
        n_found = sum(counts)
        if self.max_pairs is not None and (min(counts) < 0 or n_found > self.max_pairs):
            raise neighbors.TooManyPairs(self.max_pairs)
        self.accept(n_found)
        self._pairs = tuple(pairs)
        return BlockedPairs(self._pairs, False), BlockedSqdist(tuple(sqdist))

    def _found(
        self, Z: MappedRows, target_sqdist: BlockedSqdist, radius: _Radius
    ) -> list[list[Any]]:
        """Return handles of the impostors of every block in every block."""
        engine, blocks = Z.engine, Z.rows.blocks
        options = _SearchOptions(Z.map, Z.search_frame(), engine.n_jobs)
        # Every block is prepared once, for all scans that it takes part in.
        packed = engine.submit_each(
            partial(_pack, radius, options),
            blocks,
            self._pairs,
            target_sqdist.handles,
            places=range(len(blocks)),
        )
        limits = (self.max_pairs, engine.n_jobs)
        found = search_pairs_of_blocks(
            engine, partial(_between, limits), packed, blocks, Z.rows.starts.tolist()
        )
        within = engine.submit_each(partial(_within, limits), packed, places=range(len(blocks)))
        for b, of_block in enumerate(within):
            found[b][b] = of_block
        return found


class _Radius(NamedTuple):
    """Squared search radii are ``(margin + factor · farthest target) (1 + slack)``."""

    factor: float
    margin: float
    slack: float


class _SearchOptions(NamedTuple):
    """The map of the rows, and the frame and threads of the search."""

    L: Array
    frame: SearchFrame
    n_jobs: int | None


def _pack(
    radius: _Radius, options: _SearchOptions, block: _Block, local: LocalPairs, sqdist: FloatArray
) -> Any:
    """Return a block for scans, with the squared search radius of each row, 0 without targets."""
    indptr = local.targets.indptr
    with_targets = np.diff(indptr) > 0
    radius2 = np.zeros(local.n_anchors)
    if with_targets.any():
        farthest = np.maximum.reduceat(radius.factor * sqdist, indptr[:-1][with_targets])
        radius2[with_targets] = (radius.margin + farthest) * (1 + radius.slack)
    (rows, codes), n_jobs = block, options.n_jobs
    Z = map_rows(rows, options.L, n_jobs)
    return _loops.pack_rows(Z, codes, radius2, options.frame, n_jobs=n_jobs)


def _within(limits: _Limits, packed: Any) -> ImpostorsInBlock | None:
    """Return the impostors of a block in itself, or None if there are too many."""
    found = _scanned(limits, packed, packed)
    return None if found is None else ImpostorsInBlock(*found[0], None, None)


def _between(
    limits: _Limits,
    first: Any,
    block: _Block,
    start: int,
    second: Any,
    other: _Block,
    other_start: int,
) -> tuple[ImpostorsInBlock | None, ImpostorsInBlock | None]:
    """Return the impostors of each of two blocks in the other, or None if there are too many."""
    found = _scanned(limits, first, second)
    if found is None:
        return None, None
    forward, backward = found
    return _with_halo(forward, other[0], other_start), _with_halo(backward, block[0], start)


def _scanned(limits: _Limits, first: Any, second: Any) -> tuple[PairsFound, PairsFound] | None:
    """Return the pairs, or None if there are too many, which is no failure of the task."""
    max_pairs, n_jobs = limits
    try:
        return _loops.scan_packed(first, second, max_pairs=max_pairs, n_jobs=n_jobs)
    except neighbors.TooManyPairs:
        return None


def _with_halo(pairs: PairsFound, X: Array, start: int) -> ImpostorsInBlock:
    used = np.zeros(len(X), dtype=bool)
    used[pairs.cols] = True
    numbers = np.flatnonzero(used)
    place = np.cumsum(used) - 1
    return ImpostorsInBlock(
        pairs.rows, place[pairs.cols], pairs.sqdist, X[numbers], start + numbers
    )


def _with_impostors(
    local: LocalPairs, found: list[ImpostorsInBlock | None]
) -> tuple[LocalPairs, FloatArray, int]:
    """Return the pairs of a block, the squared distances of its impostors, and their number.

    The number is -1 if there are too many.
    """
    parts = [part for part in found if part is not None]
    if len(parts) < len(found):
        return local, np.empty(0), -1
    pairs, sqdist = local.with_impostors(parts)
    return pairs, sqdist, len(sqdist)
