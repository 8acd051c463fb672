"""``likewise compare``."""

from __future__ import annotations

from pathlib import Path

import click

from likewise import evaluation
from likewise.cli._data import check_no_missing_values, read_data
from likewise.cli._output import check_writable, print_comparison, progress_bar, write_json


@click.command()
@click.argument("data", default="digits")
@click.option("--label", metavar="COLUMN", help="The column with the labels, in a file.")
@click.option(
    "--groups", metavar="COLUMN", help="The column with groups of rows to be kept together."
)
@click.option("--drop", metavar="COLUMN,…", help="Columns to be left out, in a file.")
@click.option("--methods", metavar="A,B,…", help="Metrics to compare: see info --methods.")
@click.option("--k", default=3, show_default=True, help="Neighbours that vote.")
@click.option("--repeats", default=2, show_default=True, help="Repeats of 5 stratified folds.")
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
    methods: str | None,
    k: int,
    repeats: int,
    raw: bool,
    seed: int,
    json_file: Path | None,
) -> None:
    """Compare metrics on DATA and say which to use.

    DATA is the name of a data set (see likewise info) or a CSV, TSV, Parquet, NPZ or NPY file;
    digits by default. Where a data set has an official test part, that part is left out.

    \b
    Examples:
      likewise compare digits
      likewise compare flowers.csv --label species --methods Euclidean,FDA --json result.json
      likewise compare words.csv --label word --groups speaker --drop id
    """
    check_writable(json_file)
    dataset, grouped = read_data(data, label, groups=groups, drop=_listed(drop) or ())
    check_no_missing_values(dataset)
    if dataset.y is None:
        raise ValueError(f"{dataset.name} has pairs, not labels, but compare needs labels.")
    with progress_bar() as progress:
        comparison = evaluation.compare(
            dataset.X,
            dataset.y,
            _listed(methods),
            groups=grouped,
            n_neighbors=k,
            n_repeats=repeats,
            standardize=not raw,
            feature_names=dataset.feature_names,
            random_state=seed,
            progress=progress,
        )
    print_comparison(comparison)
    if json_file is not None:
        write_json(json_file, {"data": dataset.name, **comparison.to_dict()})


def _listed(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",")]
