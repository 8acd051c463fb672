"""Reading of data sets by name, of files and of stdin, and of models."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from likewise._files import load as load_model
from likewise._runtime.arrays import Array, BoolArray, FloatingArray, IndexArray
from likewise._runtime.progress import overall_progress
from likewise._runtime.text import quote
from likewise.datasets import Dataset, RawTable, load, names, read_columns, read_pairs
from likewise.datasets._columns import numeric_column
from likewise.datasets._text_tables import separator_hint
from likewise.tables import TableModel


class Data(NamedTuple):
    """A table and its name.

    Also the data set that it is, if any, what was warned of in reading it, and the columns that are
    no features, with the option that says so.
    """

    name: str
    table: RawTable
    dataset: Dataset | None
    remarks: tuple[str, ...] = ()
    taken: Mapping[str, str] = MappingProxyType({})


def read_data(
    data: str,
    label: str | None = None,
    *,
    groups: str | None = None,
    ids: str | None = None,
    drop: Sequence[str] = (),
    labelled: bool | None = True,
    empty_labels: bool = False,
    keep_na: bool = False,
    format: str | None = None,
) -> Data:
    """Return the data set called `data`, or the table in the file `data`; ``-`` is stdin.

    A table that is not `labelled` has a label only if `label` names its column.
    """
    columns: dict[str, Any] = {"label": label, "groups": groups, "ids": ids}
    columns |= {"drop": drop, "labelled": labelled, "format": format}
    columns |= {"empty_labels": empty_labels, "keep_na": keep_na}
    if data == "-":
        if sys.stdin is None:
            raise ValueError("- is stdin, but it is closed: give it data, or name a file.")
        with overall_progress("reading stdin"):
            return _read_file("stdin", sys.stdin.buffer, columns)
    if is_dataset_name(data):
        options = {"--label": label, "--groups": groups, "--id": ids, "--drop": drop or None}
        for option, given in (options | {"--format": format}).items():
            if given is not None:
                raise ValueError(
                    f"{option} is for files, but {quote(data)} is the name of a data set."
                )
        with overall_progress(f"loading {data}") as work:
            dataset = load(data, progress=lambda done, total: work.move(done, total, "bytes"))
        return Data(data, table_of(dataset), dataset)
    path = Path(data)
    with overall_progress(f"reading {path.name}"):
        return _read_file(path.name, path, columns)


def is_dataset_name(data: str) -> bool:
    """Return whether this names a data set, and not a file."""
    path = Path(data)
    return path.name == data and path.suffix == "" and (data in names() or not os.path.exists(data))


def _read_file(name: str, file: Path | BinaryIO, columns: dict[str, Any]) -> Data:
    """Return the table in a file, with the warnings as remarks, too: a report shows them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = read_columns(file, **columns)
    for entry in caught:
        warnings.warn(entry.message, stacklevel=2)
    remarks = tuple(str(entry.message) for entry in caught)
    taken = dict.fromkeys(columns["drop"], "--drop")
    options = {"label": "--label", "groups": "--groups", "ids": "--id"}
    taken |= {columns[key]: option for key, option in options.items() if columns[key] is not None}
    return Data(name, table, None, remarks, taken)


def table_of(dataset: Dataset) -> RawTable:
    """Return the training rows of a data set as columns."""
    titles = dataset.feature_names or tuple(map(str, range(dataset.X.shape[1])))
    if len(set(titles)) < len(titles):
        titles = tuple(map(str, range(dataset.X.shape[1])))
    columns = {title: dataset.X[:, i] for i, title in enumerate(titles)}
    return RawTable(columns, dataset.y, where=quote(dataset.name))


def judged_pairs(data: Data, pairs: Path | None) -> tuple[IndexArray, BoolArray] | None:
    """Return the pairs in a file, or those of a data set of pairs; None if there are labels."""
    if pairs is not None:
        return read_pairs(pairs, len(data.table), data.table.ids)
    if data.dataset is not None and data.dataset.y is None:
        extra = data.dataset.extra
        return np.asarray(extra["pairs"]).astype(np.int64), np.asarray(extra["same"], dtype=bool)
    return None


def read_model(path: Path, data: Data) -> tuple[Any, Any]:
    """Return the model in a file, and the rows as it takes them.

    A model that was saved without the encoding of tables takes numbers: the columns of the names
    that it was fitted with, or all of them.
    """
    model = load_model(path)
    columns = data.table.columns
    wanted = [str(name) for name in getattr(model, "feature_names_in_", columns)]
    missing = [name for name in wanted if name not in columns]
    if taken := [name for name in missing if name in data.taken]:
        option = data.taken[taken[0]]
        raise ValueError(
            f"{option} takes the column {quote(taken[0])} of {data.table.where}, but the model was "
            f"fitted with it as a feature: leave {option} out, or name another column."
        )
    if missing:
        raise ValueError(
            f"{data.table.where} has no column {quote(missing[0])}, which the model was fitted "
            f"with{separator_hint(list(columns))}."
        )
    if isinstance(model, TableModel):
        return model, data.table
    return model, vectors_of(data.table, wanted)


def vectors_of(table: RawTable, names: Iterable[str] | None = None) -> FloatingArray:
    """Return columns of a table, by default all of them, as a matrix of numbers."""
    wanted = table.columns if names is None else names
    numbers = [numeric_column(name, table.columns[name], table.where) for name in wanted]
    return np.column_stack(numbers)


def ids_of(table: RawTable) -> Array:
    """Return the ids of rows, or else their numbers."""
    return np.arange(len(table)) if table.ids is None else table.ids
