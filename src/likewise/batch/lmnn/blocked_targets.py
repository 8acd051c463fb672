"""Target neighbours among rows in blocks: those of the own block bound a search of the others."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from likewise import _loops, neighbors
from likewise._loops.distances.frames import SearchFrame
from likewise._loops.distances.types import Packed, PairsFound
from likewise._numerics.products import map_rows
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise.batch.lmnn.pairs_of_blocks import search_pairs_of_blocks
from likewise.neighbors._blocks import nearest_of_class_in_block, nearest_of_pairs
from likewise.objectives.blocked import BlockedPairs, MappedRows
from likewise.objectives.blocked.pairs import LocalPairs

_MAX_CANDIDATES = 32  # per row and pair of blocks, beyond which the nearest are searched at once

_Block = tuple[Array, IndexArray]


def select_targets(Z: MappedRows, original: list[Any], k: int) -> BlockedPairs:
    """Return the k nearest rows of the same class of every row, exactly.

    A row of another block can be a target only if it is as near as the k-th of the own block: a
    radius search finds these.

    Parameters
    ----------
    Z : MappedRows
    original : list of handles
        The numbers of the rows of each block in the user's data, ascending: of rows at equal
        distances those of least number are targets, as in memory.
    k : int
        In smaller classes all other rows are targets.
    """
    engine, blocks, starts = Z.engine, Z.rows.blocks, Z.rows.starts.tolist()
    chosen = engine.submit_each(partial(_chosen, k), _candidates(Z, original, k))
    halos = []
    for b in range(len(blocks)):
        others = [c for c in range(len(blocks)) if c != b]
        columns = ([column[c] for c in others] for column in (blocks, starts))
        halos.append(engine.submit_each(_halo, [chosen[b]] * len(others), *columns))
    handles = engine.submit_each(
        _with_targets, blocks, starts, chosen, halos, places=range(len(blocks))
    )
    return BlockedPairs(tuple(handles), True)


def _candidates(Z: MappedRows, original: list[Any], k: int) -> list[list[Any]]:
    """Return handles of the candidates for each block in every block."""
    engine, blocks, starts = Z.engine, Z.rows.blocks, Z.rows.starts.tolist()
    options = _SearchOptions(Z.map, Z.search_frame(), k, engine.n_jobs)
    inside = engine.submit_each(partial(_inside, options), blocks, starts, original)
    packed, own = (engine.submit_each(itemgetter(j), inside) for j in (0, 1))
    del inside  # which files hold twice otherwise
    found = search_pairs_of_blocks(engine, partial(_between, options), packed, starts, original)
    for b, candidates in enumerate(own):
        found[b][b] = candidates
    return found


class _SearchOptions(NamedTuple):
    """The map of the rows, and the frame, the number of neighbours and threads of the search."""

    L: Array
    frame: SearchFrame
    k: int
    n_jobs: int | None


class _Candidates(NamedTuple):
    """Candidates for targets: their numbers among the rows in blocks, and in the user's data."""

    rows: IndexArray
    numbers: IndexArray
    original: IndexArray
    sqdist: FloatArray


def _inside(
    options: _SearchOptions, block: _Block, start: int, original: IndexArray
) -> tuple[Packed, _Candidates]:
    """Return a block for scans as far as the k-th of its own rows, and these."""
    L, frame, k, n_jobs = options
    X, codes = block
    Z = map_rows(X, L, n_jobs)
    rows, cols, sqdist = nearest_of_class_in_block(
        Z, codes, Z, codes, k, same_block=True, n_jobs=n_jobs
    )
    radius2 = np.zeros(len(Z))
    np.maximum.at(radius2, rows, sqdist)
    radius2 = np.nextafter(radius2, np.inf)  # rows at the same distance are found as well
    radius2[np.bincount(rows, minlength=len(Z)) < k] = np.inf
    packed = _loops.pack_rows(Z, codes, radius2, frame, n_jobs=n_jobs)
    return packed, _Candidates(rows, start + cols, original[cols], sqdist)


def _between(
    options: _SearchOptions,
    first: Packed,
    start: int,
    original: IndexArray,
    second: Packed,
    other_start: int,
    other_original: IndexArray,
) -> tuple[_Candidates, _Candidates]:
    """Return candidates for the rows of each of two blocks in the other."""
    k, n_jobs = options.k, options.n_jobs
    sides = (first, second), (second, first)
    try:
        found: Iterable[PairsFound] = _loops.scan_packed(
            first,
            second,
            same_class=True,
            max_pairs=_MAX_CANDIDATES * (len(first.Z) + len(second.Z)),
            n_jobs=n_jobs,
        )
    # Of equal rows, or where classes have few rows in a block, or for lack of memory.
    except (neighbors.TooManyPairs, MemoryError):
        found = (
            nearest_of_class_in_block(
                one.Z, one.labels, two.Z, two.labels, k, same_block=False, n_jobs=n_jobs
            )
            for one, two in sides
        )
    others = (other_start, other_original), (start, original)
    forward, backward = (
        _Candidates(rows, begin + cols, of_block[cols], sqdist)
        for (rows, cols, sqdist), (begin, of_block) in zip(found, others, strict=True)
    )
    return forward, backward


def _chosen(k: int, found: list[_Candidates]) -> tuple[IndexArray, IndexArray]:
    """Return the targets of a block: its rows, ascending, and numbers among the rows in blocks."""
    rows, numbers, original, sqdist = (np.concatenate(side) for side in zip(*found, strict=True))
    nearest = nearest_of_pairs(rows, original, sqdist, k)
    return rows[nearest], numbers[nearest]


def _halo(
    chosen: tuple[IndexArray, IndexArray], other: _Block, start: int
) -> tuple[Array, IndexArray]:
    """Return the rows of a block that the targets of another refer to, and their numbers."""
    rows = chosen[1] - start
    used = np.zeros(len(other[0]), dtype=bool)
    used[rows[(rows >= 0) & (rows < len(used))]] = True
    return other[0][used], start + np.flatnonzero(used)


def _with_targets(
    block: _Block,
    start: int,
    chosen: tuple[IndexArray, IndexArray],
    halo: list[tuple[Array, IndexArray]],
) -> LocalPairs:
    return LocalPairs.of_targets(block[0], start, *chosen, halo)
