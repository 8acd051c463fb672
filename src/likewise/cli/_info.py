"""``likewise info``."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from typing import Any

import click
import numpy as np
from threadpoolctl import threadpool_info

from likewise import _files, _loops
from likewise._runtime.text import MAX_QUOTED, list_some, printable
from likewise.cli._data import read_data
from likewise.cli._output import print_facts, print_methods
from likewise.datasets import Dataset, names
from likewise.methods import METHODS

_SHOWN_CLASSES = 20


@click.command()
@click.argument("model_or_data", required=False)
@click.option("--label", metavar="COLUMN", help="The column with the labels, in a data file.")
@click.option("--methods", is_flag=True, help="List the methods and what each learns from.")
def info(model_or_data: str | None, label: str | None, methods: bool) -> None:
    """Describe a model, data, or this installation.

    MODEL_OR_DATA is a model file (.safetensors), the name of a data set, or a data file. Without
    it, the versions in use and the names of all data sets are shown.

    \b
    Examples:
      likewise info
      likewise info iris
      likewise info model.safetensors
      likewise info --methods
    """
    if methods:
        print_methods(METHODS.values())
    elif model_or_data is None:
        print_facts(describe_installation())
    elif model_or_data.endswith(".safetensors"):
        print_facts(_files.describe(model_or_data))
    else:
        print_facts(describe_data(read_data(model_or_data, label)[0]))


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
            f"{library['internal_api']} {library['version']} ({library['num_threads']} threads)"
            for library in blas
        ),
        "data folder": _data_folder(),
        "data here": ", ".join(names(local=True)),
        "to download": ", ".join(sorted(set(names()) - set(names(local=True)))),
    }


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


def _describe_judgements(dataset: Dataset) -> dict[str, Any]:
    if dataset.y is None:
        same = dataset.extra["same"]
        return {"pairs": f"{len(same)}, of which {np.count_nonzero(same)} same"}
    labels, counts = np.unique(dataset.y, return_counts=True)
    titles = [dataset.classes[label] for label in labels] if dataset.classes else labels.tolist()
    shown = [
        f"{printable(str(title), MAX_QUOTED)}: {n}"
        for title, n in zip(titles[:_SHOWN_CLASSES], counts, strict=False)
    ]
    more = ["…"] if len(labels) > _SHOWN_CLASSES else []
    return {"classes": len(labels), "rows per class": ", ".join(shown + more)}
