"""``likewise verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from likewise._runtime.arrays import Array, BoolArray
from likewise._runtime.progress import overall_progress
from likewise.cli import _options as option
from likewise.cli._data import ids_of, read_data, read_model
from likewise.cli._output import check_table_output, show_table
from likewise.datasets import read_pairs
from likewise.statistics import error_rates
from likewise.tables import PairJudgements, TableModel, judge_pairs


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data")
@option.options(
    click.option(
        "--pairs",
        required=True,
        type=click.Path(dir_okay=False, path_type=Path),
        help="A table of pairs: left, right and, if they are judged, same.",
    ),
    option.id_option(", by which the pairs name the rows"),
    option.drop_option,
    option.format_option,
    option.keep_na_option,
    click.option("--unsure", is_flag=True, help="Leave pairs close to the threshold undecided."),
    click.option(
        "--prevalence", type=float, metavar="SHARE", help="Same pairs among those asked about."
    ),
    option.output_option("the judgements: .csv, .tsv, .parquet or .npz"),
    option.json_option,
)
def verify(
    model: Path,
    data: str,
    pairs: Path,
    id: str | None,
    drop: str | None,
    format: str | None,
    keep_na: bool,
    unsure: bool,
    prevalence: float | None,
    output: Path | None,
    json_file: Path | None,
) -> None:
    """Judge pairs of rows of DATA by MODEL: distances, decisions and probabilities.

    Decisions need a model with a threshold, and probabilities one that was fitted with --target. If
    the table says which pairs are same, error rates with intervals are printed as well, with
    --output. Without it the judgements go to stdout as CSV.

    \b
    Examples:
      likewise verify model.safetensors products.csv --pairs asked.csv --id product
      likewise verify model.safetensors products.csv --pairs judged.csv --output judgements.csv
    """
    inputs: dict[str, Any] = {"MODEL": model, "DATA": data, "--pairs": pairs}
    check_table_output(output, json_file, inputs)
    found = read_data(
        data,
        ids=id,
        drop=option.listed(drop),
        labelled=False,
        keep_na=keep_na,
        format=format,
    )
    index, same = read_pairs(pairs, len(found.table), found.table.ids, judged=False)
    loaded, rows = read_model(model, found)
    with overall_progress("judging pairs"):
        judgements = judge_pairs(loaded, rows, index, unsure=unsure, prevalence=prevalence)
    left, right = (ids_of(found.table)[index[:, side]] for side in (0, 1))
    columns = {"left": left, "right": right, **_columns(judgements)}
    facts: dict[str, Any] = {"pairs": len(index)}
    if output is not None or json_file is not None:
        facts |= _errors(loaded, judgements, index, same)
    show_table(output, json_file, columns, facts)


def _columns(judgements: PairJudgements) -> dict[str, Array]:
    parts = {
        "distance": judgements.distance,
        "same": judgements.same,
        "probability": judgements.probability,
    }
    return {name: part for name, part in parts.items() if part is not None}


def _errors(
    model: Any, judgements: PairJudgements, index: Array, same: BoolArray | None
) -> dict[str, Any]:
    """Return the share that is accepted, and the error rates where the truth is known."""
    threshold = getattr(
        model.model_ if isinstance(model, TableModel) else model, "threshold_", None
    )
    if threshold is None or judgements.same is None:
        return {}
    accepted = judgements.distance <= threshold
    facts: dict[str, Any] = {"threshold": float(threshold), "decided same": int(accepted.sum())}
    if same is not None and 0 < same.sum() < len(same):
        rates = error_rates(judgements.distance, same, float(threshold), items=index)
        for name in ("fmr", "fnmr"):
            low, high = getattr(rates, f"{name}_interval")
            facts[name.upper()] = float(np.round(getattr(rates, name), 6))
            facts[f"{name.upper()} interval"] = [round(low, 6), round(high, 6)]
    return facts
