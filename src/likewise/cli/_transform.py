"""``likewise transform``."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from likewise._runtime.progress import overall_progress
from likewise.cli import _options as option
from likewise.cli._data import read_data, read_model
from likewise.cli._output import check_table_output, show_table
from likewise.tables import map_table


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data")
@option.options(
    option.id_option(", to be copied"),
    option.drop_option,
    option.format_option,
    option.keep_na_option,
    option.output_option("the mapped rows: .csv, .tsv, .parquet, .npz or .npy"),
    option.json_option,
)
def transform(
    model: Path,
    data: str,
    id: str | None,
    drop: str | None,
    format: str | None,
    keep_na: bool,
    output: Path | None,
    json_file: Path | None,
) -> None:
    """Map the rows of DATA to where the Euclidean distance is that of MODEL.

    Without --output the rows go to stdout as CSV. NPZ files have them in the array X.

    \b
    Examples:
      likewise transform model.safetensors flowers.csv > mapped.csv
      likewise transform model.safetensors products.csv --id product --output mapped.parquet
    """
    check_table_output(output, json_file, {"MODEL": model, "DATA": data})
    found = read_data(
        data,
        ids=id,
        drop=option.listed(drop),
        labelled=False,
        keep_na=keep_na,
        format=format,
    )
    with overall_progress("mapping rows"):
        mapped = map_table(*read_model(model, found))
    columns = {} if id is None else {id: np.asarray(found.table.ids)}
    if output is not None and output.suffix.lower() == ".npz":
        columns["X"] = mapped
    else:
        columns |= {f"z{i}": mapped[:, i] for i in range(mapped.shape[1])}
    facts = {"rows": len(mapped), "components": mapped.shape[1]}
    show_table(output, json_file, columns, facts)
