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
from likewise.cli._describe import inner_model
from likewise.cli._output import check_table_output, print_note, show_table
from likewise.datasets import read_pairs
from likewise.statistics import error_rates, verification_curve
from likewise.tables import PairJudgements, judge_pairs

_HOW_TO_DECIDE = 'fit with --target, such as --target "fmr<=0.01"'


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
        "--prevalence",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        metavar="SHARE",
        help="Same pairs among those asked about.",
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
    --output; of a model without a threshold, AUC and EER. Without --output the judgements go to
    stdout as CSV.

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
    inner = inner_model(loaded)
    threshold = getattr(inner, "threshold_", None)
    _check_options(threshold, inner, unsure, prevalence)
    with overall_progress("judging pairs"):
        judgements = judge_pairs(loaded, rows, index, unsure=unsure, prevalence=prevalence)
    left, right = (ids_of(found.table)[index[:, side]] for side in (0, 1))
    columns = {"left": left, "right": right, **_columns(judgements, same)}
    facts: dict[str, Any] = {"pairs": len(index)}
    printed = output is not None or json_file is not None
    if threshold is None and same is not None:
        facts |= _curve(judgements, same)
        if not printed:
            print_note(", ".join(f"{name} {value}" for name, value in facts.items()), stdout=False)
    elif printed:
        facts |= _errors(threshold, judgements, index, same)
    show_table(output, json_file, columns, facts)


def _check_options(threshold: float | None, inner: Any, unsure: bool, prevalence: Any) -> None:
    """Raise an error for options that need what only ``fit --target`` gives."""
    kind = type(inner).__name__
    if unsure and not hasattr(inner, "threshold_interval_"):
        missing = "has no threshold" if threshold is None else "has no interval of its threshold"
        raise ValueError(f"--unsure: the model, {kind}, {missing}: {_HOW_TO_DECIDE}.")
    if prevalence is not None and not hasattr(inner, "predict_proba_pairs"):
        raise ValueError(
            f"--prevalence: the model, {kind}, has no probabilities: {_HOW_TO_DECIDE}."
        )


def _columns(judgements: PairJudgements, same: BoolArray | None) -> dict[str, Array]:
    """Return what is known of each pair: `same` is what the table said, and not the decision."""
    parts = {
        "same": same,
        "distance": judgements.distance,
        "decision": judgements.same,
        "probability": judgements.probability,
    }
    return {name: part for name, part in parts.items() if part is not None}


def _curve(judgements: PairJudgements, same: BoolArray) -> dict[str, Any]:
    """Return how well distances alone tell the pairs apart, for a model that decides none."""
    facts: dict[str, Any] = {}
    if 0 < same.sum() < len(same):
        curve = verification_curve(judgements.distance, same)
        facts = {"AUC": round(curve.auc, 6), "EER": round(curve.eer, 6)}
    return facts | {"threshold": f"none: {_HOW_TO_DECIDE}"}


def _errors(
    threshold: float | None, judgements: PairJudgements, index: Array, same: BoolArray | None
) -> dict[str, Any]:
    """Return the share that is accepted, and the error rates where the truth is known."""
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
