"""Lists of rows that are relevant and irrelevant to queries, as triplets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise._runtime.arrays import IndexArray
from likewise._runtime.row_numbers import as_integers
from likewise.constraints import Triplets

_PER_QUERY = 50  # triplets, drawn at random where there are more
_DRAWN = 10  # irrelevant rows of a query that has none


def triplets_from_lists(
    queries: Any,
    relevant: Sequence[Any],
    irrelevant: Sequence[Any] | None,
    n_rows: int,
    rng: np.random.Generator,
) -> Triplets:
    """Return (query, relevant, irrelevant) triplets.

    Rows are drawn at random as irrelevant ones where none are given. Queries without a relevant, or
    without an irrelevant row are left out.
    """
    anchors = as_integers(queries, "queries")
    if anchors.ndim != 1 or not len(anchors):
        raise ValueError(
            f"queries has shape {anchors.shape}, but one row number for each query is needed."
        )
    _check_range(anchors, "queries", n_rows)
    lists = {"relevant": relevant}
    if irrelevant is not None:
        lists["irrelevant"] = irrelevant
    for name, given in lists.items():
        if len(given) != len(anchors):
            raise ValueError(
                f"{name} has {len(given)} lists, but there are {len(anchors)} queries; one list "
                "for each is needed."
            )
    index = []
    for number, anchor in enumerate(anchors):
        good = _row_list(relevant[number], f"relevant[{number}]", n_rows)
        if irrelevant is None:
            bad = np.setdiff1d(rng.integers(n_rows, size=_DRAWN), [*good, anchor])
        else:
            bad = _row_list(irrelevant[number], f"irrelevant[{number}]", n_rows)
        both = np.intersect1d(good, bad)
        if len(both):
            raise ValueError(
                f"Row {both[0]} is both relevant and irrelevant to query {number}, but it can be "
                "only one of them."
            )
        for rows in (good, bad):
            if (rows == anchor).any():
                raise ValueError(
                    f"Query {number} is row {anchor}, which is in its own list, but it must not be."
                )
        chosen = rng.permutation(len(good) * len(bad))[:_PER_QUERY]
        for position in chosen:
            i, j = divmod(int(position), len(bad))
            index.append((int(anchor), int(good[i]), int(bad[j])))
    if not index:
        raise ValueError("No query has both a relevant and an irrelevant row, but one must.")
    return Triplets(np.array(index))


def _row_list(given: Any, name: str, n_rows: int) -> IndexArray:
    rows = np.unique(as_integers(given, name).ravel())
    _check_range(rows, name, n_rows)
    return rows


def _check_range(rows: IndexArray, name: str, n_rows: int) -> None:
    outside = (rows < 0) | (rows >= n_rows)
    if outside.any():
        raise ValueError(
            f"{name} holds row number {rows[outside][0]}, but X has rows 0 to {n_rows - 1}."
        )
