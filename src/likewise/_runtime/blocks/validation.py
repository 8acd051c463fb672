"""Dask collections and memory maps as validated blocks of rows."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.blocks import is_dask
from likewise._runtime.blocks.engines import Engine, LocalEngine, engine_of
from likewise._runtime.blocks.lazy_rows import as_dask_array, check_dask_features
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.configuration import configured_device
from likewise._runtime.sklearn_checks import check_classification_targets, validate_data
from likewise._runtime.tables import check_table
from likewise._runtime.text import quote

# Blocks depend on the shape alone, so that results do: not on chunks, workers or threads.
_MIN_BLOCK_ROWS = 256
_MAX_BLOCK_ROWS = 1 << 16
_BLOCK_BYTES = 1 << 26
_BLOCKS = 4
# Of a file: one block at a time is in memory.
_MAX_FILE_ROWS = 1 << 14
_FILE_BLOCKS = 8


class _Labelled(NamedTuple):
    """Blocks of rows and labels before they are checked, as handles."""

    engine: Engine
    blocks: list[Any]
    counts: IndexArray
    shape: tuple[int, int]
    dtype: Any

    def map(self, task: Any) -> list[Any]:
        return self.engine.gather([self.engine.submit(task, block) for block in self.blocks])


class _Summary(NamedTuple):
    """What the checks need to know of a block."""

    largest: float
    not_finite: tuple[str, int, int] | None
    labels: Array | None


def block_rows(
    n_rows: int,
    n_features: int,
    itemsize: int,
    max_rows: int = _MAX_BLOCK_ROWS,
    n_blocks: int = _BLOCKS,
) -> int:
    """Return how many rows a block has: as many as there are in `n_blocks`, within limits.

    Fewer rows per block let more workers take part, but each task takes Dask 2 ms.
    """
    most = min(max_rows, _BLOCK_BYTES // max(1, n_features * itemsize))
    return max(1, min(max(_MIN_BLOCK_ROWS, -(-n_rows // n_blocks)), most))


def check_blocked_rows(
    estimator: Any, X: Any, *, min_rows: int = 1, reset: bool = True, name: str = "X"
) -> BlockedRows:
    """Return a Dask array or dataframe as finite rows in blocks, all of group 0.

    `reset` learns the feature count and names; else they must be those that `estimator` knows.
    """
    given = _of_dask(estimator, X, None, reset=reset, name=name)
    if given.shape[0] < min_rows:
        raise ValueError(
            f"{name} has {given.shape[0]} rows (n_samples), but {type(estimator).__name__} needs "
            f"at least {min_rows}."
        )
    _check_values(given, name)
    blocks = [given.engine.submit(partial(_encoded, None), block) for block in given.blocks]
    return BlockedRows(given.engine, tuple(blocks), given.counts, given.shape[1], given.dtype)


def check_blocked_labels(
    estimator: Any, X: Any, y: Any, *, min_classes: int = 2, reset: bool = True
) -> tuple[BlockedRows, Array]:
    """Return finite rows in blocks, whose groups are the classes of y, and the classes.

    X is a Dask array or dataframe, or a memory map. `reset` learns the feature count and names of a
    Dask collection; else they must be those that `estimator` knows.
    """
    if y is None:  # in scikit-learn's words, as for arrays
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            "is None."
        )
    if is_dask(X):
        given = _of_dask(estimator, X, y, reset=reset)
    else:
        given = _of_file(estimator, X, np.asarray(y))
    classes = _check_values(given)
    # Each several times, or it would warn that so many different labels look like regression.
    check_classification_targets(np.repeat(classes, 3))
    if len(classes) < min_classes:
        raise ValueError(
            f"y has one class ({quote(classes[0])}), but {type(estimator).__name__} needs "
            f"at least {min_classes} different classes."
        )
    blocks = [given.engine.submit(partial(_encoded, classes), block) for block in given.blocks]
    rows = BlockedRows(given.engine, tuple(blocks), given.counts, given.shape[1], given.dtype)
    return rows, classes


def _of_file(estimator: Any, X: Any, y: Array) -> _Labelled:
    """Read X block by block, with its labels."""
    check_table(X, "X")
    validate_data(estimator, np.zeros((1, X.shape[1])), reset=True)
    _require_rows(len(X), "X")
    y = _one_per_row(y, len(X))
    dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
    n_rows, n_features = X.shape
    step = block_rows(n_rows, n_features, dtype.itemsize, _MAX_FILE_ROWS, _FILE_BLOCKS)
    starts = np.arange(0, n_rows, step)
    engine = LocalEngine(getattr(estimator, "n_jobs", None))
    blocks = [engine.submit(_read, dtype, X, y, start, step) for start in starts]
    counts = np.minimum(step, n_rows - starts)
    return _Labelled(engine, blocks, counts, (n_rows, n_features), dtype)


def _read(dtype: Any, X: Any, y: Array, start: int, step: int) -> tuple[Array, Array | None]:
    part = slice(start, start + step)
    rows = np.array(X[part])
    _drop_pages(X)
    return _as_numbers(dtype, rows, "X"), y[part]


def _drop_pages(X: Any) -> None:
    """Let the system take back the pages of a memory map that were read."""
    source = X
    while isinstance(source, np.ndarray):
        source = source.base
    # Those of a private map (mode "c") may have changes that are nowhere else.
    if isinstance(source, mmap.mmap) and X.mode in ("r", "r+") and hasattr(source, "madvise"):
        source.madvise(mmap.MADV_DONTNEED)


def _require_rows(n_rows: int, name: str) -> None:
    if not n_rows:
        raise ValueError(f"{name} has 0 sample(s) (n_samples=0), but at least 1 is needed.")


def _one_per_row(y: Any, n_rows: int) -> Any:
    """Return labels as a vector with one of each row."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y has {y.ndim} dimensions, but one label per row is needed.")
    if y.shape[0] != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {y.shape[0]} labels; they must match.")
    return y


