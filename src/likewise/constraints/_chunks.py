"""Chunks: groups of rows known to be similar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.row_numbers import as_integers
from likewise.constraints._tuples import Pairs


def pairs_from_chunks(
    chunks: ArrayLike | Sequence[Sequence[int]], n_rows: int | None = None
) -> Pairs:
    """Turn groups of similar rows into chains of *same* pairs.

    Parameters
    ----------
    chunks : list of lists of row numbers, or int array of shape (n_samples,)
        Either the groups themselves, or the group number of each row with -1 for none. Rows of
        one group are joined one to the next, which is enough to connect the group.
    n_rows : int, optional
        How many rows X has; if given, `chunks` must fit it.

    Examples
    --------
    >>> pairs_from_chunks([[0, 1, 2], [5, 4]]).index.tolist()
    [[0, 1], [1, 2], [5, 4]]
    >>> pairs_from_chunks([0, 0, -1, 0]).index.tolist()
    [[0, 1], [1, 3]]
    """
    groups = _groups(chunks, n_rows)
    links = [np.column_stack([group[:-1], group[1:]]) for group in groups if len(group) > 1]
    if not links:
        raise ValueError("chunks has no group of two or more rows, but at least one is needed.")
    index = np.concatenate(links)
    return Pairs(index, np.ones(len(index), dtype=bool))


def chunks_from_pairs(pairs: Pairs, n_rows: int) -> IndexArray:
    """Return the group number of each row joined by *same* pairs, -1 for rows in none.

    Examples
    --------
    >>> chunks_from_pairs(pairs_from_chunks([[3, 1], [4, 0]]), n_rows=5)
    array([ 0,  1, -1,  1,  0])
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # SciPy 1.11 reads only 32-bit indices here, and numbers components wrongly for others.
    joined = pairs.index[pairs.same].astype(np.int32)
    graph = coo_array((np.ones(len(joined)), (joined[:, 0], joined[:, 1])), (n_rows, n_rows))
    _, component = connected_components(graph, directed=False)
    grouped = np.bincount(component)[component] > 1
    numbers = np.full(n_rows, -1, dtype=np.int64)
    numbers[grouped] = _codes_by_first_row(component[grouped])
    return numbers


def _groups(chunks: Any, n_rows: int | None) -> list[IndexArray]:
    """Return the rows of each group, whichever way they were written."""
    listed = chunks.ndim != 1 if isinstance(chunks, np.ndarray) else any(map(np.ndim, chunks))
    if listed:
        groups = [as_integers(group, "chunks").ravel() for group in chunks]
        _check_groups(groups, n_rows)
        return groups
    numbers = as_integers(chunks, "chunks")
    if n_rows is not None and len(numbers) not in (0, n_rows):
        raise ValueError(
            f"chunks has {len(numbers)} group numbers, but X has {n_rows} rows; they must match."
        )
    if len(numbers) and numbers.min() < -1:
        raise ValueError(
            f"chunks holds group number {numbers.min()}, but only -1 (no group) is allowed below 0."
        )
    grouped = np.flatnonzero(numbers >= 0)
    return split_by(np.unique(numbers[grouped], return_inverse=True)[1], grouped)


def _check_groups(groups: list[IndexArray], n_rows: int | None) -> None:
    rows = np.concatenate(groups)
    place = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    outside = rows[(rows < 0) | (rows >= (np.inf if n_rows is None else n_rows))]
    if len(outside):
        last = "" if n_rows is None else f" to {n_rows - 1}"
        raise ValueError(f"chunks holds row number {outside[0]}, but X has rows 0{last}.")
    order = np.lexsort((rows, place))
    rows, place = rows[order], place[order]
    twice = np.flatnonzero((np.diff(rows) == 0) & (np.diff(place) == 0))
    if len(twice):
        raise ValueError(
            f"chunks[{place[twice[0]]}] names row {rows[twice[0]]} twice, but its rows must be "
            "different."
        )


def _codes_by_first_row(labels: Array) -> IndexArray:
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[codes]


def split_by(codes: IndexArray, rows: IndexArray) -> list[IndexArray]:
    """Return the `rows` of each code in turn."""
    order = np.argsort(codes, kind="stable")
    return np.split(rows[order], np.cumsum(np.bincount(codes))[:-1])
