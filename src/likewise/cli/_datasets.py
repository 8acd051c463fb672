"""``likewise datasets``."""

from __future__ import annotations

from pathlib import Path

import click

from likewise.cli import _options as option
from likewise.cli._describe import describe_data, list_datasets
from likewise.cli._output import check_writable, print_facts, show
from likewise.cli._suggestions import suggest_datasets
from likewise.datasets import load


@click.command()
@click.argument("name", required=False, shell_complete=suggest_datasets)
@option.json_option
def datasets(name: str | None, json_file: Path | None) -> None:
    """List the data sets, or describe the one called NAME.

    \b
    Examples:
      likewise datasets
      likewise datasets iris --json iris.json
    """
    check_writable(json_file)
    facts = list_datasets() if name is None else describe_data(load(name))
    show(json_file, facts, lambda: print_facts(facts))
