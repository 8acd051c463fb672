"""Exact searches between two blocks of rows, which together are a search among all rows."""

from __future__ import annotations

import numpy as np

from likewise import _loops
from likewise._loops.distances.types import PairsFound
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise.neighbors._nearest import nearest
from likewise.neighbors._own_class import nearest_in_large_classes, rows_of_large_classes

_SMALL_PRODUCT = 1 << 12  # pairs of rows of a class, up to which all are compared


def nearest_of_class_in_block(
    Z: Array,
    codes: IndexArray,
    other: Array,
    other_codes: IndexArray,
    k: int,
    *,
    same_block: bool,
    n_jobs: int | None = None,
) -> PairsFound:
    """Return the k nearest rows of the same class that another block has for each row.

    Parameters
    ----------
    Z, other : arrays of shape (n, d) and (m, d)
    codes, other_codes : int arrays of shape (n,) and (m,)
    k : int
        Fewer are returned if the other block has fewer.
    same_block : bool
        Whether the other block is the same; no row is then its own neighbour.
    n_jobs : int or None

    Returns
    -------
    PairsFound
        In no particular order.

    Examples
    --------
    >>> Z, codes = np.array([[0.0], [1.0], [3.0]]), np.array([0, 0, 0])
    >>> found = nearest_of_class_in_block(Z, codes, Z, codes, 1, same_block=True)
    >>> found.rows, found.cols
    (array([0, 1, 2]), array([1, 0, 1]))
    """
    by_code, by_other = _members(codes), _members(other_codes)
    parts: list[PairsFound] = []
    if same_block and len(rows := rows_of_large_classes(codes)):
        found = nearest_in_large_classes(Z[rows], codes[rows], k, n_jobs=n_jobs)
        if found is not None:
            sqdist, index = found
            parts.append(PairsFound(np.repeat(rows, k), rows[index].ravel(), sqdist.ravel()))
            for code in np.unique(codes[rows]).tolist():
                del by_code[code]
    small: list[tuple[IndexArray, IndexArray]] = []
    for code in by_code.keys() & by_other.keys():
        rows, cols = by_code[code], by_other[code]
        available = len(cols) - same_block
        if not available:
            continue
        if len(rows) * len(cols) <= _SMALL_PRODUCT:
            small.append((np.repeat(rows, len(cols)), np.tile(cols, len(rows))))
            continue
        points = other[cols]
        queries = points if same_block else Z[rows]
        wanted = min(k, available)
        sqdist, index = nearest(queries, points, wanted, exclude_self=same_block, n_jobs=n_jobs)
        parts.append(PairsFound(np.repeat(rows, wanted), cols[index].ravel(), sqdist.ravel()))
    if small:
        rows, cols = (np.concatenate(side) for side in zip(*small, strict=True))
        if same_block:
            rows, cols = rows[rows != cols], cols[rows != cols]
        sqdist = _loops.pair_sqdist(Z, rows, cols, points=other, n_jobs=n_jobs)
        chosen = nearest_of_pairs(rows, cols, sqdist, k)
        parts.append(PairsFound(rows[chosen], cols[chosen], sqdist[chosen]))
    return PairsFound.joined(parts)


def nearest_of_pairs(rows: IndexArray, cols: IndexArray, sqdist: FloatArray, k: int) -> IndexArray:
    """Return which k pairs of each row have the least distance, then the least column, by row."""
    order = np.lexsort((cols, sqdist, rows))
    ranked = rows[order]
    return np.asarray(order[np.arange(len(order)) - np.searchsorted(ranked, ranked) < k])


def _members(codes: IndexArray) -> dict[int, IndexArray]:
    """Return the row numbers of each class."""
    order = np.argsort(codes, kind="stable")
    classes, starts = np.unique(codes[order], return_index=True)
    return dict(zip(classes.tolist(), np.split(order, starts)[1:], strict=True))
