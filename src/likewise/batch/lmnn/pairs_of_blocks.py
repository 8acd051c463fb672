"""One task for every pair of blocks of rows, with a result for each of the two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from operator import itemgetter
from typing import Any

from likewise._runtime.blocks.engines import Engine


def search_pairs_of_blocks(
    engine: Engine, task: Callable[..., Any], *columns: Sequence[Any]
) -> list[list[Any]]:
    """Return handles of what every block finds in every other, and None in itself.

    Parameters
    ----------
    engine : Engine
    task : callable
        Takes the values of one block and then those of another, and returns what the first finds
        in the second, and the second in the first.
    *columns : sequences
        Values for each block, or handles of them.

    Returns
    -------
    list of lists
        Entry ``[b][c]`` is what block b finds in block c.
    """
    n_blocks = len(columns[0])
    pairs = list(combinations(range(n_blocks), 2))
    sides = [[column[pair[side]] for pair in pairs] for side in (0, 1) for column in columns]
    # Each pair is searched where one of its blocks is, and every block has as many, or one more.
    places = [b if c - b <= n_blocks // 2 else c for b, c in pairs]
    both = engine.submit_each(task, *sides, places=places)
    found: list[list[Any]] = [[None] * n_blocks for _ in range(n_blocks)]
    for (b, c), forward, backward in zip(
        pairs, *(engine.submit_each(itemgetter(k), both) for k in (0, 1)), strict=True
    ):
        found[b][c], found[c][b] = forward, backward
    return found
