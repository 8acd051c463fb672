"""``likewise info``."""

from __future__ import annotations

from pathlib import Path

import click

from likewise.cli import _options as option
from likewise.cli._data import read_data
from likewise.cli._describe import (
    describe_data,
    describe_installation,
    describe_model,
    describe_table,
    in_short,
)
from likewise.cli._output import check_outputs, print_facts, print_methods, show
from likewise.cli._suggestions import suggest_data
from likewise.methods import METHODS


@click.command()
@click.argument("model_or_data", required=False, shell_complete=suggest_data)
@click.option("--label", metavar="COLUMN", help="The column with the labels, in a data file.")
@click.option("--methods", is_flag=True, help="List the methods and what each learns from.")
@option.format_option
@option.keep_na_option
@option.json_option
def info(
    model_or_data: str | None,
    label: str | None,
    methods: bool,
    format: str | None,
    keep_na: bool,
    json_file: Path | None,
) -> None:
    """Describe a model, data, or this installation.

    MODEL_OR_DATA is a model file (.safetensors), the name of a data set, a data file, or - for
    stdin. Without it, the versions in use and the names of all data sets are shown.

    \b
    Examples:
      likewise info
      likewise info iris
      likewise info model.safetensors
      likewise info --methods
    """
    check_outputs({"--json": json_file}, {"MODEL_OR_DATA": model_or_data})
    if methods:
        listed = {
            method.name: {
                "kind": method.kind,
                "learns from": method.supervision,
                "summary": method.summary,
                "paper": method.paper,
            }
            for method in METHODS.values()
        }
        show(json_file, listed, lambda: print_methods(METHODS.values()))
        return
    if model_or_data is None:
        facts = describe_installation()
    elif model_or_data.endswith(".safetensors"):
        facts = describe_model(model_or_data)
        show(json_file, facts, lambda: print_facts(in_short(facts)))
        return
    else:
        found = read_data(model_or_data, label, labelled=None, keep_na=keep_na, format=format)
        dataset = found.dataset
        facts = (
            describe_table(found.name, found.table) if dataset is None else describe_data(dataset)
        )
    show(json_file, facts, lambda: print_facts(facts))