def _of_dask(estimator: Any, X: Any, y: Any, *, reset: bool = True, name: str = "X") -> _Labelled:
    """Cut X and y into the same blocks, and begin to compute them."""
    import dask
    import dask.array as da

    if configured_device() not in ("auto", "cpu"):
        raise ValueError(
            f"{name} is a Dask collection, but device={configured_device()!r} is set, and blocks "
            "are worked on by processors only: use device='auto'."
        )
    check_dask_features(estimator, X, name, reset=reset)
    engine = engine_of(
        *(given for given in (X, y) if is_dask(given)), n_jobs=getattr(estimator, "n_jobs", None)
    )
    table = _known_chunks(X, engine)
    n_rows, n_features = map(int, table.shape)
    _require_rows(n_rows, name)
    dtype = np.dtype(np.float32 if table.dtype == np.float32 else np.float64)
    step = block_rows(n_rows, n_features, dtype.itemsize)
    starts = np.arange(0, n_rows, step)
    counts = np.minimum(step, n_rows - starts)
    rows = _cut(table, starts, counts, name)
    labels: list[_Parts] = [_Parts([], []) for _ in rows]
    if y is not None:
        y = _one_per_row(_known_chunks(y, engine) if is_dask(y) else np.asarray(y), n_rows)
        if isinstance(y, np.ndarray):
            y = da.from_array(y, chunks=(tuple(counts.tolist()),), name=False)
        labels = _cut(y, starts, counts, "y")
    loaded = [
        dask.delayed(partial(_load, dtype, name, one.chunks, two.chunks), pure=False)(
            *one.values, *two.values
        )
        for one, two in zip(rows, labels, strict=True)
    ]
    chunks = np.searchsorted(np.cumsum(table.chunks[0]), starts, side="right")
    blocks = engine.compute(loaded, chunks)
    return _Labelled(engine, blocks, counts, (n_rows, n_features), dtype)


class _Chunk(NamedTuple):
    """Where a chunk of a Dask array is, and the shape that the array declares for it."""

    name: str
    place: tuple[int, ...]
    shape: tuple[int, ...]

    def check(self, values: Any) -> Array:
        """Return the chunk, or raise if it has another shape."""
        found = np.asarray(values)
        if found.shape != self.shape:
            raise ValueError(
                f"Chunk {list(self.place)} of {self.name} has the shape {found.shape}, but it "
                f"declares {self.shape}: compute_chunk_sizes() of the Dask array corrects that."
            )
        return found

    def cut(self, rows: slice, values: Any) -> Array:
        """Return some of the rows, as a copy: a view would keep the chunk in memory."""
        return self.check(values)[rows].copy()


class _Parts(NamedTuple):
    """The chunks that make a block of rows, or what of them is in it, as delayed values."""

    values: list[Any]
    chunks: list[_Chunk]


def _cut(table: Any, starts: IndexArray, counts: IndexArray, name: str) -> list[_Parts]:
    """Return the parts of each block of rows, those of the same rows one after the other.

    Dask's own `rechunk` would leave out rows that a chunk has beyond the shape that it declares.
    """
    import dask

    delayed = _delayed_chunks(table)
    ends = np.cumsum(table.chunks[0])
    firsts = ends - table.chunks[0]
    blocks = []
    for start, stop in zip(starts.tolist(), (starts + counts).tolist(), strict=True):
        parts = _Parts([], [])
        touched = np.arange(np.searchsorted(ends, start, "right"), np.searchsorted(firsts, stop))
        for index in product(touched.tolist(), *map(range, table.numblocks[1:])):
            shape = tuple(sizes[k] for sizes, k in zip(table.chunks, index, strict=True))
            value, chunk = delayed[index], _Chunk(name, index, shape)
            first, end = int(firsts[index[0]]), int(ends[index[0]])
            rows = slice(max(start, first) - first, min(stop, end) - first)
            if rows.stop - rows.start < shape[0]:
                value = dask.delayed(partial(chunk.cut, rows), pure=False)(value)
                chunk = chunk._replace(shape=(rows.stop - rows.start, *shape[1:]))
            parts.values.append(value)
            parts.chunks.append(chunk)
        blocks.append(parts)
    return blocks


