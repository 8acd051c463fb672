"""Rows that are given to an adapter, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.arrays import IndexArray
from likewise._runtime.blocks import is_dask
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.tensors import (
    is_tensor,
    require_given_together,
    require_same_device,
    to_numpy,
)
from likewise._runtime.validation import TableLike, check_labelled, check_rows, pluralize, warn_user
from likewise.adapter._blocked_source import BlockedSource
from likewise.adapter._given_rows import as_floats, check_squares, is_empty
from likewise.adapter._items import equal_rows, items_of
from likewise.adapter._rows import MAX_OTHERS
from likewise.adapter._sources import ArraySource, RowSource, source_in_memory


def check_source(estimator: Any, X: TableLike, unlabelled: TableLike | None) -> RowSource:
    """Return rows with judgements of some of them; `unlabelled` must be where they are."""
    _require_one_device(X, unlabelled)
    rows = _checked(estimator, X, "X", reset=True)
    return BlockedSource(rows) if isinstance(rows, BlockedRows) else source_in_memory(rows, "X")


def check_labelled_source(
    estimator: Any, X: TableLike, y: Any, unlabelled: TableLike | None
) -> tuple[RowSource, IndexArray, IndexArray]:
    """Return labelled rows, their classes, and a number that equal rows share.

    `unlabelled` rows must be where these are, which is known before anything is computed.
    Rows of a Dask collection are gathered where they are no more than the other rows that would be:
    the result then has the same bits as that of rows in memory.
    """
    _require_one_device(X, unlabelled)
    given = as_floats(X)
    rows, codes, _ = check_labelled(estimator, given, y, blocked=True, tensors=is_tensor(given))
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
        source = source_in_memory(rows, "X")
        items = equal_rows(source.rows)
    n_labels = len(np.unique(items * (int(codes.max()) + 1) + codes))
    contradictory = n_labels - len(np.unique(items))
    if contradictory:
        warn_user(
            f"{pluralize(contradictory, 'row')} of X "
            f"{'is' if contradictory == 1 else 'are'} equal to another row with a different label."
        )
    return source, codes, items


def check_others(estimator: Any, unlabelled: TableLike | None, X: RowSource) -> RowSource | None:
    """Return unlabelled rows in the precision of X; None if there are none."""
    if unlabelled is None or is_empty(unlabelled):
        return None
    rows = _checked(estimator, unlabelled, "unlabelled", reset=False)
    others: RowSource = (
        BlockedSource(rows) if isinstance(rows, BlockedRows) else others_in_memory(rows, X)
    )
    check_squares(others.largest(), X.dtype, "unlabelled")
    return others


def others_in_memory(rows: Any, X: RowSource) -> ArraySource:
    """Return the source of unlabelled rows, which must be where those of X are.

    Those of a Dask collection are on processors.
    """
    if not isinstance(X, ArraySource):
        return ArraySource(to_numpy(rows)).astype(X.dtype)
    others = source_in_memory(rows, "unlabelled")
    require_same_device(X.rows, others.rows, ("X", "unlabelled"))
    return others.astype(X.dtype)


def gather_items(X: RowSource, judged: IndexArray) -> IndexArray:
    """Gather the rows of judgements, and return the item of each row of X."""
    X.gather(judged)
    return items_of(X.take(judged), judged, len(X))


def _require_one_device(X: TableLike, unlabelled: TableLike | None) -> None:
    """Raise if rows are on two devices; those beside a Dask collection become arrays."""
    if not (is_dask(X) or unlabelled is None or is_empty(unlabelled)):
        require_given_together(X, unlabelled, ("X", "unlabelled"))


def _checked(estimator: Any, X: TableLike, name: str, *, reset: bool) -> Any:
    """Return checked rows; tensors on their device, and arrays not yet on that which is set."""
    given = as_floats(X)
    return check_rows(
        estimator, given, reset=reset, name=name, blocked=True, tensors=is_tensor(given)
    )
