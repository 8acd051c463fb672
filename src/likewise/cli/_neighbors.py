"""``likewise neighbors``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from likewise._runtime.progress import overall_progress
from likewise.cli import _options as option
from likewise.cli._data import ids_of, read_data, read_model
from likewise.cli._output import check_table_output, show_table
from likewise.tables import nearest_rows


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data")
@option.options(
    click.option("--queries", metavar="DATA", help="Rows whose neighbours are wanted."),
    click.option(
        "--k",
        type=option.Integer(min=1),
        default=5,
        show_default=True,
        help="Neighbours of each row.",
    ),
    option.id_option(", to be written in place of its number"),
    option.drop_option,
    option.format_option,
    option.keep_na_option,
    option.output_option("the neighbours: .csv, .tsv, .parquet or .npz"),
    option.json_option,
)
def neighbors(
    model: Path,
    data: str,
    queries: str | None,
    k: int,
    id: str | None,
    drop: str | None,
    format: str | None,
    keep_na: bool,
    output: Path | None,
    json_file: Path | None,
) -> None:
    """Find the nearest rows of DATA under MODEL, exactly.

    By default each row of DATA is searched among the others, and with --queries each row of that
    table among those of DATA. Without --output the neighbours go to stdout as CSV.

    \b
    Examples:
      likewise neighbors model.safetensors products.csv --id product --k 3
      likewise neighbors model.safetensors products.csv --queries new.csv --output nearest.csv
    """
    inputs: dict[str, Any] = {"MODEL": model, "DATA": data, "--queries": queries}
    check_table_output(output, json_file, inputs)
    options: dict[str, Any] = {
        "ids": id,
        "drop": option.listed(drop),
        "labelled": False,
        "keep_na": keep_na,
        "format": format,
    }
    found = read_data(data, **options)
    loaded, rows = read_model(model, found)
    asked = found if queries is None else read_data(queries, **options)
    wanted = None if queries is None else read_model(model, asked)[1]
    with overall_progress("searching neighbours"):
        distance, index = nearest_rows(loaded, rows, wanted, n_neighbors=k)
    columns = {
        "query": np.repeat(ids_of(asked.table), k),
        "rank": np.tile(np.arange(1, k + 1), len(index)),
        "neighbor": ids_of(found.table)[index.ravel()],
        "distance": distance.ravel(),
    }
    facts = {"queries": len(index), "neighbours": k}
    show_table(output, json_file, columns, facts)
