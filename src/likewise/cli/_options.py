"""Options that several commands have, and what is done with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from likewise.cli._suggestions import suggest_methods
from likewise.datasets._sources import TABLE_FORMATS

Command = TypeVar("Command", bound=Callable[..., Any])


class Integer(click.IntRange):
    """An integer in a range; click would call it an integer range."""

    name = "integer"


json_option = click.option(
    "--json",
    "json_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    help="Write the result as JSON here; - is stdout, in place of what is printed.",
)
format_option = click.option(
    "--format",
    type=click.Choice(TABLE_FORMATS),
    help="What the file is, if its name does not tell.",
)
drop_option = click.option("--drop", metavar="COLUMN,…", help="Columns to be left out, in a file.")
keep_na_option = click.option(
    "--keep-na", is_flag=True, help="NA, None and null are words, not empty cells, in a text file."
)
encode_option = click.option(
    "--encode", is_flag=True, help="Make columns of 0 and 1 of the words of text columns."
)
impute_option = click.option(
    "--impute", is_flag=True, help="Fill empty cells with the median of their column."
)
label_option = click.option(
    "--label", metavar="COLUMN", help="The column with the labels, in a file."
)
groups_option = click.option(
    "--groups", metavar="COLUMN", help="The column with groups of rows to be kept together."
)
raw_option = click.option(
    "--raw", is_flag=True, help="Take features as they are, not standardised."
)
methods_option = click.option(
    "--methods",
    metavar="A,B,…",
    shell_complete=suggest_methods,
    help="Metrics to compare: see info --methods.",
)
k_option = click.option(
    "--k",
    type=Integer(min=1),
    default=3,
    show_default=True,
    help="Neighbours that vote.",
)

dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Only print the time and memory that this would take."
)
seed_option = click.option(
    "--seed",
    type=Integer(min=0),
    default=0,
    show_default=True,
    help="Decides what is drawn at random.",
)


def options(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return the decorator that adds several options, in the order of the help."""

    def add(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return add


def output_option(what: str, default: str | None = None) -> Any:
    """Return the option that names the file to write."""
    return click.option(
        "--output",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        default=default,
        show_default=default is not None,
        help=f"The file for {what}.",
    )


def id_option(why: str) -> Any:
    """Return the option that names the column with ids."""
    return click.option("--id", metavar="COLUMN", help=f"The column with the id of each row{why}.")


def listed(names: str | None) -> list[str]:
    """Return names that are separated by commas."""
    return [] if names is None else [name.strip() for name in names.split(",")]


def settings_of(pairs: tuple[str, ...]) -> dict[str, str]:
    """Return what ``--set key=value`` says, by key."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"--set must be followed by key=value, found {pair!r}.")
        settings[key.strip()] = value
    return settings