def _joined(chunks: list[_Chunk], values: Sequence[Any]) -> Array:
    """Return the block of rows that chunks, or parts of them, make."""
    checked = [chunk.check(part) for chunk, part in zip(chunks, values, strict=True)]
    width = sum(chunk.place[0] == chunks[0].place[0] for chunk in chunks)
    if width > 1:
        starts = range(0, len(checked), width)
        checked = [np.concatenate(checked[k : k + width], axis=1) for k in starts]
    return checked[0] if len(checked) == 1 else np.concatenate(checked)


def _known_chunks(X: Any, engine: Engine) -> Any:
    """Return a Dask array with known sizes of chunks; unknown ones are computed."""
    import dask
    import dask.array as da

    table = as_dask_array(X)
    if not np.isnan(table.shape[0]):
        return table
    chunks = _delayed_chunks(table)
    first = chunks.reshape(len(chunks), -1)[:, 0]  # of all columns
    sizes = engine.compute([dask.delayed(len)(chunk) for chunk in first], np.arange(len(first)))
    known = tuple(map(int, engine.gather(sizes)))
    return da.Array(
        table.dask, table.name, (known, *table.chunks[1:]), dtype=table.dtype, meta=table._meta
    )


def _delayed_chunks(table: Any) -> Any:
    """Return the chunks of a Dask array, as delayed values of the same graph.

    Optimised, a graph would have other tasks of the same names than that of another fit.
    """
    return table.to_delayed(optimize_graph=False)


def _load(
    dtype: Any, name: str, row_chunks: list[_Chunk], label_chunks: list[_Chunk], *parts: Any
) -> tuple[Array, Array | None]:
    """Return a block of rows, and of labels if there are any."""
    rows = _as_numbers(dtype, _joined(row_chunks, parts[: len(row_chunks)]), name)
    return rows, _joined(label_chunks, parts[len(row_chunks) :]) if label_chunks else None


def _as_numbers(dtype: Any, table: Array, name: str) -> Array:
    """Return rows in the common precision, whatever that of their chunks is."""
    if table.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: {name} holds complex numbers, but only real ones are "
            "allowed."
        )
    try:
        return np.ascontiguousarray(table, dtype=dtype)
    except (TypeError, ValueError):
        wrong = next(value for value in table.flat if not _is_number(value))
        raise ValueError(f"{name} holds {quote(wrong)}, but only numbers are allowed.") from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _check_values(given: _Labelled, name: str = "X") -> Array:
    """Raise for values that cannot be learned from; return the different labels, sorted."""
    from likewise._runtime.validation import check_largest, encode_labels

    summaries: list[_Summary] = given.map(_summary)
    for start, summary in zip(np.cumsum(given.counts) - given.counts, summaries, strict=True):
        if summary.not_finite is not None:
            what, row, column = summary.not_finite
            raise ValueError(
                f"Input {name} contains {what} in row {start + row}, column {column}; only finite "
                "numbers are allowed."
            )
    check_largest(max(summary.largest for summary in summaries), name)
    labels = [summary.labels for summary in summaries if summary.labels is not None]
    return encode_labels(np.concatenate(labels))[0] if labels else np.empty(0)


def _summary(block: tuple[Array, Array | None]) -> _Summary:
    from likewise._runtime.validation import encode_labels

    rows, y = block
    finite = np.isfinite(rows)
    not_finite = None
    if not finite.all():
        row, column = map(int, np.argwhere(~finite)[0])
        not_finite = ("NaN" if np.isnan(rows[row, column]) else "infinity", row, column)
    labels = None
    if y is not None:
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("y contains NaN or infinity, but every row needs a label.")
        labels = encode_labels(y)[0]
    largest = float(max(rows.max(initial=0.0), -rows.min(initial=0.0)))
    return _Summary(largest, not_finite, labels)


def _encoded(classes: Array | None, block: tuple[Array, Array | None]) -> tuple[Array, IndexArray]:
    rows, y = block
    if classes is None or y is None:
        return rows, np.zeros(len(rows), dtype=np.int64)
    return rows, np.searchsorted(classes, y).astype(np.int64)
