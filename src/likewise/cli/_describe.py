"""What is known of this installation, of data sets, of tables and of models."""

from __future__ import annotations

import os
import platform
import shlex
from importlib.metadata import version
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from likewise import _files, _loops
from likewise._runtime.arrays import Array
from likewise._runtime.text import MAX_QUOTED, list_some, printable
from likewise._runtime.validation import pluralize
from likewise.datasets import Dataset, RawTable, names
from likewise.pair_classifier._estimator import NEW_CLASSES
from likewise.tables import TableModel

_SHOWN_CLASSES = 20


def describe_installation() -> dict[str, Any]:
    """Return versions, loops, threads and data folders."""
    blas = [library for library in threadpool_info() if library["user_api"] == "blas"]
    packages = {"NumPy": "numpy", "SciPy": "scipy", "scikit-learn": "scikit-learn"}
    return {
        "likewise": version("likewise"),
        "Python": platform.python_version(),
        **{title: version(package) for title, package in packages.items()},
        "loops": _loops.BACKEND,
        "cores": os.cpu_count(),
        "BLAS": ", ".join(
            f"{library['internal_api']} {library['version']} "
            f"({pluralize(library['num_threads'], 'thread')})"
            for library in blas
        ),
        "data folder": _data_folder(),
        "data here": ", ".join(names(local=True)),
        "to download": ", ".join(sorted(set(names()) - set(names(local=True)))),
    }


def promise_text(promise: str, label: str | None = None, of_dataset: bool = False) -> str:
    """Return the promise of a PairClassifier with its advice in words of the command line."""
    if of_dataset:  # which has no column to be named
        return promise.replace(f"; {NEW_CLASSES}", "")
    column = "and the column of the labels" if label is None else shlex.quote(label)
    return promise.replace(NEW_CLASSES, f"fit with --groups {column} for new classes")


def _data_folder() -> str:
    folder = os.environ.get("LIKEWISE_DATA")
    if not folder:
        return "none (set LIKEWISE_DATA)"
    return folder if os.path.isdir(folder) else f"{folder} (there is no such folder)"


def describe_data(dataset: Dataset) -> dict[str, Any]:
    """Return shape, classes with their counts or pairs, and how many values are missing."""
    test = "none" if dataset.X_test is None else f"{len(dataset.X_test)} rows"
    return {
        "name": dataset.name,
        "rows": dataset.X.shape[0],
        "features": dataset.X.shape[1],
        **_describe_judgements(dataset),
        "missing values": int(np.isnan(dataset.X).sum()),
        "test part": test,
        "other arrays": list_some(dataset.extra) or "none",
        "source": dataset.source,
    }


def describe_table(name: str, table: RawTable) -> dict[str, Any]:
    """Return shape, columns of text, classes with their counts, and how many cells are empty."""
    words = [title for title, cells in table.columns.items() if cells.dtype.kind == "O"]
    empty = sum(
        sum(cell is None for cell in cells)
        if cells.dtype.kind == "O"
        else int(np.isnan(cells).sum())
        for cells in table.columns.values()
    )
    return {
        "name": name,
        "rows": len(table),
        "features": len(table.columns),
        "columns of text": list_some(words) or "none",
        **({} if table.y is None else _describe_labels(table.y)),
        "missing values": empty,
        "source": f"Read from {table.where}.",
    }


def describe_model(path: str) -> dict[str, Any]:
    """Return what a model file says of itself, with its columns, their words and its threshold."""
    facts, model = _files.describe(path), _files.load(path)
    if (columns := getattr(model, "feature_names_in_", None)) is not None:
        facts["columns"] = [str(name) for name in columns]
        if words := words_of(model):
            facts["words"] = words
    for name in ("threshold", "promise"):
        if (value := getattr(inner_model(model), f"{name}_", None)) is not None:
            facts[name] = promise_text(value) if name == "promise" else float(value)
    return facts


def words_of(model: Any) -> dict[str, list[str]]:
    """Return the words of the columns of text of a table model."""
    if not isinstance(model, TableModel):
        return {}
    encoder = model.encoder_
    parts = zip(model.feature_names_in_, encoder.categories_, encoder.is_text_, strict=True)
    return {str(name): [str(word) for word in words] for name, words, is_text in parts if is_text}


def inner_model(model: Any) -> Any:
    """Return the model of numbers in a table model, or the model itself."""
    return model.model_ if isinstance(model, TableModel) else model


def input_names(model: Any) -> list[str] | None:
    """Return what the numbers are that an exported map takes, in order; None if it has no names."""
    if isinstance(model, TableModel):
        return [str(name) for name in model.encoder_.get_feature_names_out()]
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def in_short(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a model with the first of many columns and words."""
    shown = dict(facts)
    if "columns" in facts:
        shown["columns"] = list_some(facts["columns"])
    if "words" in facts:
        shown["words"] = {name: f"({list_some(part)})" for name, part in facts["words"].items()}
    return shown


def list_datasets() -> dict[str, Any]:
    """Return the names of data sets, and where each is."""
    here = names(local=True)
    return {name: "here" if name in here else "to download" for name in names()}


def _describe_judgements(dataset: Dataset) -> dict[str, Any]:
    if dataset.y is None:
        same = dataset.extra["same"]
        return {"pairs": f"{len(same)}, of which {np.count_nonzero(same)} same"}
    return _describe_labels(dataset.y, dataset.classes)


def _describe_labels(y: Array, classes: tuple[str, ...] | None = None) -> dict[str, Any]:
    labels, counts = np.unique(y, return_counts=True)
    titles = [classes[label] for label in labels] if classes else labels.tolist()
    shown = [
        f"{printable(str(title), MAX_QUOTED)}: {n}"
        for title, n in zip(titles[:_SHOWN_CLASSES], counts, strict=False)
    ]
    more = ["…"] if len(labels) > _SHOWN_CLASSES else []
    return {"classes": len(labels), "rows per class": ", ".join(shown + more)}
