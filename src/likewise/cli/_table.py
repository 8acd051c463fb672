"""The table that ``compare``, ``fit`` and ``report`` take: its options, and reading it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from likewise._runtime.arrays import BoolArray, FloatingArray, IndexArray
from likewise._runtime.text import list_some, quote
from likewise._runtime.validation import pluralize
from likewise.cli import _options as option
from likewise.cli._data import Data, judged_pairs, read_data
from likewise.datasets import RawTable
from likewise.datasets._columns import gaps_of
from likewise.tables import TableEncoder

table_options = (
    option.label_option,
    click.option(
        "--pairs",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A table of pairs (left, right, same) in place of labels.",
    ),
    option.id_option(", no feature; the pairs name rows by it"),
    option.groups_option,
    option.drop_option,
    option.format_option,
    option.keep_na_option,
    option.encode_option,
    option.impute_option,
    option.raw_option,
)


@dataclass(frozen=True)
class Table:
    """What was said about a table on the command line, by the names of the options."""

    data: str
    label: str | None
    pairs: Path | None
    id: str | None
    groups: str | None
    drop: str | None
    format: str | None
    keep_na: bool
    encode: bool
    impute: bool
    raw: bool

    @property
    def inputs(self) -> dict[str, str | Path | None]:
        """What is read, by the names of the options."""
        return {"DATA": self.data, "--pairs": self.pairs}

    def encoded(self, found: Data) -> tuple[FloatingArray, list[str], list[str]]:
        """Return the rows as numbers, the names of the features, and what a reader should know.

        Medians and words are those of all rows; scales are left to who splits them.
        """
        encoder = TableEncoder(self.encode, self.impute, standardize=False)
        X = encoder.fit_transform(found.table)
        remarks = [*found.remarks, *_filled_cells(found.table)]
        return X, encoder.get_feature_names_out().tolist(), remarks

    def read(self, *, labelled: bool | None = True, grouped_by_label: bool = False) -> Data:
        """Return the rows; there must be labels if they are `labelled` and there are no pairs.

        Unless rows may be `grouped_by_label`, groups must be another column than the labels.
        """
        if self.pairs is not None and self.label is not None:
            raise ValueError(
                "--label and --pairs exclude each other: pairs take the place of labels"
            )
        found = read_data(
            self.data,
            self.label,
            groups=self.groups,
            ids=self.id,
            drop=option.listed(self.drop),
            labelled=False if self.pairs is not None else labelled,
            keep_na=self.keep_na,
            format=self.format,
        )
        groups, y = found.table.groups, found.table.y
        one_column = groups is not None and y is not None and np.array_equal(groups, y)
        if one_column and not grouped_by_label:
            raise ValueError(
                f"--groups {quote(self.groups)} are the labels, but rows of one class must be on "
                "both sides of a split: name another column."
            )
        return found

    def judged_pairs(self, found: Data) -> tuple[IndexArray, BoolArray] | None:
        """Return the pairs that come with the rows; None if there are labels."""
        return judged_pairs(found, self.pairs)

    def loading_code(self, found: Data, *, also_dropped: str | None = None) -> str:
        """Return the Python that reads the same: X and y, or X, pairs and same, and groups."""
        if found.dataset is not None:
            return _load_code(self.data, labelled=found.dataset.y is not None)
        options = {
            "label": self.label,
            "groups": self.groups,
            "ids": self.id,
            "drop": [*option.listed(self.drop), *([also_dropped] if also_dropped else [])] or None,
            "labelled": (self.pairs is None and self.label is None) or None,
            "keep_na": self.keep_na or None,
            "format": self.format,
        }
        path = "sys.stdin.buffer" if self.data == "-" else repr(self.data)
        arguments = [path, *_given(options)]
        encoder = [*_given({"encode": self.encode or None, "impute": self.impute or None})]
        lines = [
            *(["import sys", ""] if self.data == "-" else []),
            f"table = lw.datasets.read_columns({', '.join(arguments)})",
            f"encoder = lw.tables.TableEncoder({', '.join([*encoder, 'standardize=False'])})",
        ]
        if self.pairs is None:
            lines.append("X, y = encoder.fit_transform(table), table.y")
        else:
            lines += [
                "X = encoder.fit_transform(table)",
                f"pairs, same = lw.datasets.read_pairs({str(self.pairs)!r}, len(table), table.ids)",
            ]
        if self.groups is not None:
            lines.append("groups = table.groups")
        return "\n".join(lines)


def _filled_cells(table: RawTable) -> list[str]:
    """Say how many empty cells were filled, and in which columns."""
    counts = {name: int(gaps_of(cells).sum()) for name, cells in table.columns.items()}
    counts = {name: count for name, count in counts.items() if count}
    if not counts:
        return []
    filled = "was filled" if sum(counts.values()) == 1 else "were filled"
    columns = list_some((f"{name} ({count})" for name, count in counts.items()), 8)
    return [
        f"{pluralize(sum(counts.values()), 'empty cell')} {filled} with the median of the column, "
        f"or in columns of text with none of the words: {columns}."
    ]


def _load_code(name: str, *, labelled: bool) -> str:
    """Return the Python that loads a data set by its name."""
    taken = (
        "X, y = data.X, data.y"
        if labelled
        else 'X, pairs, same = data.X, data.extra["pairs"].astype(int), data.extra["same"]'
    )
    return f"data = lw.datasets.load({name!r})\n{taken}"


def _given(options: dict[str, Any]) -> list[str]:
    """Return arguments as Python, without those that are not given."""
    return [f"{name}={value!r}" for name, value in options.items() if value is not None]
