"""Rows that are given to an adapter, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.arrays import IndexArray
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.validation import TableLike, check_labelled, check_rows, pluralize, warn_user
from likewise.adapter._blocked_source import BlockedSource
from likewise.adapter._given_rows import as_floats, check_squares, is_empty
from likewise.adapter._items import equal_rows, items_of
from likewise.adapter._rows import MAX_OTHERS
from likewise.adapter._sources import ArraySource, RowSource


def check_source(estimator: Any, X: TableLike) -> RowSource:
    """Return rows with judgements of some of them."""
    return _source(check_rows(estimator, as_floats(X), reset=True, blocked=True))


def check_labelled_source(
    estimator: Any, X: TableLike, y: Any
) -> tuple[RowSource, IndexArray, IndexArray]:
    """Return labelled rows, their classes, and a number that equal rows share.

    Rows of a Dask collection are gathered where they are no more than the other rows that would be:
    the result then has the same bits as that of rows in memory.
    """
    rows, codes, _ = check_labelled(estimator, as_floats(X), y, blocked=True)
    source: RowSource
    if isinstance(rows, BlockedRows):
        source = BlockedSource(rows)
        if len(source) <= MAX_OTHERS:
            source.gather(np.arange(len(source)))
        elif estimator.metric is not None:
            raise ValueError(
                f"metric is given, but X is a Dask collection with {len(source)} labelled rows, "
                f"and at most {MAX_OTHERS} are gathered for a metric: leave it out, or give most "
                "of the rows as unlabelled."
            )
        codes, items = rows.group_of_each(), source.equal_rows()
    else:
        source, items = ArraySource(rows), equal_rows(rows)
    n_labels = len(np.unique(items * (int(codes.max()) + 1) + codes))
    contradictory = n_labels - len(np.unique(items))
    if contradictory:
        warn_user(
            f"{pluralize(contradictory, 'row')} of X "
            f"{'is' if contradictory == 1 else 'are'} equal to another row with a different label."
        )
    return source, codes, items


def check_others(estimator: Any, unlabelled: TableLike | None, dtype: Any) -> RowSource | None:
    """Return unlabelled rows, None if there are none; `dtype` is that of the judged rows."""
    if unlabelled is None or is_empty(unlabelled):
        return None
    given = as_floats(unlabelled)
    rows = check_rows(estimator, given, reset=False, name="unlabelled", blocked=True)
    others = _source(rows if isinstance(rows, BlockedRows) else rows.astype(dtype, copy=False))
    check_squares(others.largest(), dtype, "unlabelled")
    return others


def gather_items(X: RowSource, judged: IndexArray) -> IndexArray:
    """Gather the rows of judgements, and return the item of each row of X."""
    X.gather(judged)
    return items_of(X.take(judged), judged, len(X))


def _source(rows: Any) -> RowSource:
    return BlockedSource(rows) if isinstance(rows, BlockedRows) else ArraySource(rows)
