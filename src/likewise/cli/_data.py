"""Reading of data sets by name and of files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from likewise.cli._output import progress_bar
from likewise.datasets import Dataset, load, read_table


def read_data(data: str, label: str | None) -> Dataset:
    """Return the data set called `data`, or the table in the file `data`."""
    path = Path(data)
    if path.name == data and path.suffix == "":
        if label is not None:
            raise ValueError(f"--label is for files, but {data} is the name of a data set.")
        with progress_bar() as progress:
            return load(data, progress=lambda done, total: progress(done, total, "downloading"))
    X, y, feature_names = read_table(path, label)
    return Dataset(path.name, X, y, feature_names=feature_names, source=f"Read from {path}.")


def check_no_missing_values(dataset: Dataset) -> None:
    """Raise an error that names the first column with a missing or infinite value."""
    unusable = ~np.isfinite(dataset.X)
    if unusable.any():
        column = int(unusable.any(axis=0).argmax())
        name = dataset.feature_names[column] if dataset.feature_names else str(column)
        gaps = unusable[:, column]
        raise ValueError(
            f"column {name!r} of {dataset.name} has {gaps.sum()} missing or infinite values, the "
            f"first in row {gaps.argmax() + 1}; fill them in or drop the rows."
        )
