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
from likewise._runtime.memory import require_memory
from likewise.batch.lmnn.impostors import ImpostorLimit
from likewise.batch.lmnn.pairs_of_blocks import search_pairs_of_blocks
from likewise.objectives.blocked import BlockedPairs, BlockedSqdist, MappedRows
from likewise.objectives.blocked.pairs import ImpostorsInBlock, LocalPairs

_Block = tuple[Array, IndexArray]
_JOINED_BYTES = 56  # of a pair while those of all blocks are joined


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
            join = partial(_with_impostors, self.max_pairs)
            joined = engine.submit_each(join, self._pairs, found, places=places)
            pairs, sqdist, outcomes = (
                engine.submit_each(itemgetter(k), joined, places=places) for k in range(3)
            )
            del found, joined  # their parts are held by themselves
            counts, problems = zip(*engine.gather(outcomes), strict=True)
        n_found = sum(counts)
        if self.max_pairs is not None and (min(counts) < 0 or n_found > self.max_pairs):
            raise neighbors.TooManyPairs(self.max_pairs)
        for problem in filter(None, problems):
            raise MemoryError(problem)
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
        limits = _Limits(self.max_pairs, engine.n_jobs, [] if engine.in_order else None)
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


class _Limits(NamedTuple):
    """What limits a scan: the pairs of a search, threads, and the pairs of the scans before.

    The latter are not known (None) where scans run at the same time.
    """

    max_pairs: int | None
    n_jobs: int | None
    before: list[int] | None


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
    """Return the pairs, or None if there are too many, which is no failure of the task.

    Where tasks run in order, too many pairs of all scans so far end the search at once.
    """
    max_pairs, n_jobs, before = limits
    if before is not None and max_pairs is not None:
        max_pairs = max(0, max_pairs - sum(before))
    try:
        found = _loops.scan_packed(first, second, max_pairs=max_pairs, n_jobs=n_jobs)
    except neighbors.TooManyPairs:
        if before is None or limits.max_pairs is None:
            return None
        raise neighbors.TooManyPairs(limits.max_pairs) from None
    if before is not None:
        before.append(sum(len(side.rows) for side in found))
    return found


def _with_halo(pairs: PairsFound, X: Array, start: int) -> ImpostorsInBlock:
    used = np.zeros(len(X), dtype=bool)
    used[pairs.cols] = True
    numbers = np.flatnonzero(used)
    place = np.cumsum(used) - 1
    return ImpostorsInBlock(
        pairs.rows, place[pairs.cols], pairs.sqdist, X[numbers], start + numbers
    )


def _with_impostors(
    max_pairs: int | None, local: LocalPairs, found: list[ImpostorsInBlock | None]
) -> tuple[LocalPairs, FloatArray, tuple[int, str | None]]:
    """Return the pairs of a block, the squared distances of its impostors, and the outcome.

    The outcome is their number, or -1 if there are too many, and what is wrong if the memory does
    not suffice to join them. The pairs are not joined then.
    """
    parts = [part for part in found if part is not None]
    n_pairs = sum(len(part.rows) for part in parts)
    if len(parts) < len(found) or (max_pairs is not None and n_pairs > max_pairs):
        return local, np.empty(0), (-1, None)
    try:
        require_memory(
            _JOINED_BYTES * n_pairs,
            f"LMNN, for {n_pairs} pairs of a block with rows of other classes within the margin,",
            "allow more by max_memory, or learn from fewer rows or with a smaller n_neighbors",
        )
    except MemoryError as error:
        return local, np.empty(0), (n_pairs, str(error))
    pairs, sqdist = local.with_impostors(parts)
    return pairs, sqdist, (n_pairs, None)
