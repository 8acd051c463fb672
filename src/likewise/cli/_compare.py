"""``likewise compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from likewise import evaluation
from likewise._runtime.arrays import Array
from likewise.cli._data import check_no_missing_values, read_data
from likewise.cli._output import check_writable, print_comparison, progress_bar, write_json
from likewise.datasets import Dataset, read_pairs

_REPEATS, _PAIR_REPEATS = 2, 3


@click.command()
@click.argument("data", default="digits")
@click.option("--label", metavar="COLUMN", help="The column with the labels, in a file.")
@click.option(
    "--groups", metavar="COLUMN", help="The column with groups of rows to be kept together."
)
@click.option("--drop", metavar="COLUMN,…", help="Columns to be left out, in a file.")
@click.option(
    "--pairs",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A table of pairs (left, right, same) in place of labels.",
)
@click.option("--id", metavar="COLUMN", help="The column by which the pairs name the rows.")
@click.option("--methods", metavar="A,B,…", help="Metrics to compare: see info --methods.")
@click.option("--k", default=3, show_default=True, help="Neighbours that vote.")
@click.option(
    "--repeats",
    type=int,
    help="Repeats of 5 stratified folds, or of 3 splits of pairs.  [default: 2, or 3]",
)
@click.option("--raw", is_flag=True, help="Take features as they are, not standardised.")
@click.option("--seed", default=0, show_default=True, help="Decides folds and pairs.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write the result here, too.",
)
def compare(
    data: str,
    label: str | None,
    groups: str | None,
    drop: str | None,
    pairs: Path | None,
    id: str | None,
    methods: str | None,
    k: int,
    repeats: int | None,
    raw: bool,
    seed: int,
    json_file: Path | None,
) -> None:
    """Compare metrics on DATA and say which to use.

    DATA is the name of a data set (see likewise info) or a CSV, TSV, Parquet, NPZ or NPY file;
    digits by default. Where a data set has an official test part, that part is left out. With
    --pairs, and for data sets of pairs, metrics are compared by how well they tell same pairs from
    different ones.

    \b
    Examples:
      likewise compare digits
      likewise compare flowers.csv --label species --methods Euclidean,FDA --json result.json
      likewise compare words.csv --label word --groups speaker --drop id
      likewise compare products.csv --pairs judged.csv --id product
    """
    check_writable(json_file)
    if id is not None and pairs is None:
        raise ValueError("--id is the column by which --pairs names rows, but there are no --pairs")
    if pairs is not None and label is not None:
        raise ValueError("--label and --pairs exclude each other: pairs take the place of labels")
    dataset, grouped = read_data(
        data,
        label if pairs is None else id,
        groups=groups,
        drop=_listed(drop) or (),
        labelled=pairs is None,
        label_option="--label" if pairs is None else "--id",
    )
    check_no_missing_values(dataset)
    judged = _judged_pairs(dataset, pairs, by_id=id is not None)
    common: dict[str, Any] = {
        "groups": grouped,
        "standardize": not raw,
        "feature_names": dataset.feature_names,
        "random_state": seed,
    }
    with progress_bar() as progress:
        if judged is not None:
            comparison: evaluation.Comparison | evaluation.PairComparison
            comparison = evaluation.compare_pairs(
                dataset.X,
                *judged,
                _listed(methods),
                n_repeats=_PAIR_REPEATS if repeats is None else repeats,
                progress=progress,
                **common,
            )
        else:
            assert dataset.y is not None
            comparison = evaluation.compare(
                dataset.X,
                dataset.y,
                _listed(methods),
                n_neighbors=k,
                n_repeats=_REPEATS if repeats is None else repeats,
                progress=progress,
                **common,
            )
    print_comparison(comparison)
    if json_file is not None:
        write_json(json_file, {"data": dataset.name, **comparison.to_dict()})


def _judged_pairs(
    dataset: Dataset, pairs: Path | None, *, by_id: bool
) -> tuple[Array, Array] | None:
    """Return the pairs in a file, or those of a data set of pairs; None if there are labels."""
    if pairs is not None:
        return read_pairs(pairs, len(dataset.X), dataset.y if by_id else None)
    if dataset.y is None:
        return np.asarray(dataset.extra["pairs"]).astype(np.int64), dataset.extra["same"]
    return None


def _listed(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",")]
