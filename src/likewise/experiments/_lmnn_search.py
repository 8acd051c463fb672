"""Exact searches that abandon a row as soon as it is too far away (section 6 of the paper)."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import Array, FloatArray, IndexArray

_CHUNK = 8  # coordinates that are added to the distances at a time


def nearest_by_abandoning(query: Array, rows: Array, k: int) -> tuple[IndexArray, int]:
    """Return the k nearest rows, nearest first, and how many coordinates were compared.

    The squared differences are summed column by column. The rows that are nearest by the first
    columns give a radius, and a row is abandoned once its sum exceeds it. With columns of
    decreasing variance, such as principal components, most rows are abandoned early.
    """
    sums = _partial(query, rows, slice(0, _CHUNK))
    first = np.argpartition(sums, k)[:k]
    rest = slice(_CHUNK, None)
    radius = float((sums[first] + _partial(query, rows[first], rest)).max())
    radius *= 1 + len(query) * float(np.finfo(rows.dtype).eps)  # sums in another order
    near, sqdist, compared = _abandon(query, rows, sums, radius)
    return near[np.argsort(sqdist, kind="stable")[:k]], compared + k * max(0, len(query) - _CHUNK)


def within_by_abandoning(query: Array, rows: Array, sqradius: float) -> tuple[IndexArray, int]:
    """Return the rows within a radius of the query, and how many coordinates were compared."""
    sums = _partial(query, rows, slice(0, _CHUNK))
    near, _, compared = _abandon(query, rows, sums, sqradius)
    return near, compared


def _partial(query: Array, rows: Array, columns: slice) -> FloatArray:
    """Return the squared distances in some columns."""
    difference = rows[:, columns] - query[columns]
    return np.asarray(np.einsum("ij,ij->i", difference, difference))


def _abandon(
    query: Array, rows: Array, sums: FloatArray, sqradius: float
) -> tuple[IndexArray, FloatArray, int]:
    """Add chunk after chunk to the sums of the rows that are not yet outside of the radius.

    Returns these rows in the end, their squared distances, and the coordinates compared.
    """
    compared = sums.size * min(_CHUNK, len(query))
    near = np.flatnonzero(sums <= sqradius)
    sums = sums[near]
    for start in range(_CHUNK, len(query), _CHUNK):
        columns = slice(start, start + _CHUNK)
        sums = sums + _partial(query, rows[near], columns)
        compared += len(near) * len(query[columns])
        kept = sums <= sqradius
        near, sums = near[kept], sums[kept]
    return near, sums, compared
