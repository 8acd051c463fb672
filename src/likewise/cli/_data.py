"""Reading of data sets by name and of files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.text import quote, quote_path
from likewise._runtime.validation import pluralize
from likewise.cli._output import progress_bar
from likewise.datasets import Dataset, load, names, read_table


def read_data(
    data: str,
    label: str | None,
    *,
    groups: str | None = None,
    drop: Sequence[str] = (),
    labelled: bool = True,
    label_option: str = "--label",
) -> tuple[Dataset, Array | None]:
    """Return the data set called `data`, or the table in the file `data`, and its groups.

    A table that is not `labelled` has a label only if `label` names its column; `label_option` is
    how the user would do that.
    """
    path = Path(data)
    if path.name == data and path.suffix == "" and (data in names() or not os.path.exists(data)):
        for option, given in (
            (label_option, label),
            ("--groups", groups),
            ("--drop", drop or None),
        ):
            if given is not None:
                raise ValueError(
                    f"{option} is for files, but {quote(data)} is the name of a data set."
                )
        with progress_bar() as progress:
            found = load(data, progress=lambda done, total: progress(done, total, "downloading"))
        return found, None
    table = read_table(path, label, groups=groups, drop=drop, labelled=labelled)
    source = f"Read from {quote_path(path)}."
    dataset = Dataset(path.name, table.X, table.y, feature_names=table.feature_names, source=source)
    return dataset, table.groups


def check_no_missing_values(dataset: Dataset) -> None:
    """Raise an error that names the first column with a missing or infinite value."""
    unusable = ~np.isfinite(dataset.X)
    if unusable.any():
        column = int(unusable.any(axis=0).argmax())
        name = dataset.feature_names[column] if dataset.feature_names else str(column)
        gaps = unusable[:, column]
        raise ValueError(
            f"column {quote(name)} of {quote_path(dataset.name)} has "
            f"{pluralize(int(gaps.sum()), 'missing or infinite value')}, the first in row "
            f"{gaps.argmax() + 1}; fill them in, or leave out the rows or (--drop) the column."
        )
