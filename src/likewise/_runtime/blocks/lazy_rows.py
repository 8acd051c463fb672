"""Functions of the rows of Dask collections, as Dask arrays that are computed later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Any

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.blocks import is_dask
from likewise._runtime.blocks.engines import engine_of
from likewise._runtime.sklearn_checks import check_is_fitted, output_container, validate_data


def check_dask_features(estimator: Any, X: Any, name: str, *, reset: bool = False) -> None:
    """Check the number and names of the features of a Dask collection, or learn them."""
    if not reset:
        check_is_fitted(estimator)
    if X.ndim != 2:
        plural = "" if X.ndim == 1 else "s"
        raise ValueError(f"{name} has {X.ndim} dimension{plural}, but a table of rows is needed.")
    if np.isnan(X.shape[1]) if isinstance(X.shape[1], float) else False:
        raise ValueError(
            f"{name} has an unknown number of columns, but it must be known: "
            "compute_chunk_sizes() finds it."
        )
    row: Any = np.zeros((1, X.shape[1]))
    if hasattr(X, "columns"):
        import pandas as pd

        row = pd.DataFrame(row, columns=list(X.columns))
    validate_data(estimator, row, reset=reset)


def float_type(X: Any) -> Any:
    """Return the precision of results for X: float32 if X is, else float64."""
    kinds = set(X.dtypes) if hasattr(X, "columns") else {X.dtype}
    return np.dtype(np.float32 if kinds == {np.dtype(np.float32)} else np.float64)


def transform_lazily(transformer: Any, function: Callable[[Any], Any], X: Any) -> Any:
    """Return ``function(rows)`` of a Dask collection: what `transform` of a transformer returns.

    A container that `set_output` asks for raises an error: scikit-learn would gather all rows.
    """
    check_dask_features(transformer, X, "X")
    container = output_container(transformer)
    if container != "default":
        raise ValueError(
            "transform of a Dask collection returns a Dask array, but its output is set to "
            f"{container!r}, which would gather all rows: use set_output(transform='default')."
        )
    return map_lazily(function, X, width=transformer._n_features_out, dtype=float_type(X))


def map_lazily(
    function: Callable[..., Any], X: Any, *others: Any, width: int | None, dtype: Any
) -> Any:
    """Return ``function(rows, ...)`` of all blocks as a Dask array of `width` columns, or 1-D.

    Parameters
    ----------
    function : callable
        Maps blocks of X, and the same blocks of the others, to an array of as many rows.
    X, *others : Dask array or dataframe, or array-like
        At least one is a Dask collection. Those with named columns reach `function` as dataframes.
    width : int or None
        Columns of the result; None for one number per row.
    dtype : dtype
        Of the result.
    """
    import dask.array as da

    shape = (0,) if width is None else (0, width)
    meta = np.empty(shape, dtype=dtype)
    if hasattr(X, "columns") and is_dask(X) and not others:
        task = _OnRows(function, shape, (dtype,))
        return X.map_partitions(task, meta=meta, enforce_metadata=False)
    given = (X, *others)
    task = _OnRows(function, shape, (dtype,), [_feature_names(table) for table in given])
    leader = next(k for k, table in enumerate(given) if is_dask(table))
    first = _whole_rows(given[leader])
    tables = [
        first if k == leader else _same_chunks(table, first, ("AB"[k], "AB"[leader]))
        for k, table in enumerate(given)
    ]
    chunks = (first.chunks[0],) if width is None else (first.chunks[0], (width,))
    dropped = {"drop_axis": 1} if width is None else {}
    return da.map_blocks(task, *tables, dtype=dtype, meta=meta, chunks=chunks, **dropped)


def compare_lazily(
    estimator: Any,
    function: Callable[[Any, Any], Any],
    A: Any,
    B: Any,
    dtype: Any = None,
    width: int | None = None,
) -> Any:
    """Return ``function(A, B)`` of all rows; a Dask array if A or B is a Dask collection.

    Parameters
    ----------
    estimator : fitted estimator
        Whose features those of the Dask collections must be.
    function : callable
        Of blocks of A and the same rows of B.
    A, B : Dask array or dataframe, or array-like
    dtype : dtype, optional
        Of the result; by default the precision of the Dask collections.
    width : int or None
        Columns of the result; None for one number per row.
    """
    if not (is_dask(A) or is_dask(B)):
        return function(A, B)
    given = [(side, name) for side, name in ((A, "A"), (B, "B")) if is_dask(side)]
    for side, name in given:
        check_dask_features(estimator, side, name)
    if dtype is None:
        dtype = max(float_type(side) for side, _ in given)
    return map_lazily(function, A, B, width=width, dtype=dtype)


def map_to_two(
    function: Callable[..., tuple[Array, Array]], X: Any, *, width: int, dtypes: tuple[Any, Any]
) -> tuple[Any, Any]:
    """Return the two arrays that `function` returns for all blocks, computed together."""
    import dask.array as da

    first = _whole_rows(X)
    chunks = (first.chunks[0], (width,))
    nothing = np.empty((0, width), dtype=object)
    task = _OnRows(function, (0, width), dtypes, [_feature_names(X)])
    both = da.map_blocks(task, first, dtype=object, meta=nothing, chunks=chunks)
    one, two = (
        both.map_blocks(itemgetter(k), dtype=dtype, meta=np.empty((0, width), dtype=dtype))
        for k, dtype in enumerate(dtypes)
    )
    return one, two


def as_row_blocks(X: Any) -> list[tuple[Any, float]]:
    """Return the blocks of rows of a Dask collection, delayed, and their sizes, NaN if unknown."""
    table = _whole_rows(X)
    delayed = table.to_delayed(optimize_graph=False).ravel()
    return list(zip(delayed, table.chunks[0], strict=True))


def gather_columns(*columns: Any, sources: Sequence[Any]) -> list[Any]:
    """Return columns of one value per row; those of Dask collections are computed, together.

    The client that holds parts of their `sources`, collections or handles, computes them: Dask does
    not find futures within the tasks of a collection.
    """
    given = [column for column in columns if is_dask(column)]
    if not given:
        return list(columns)
    engine, lazy = engine_of(*given, *sources), [as_dask_array(column) for column in given]
    blocks = [column.to_delayed(optimize_graph=False).ravel().tolist() for column in lazy]
    chunks = np.concatenate([np.arange(len(parts)) for parts in blocks])
    values = iter(engine.gather(engine.compute(list(chain(*blocks)), chunks)))
    gathered = iter([np.concatenate(list(islice(values, len(parts)))) for parts in blocks])
    return [next(gathered) if is_dask(column) else column for column in columns]


class _OnRows:
    """A function of blocks that may be empty, for which scikit-learn's checks would raise.

    Parameters
    ----------
    function : callable
    shape : tuple of int
        Of its results for no rows.
    dtypes : tuple of dtype
        Of its results.
    names : list, optional
        For each argument the names of the features, or None if it has none: a block that is an
        array becomes a dataframe, as which a model knows it.
    """

    __name__ = "likewise"  # in Dask's graphs

    def __init__(
        self,
        function: Callable[..., Any],
        shape: tuple[int, ...],
        dtypes: tuple[Any, ...],
        names: list[list[Any] | None] | None = None,
    ) -> None:
        self.function, self.shape, self.dtypes, self.names = function, shape, dtypes, names

    def __call__(self, *blocks: Any) -> Any:
        if not any(len(block) for block in blocks):
            empty = tuple(np.empty(self.shape, dtype=dtype) for dtype in self.dtypes)
            return empty[0] if len(empty) == 1 else empty
        if self.names is not None:
            blocks = tuple(map(_with_names, blocks, self.names))
        return self.function(*blocks)


def _feature_names(X: Any) -> list[Any] | None:
    return list(X.columns) if hasattr(X, "columns") else None


def _with_names(rows: Any, names: list[Any] | None) -> Any:
    if names is None:
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=names)


def as_dask_array(X: Any) -> Any:
    """Return a Dask collection as a Dask array; a dataframe is in chunks of unknown size.

    Dask's own ``to_dask_array`` warns of columns of strings and categories.
    """
    import dask.array as da

    if isinstance(X, da.Array):
        return X
    return X.map_partitions(np.asarray, meta=np.asarray(X._meta), enforce_metadata=False)


def _whole_rows(X: Any) -> Any:
    """Return a Dask array whose blocks have all columns."""
    return as_dask_array(X).rechunk({1: -1})


def _same_chunks(X: Any, first: Any, names: tuple[str, str]) -> Any:
    """Return X in the chunks of `first`; `names` are those of X and `first`."""
    import dask.array as da

    table = _whole_rows(X) if is_dask(X) else da.from_array(np.asarray(X), chunks=-1)
    unknown = [bool(np.isnan(given.shape[0])) for given in (first, table)]
    if any(unknown):
        if not all(unknown) or table.numblocks[0] != first.numblocks[0]:
            raise ValueError(
                "A or B has unknown chunk sizes, so that their rows cannot be matched: "
                "compute_chunk_sizes() finds them."
            )
        return table
    if table.shape[0] != first.shape[0]:
        raise ValueError(
            f"{names[1]} has {first.shape[0]} rows and {names[0]} has {table.shape[0]}, but both "
            "sides of the pairs must have the same number of rows."
        )
    return table.rechunk({0: first.chunks[0]})
