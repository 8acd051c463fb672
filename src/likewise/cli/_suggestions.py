"""What a shell completes besides commands, options and files: names that likewise knows."""

from __future__ import annotations

import glob
from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem


def suggest_data(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return data sets and files."""
    from likewise.datasets import names

    found = _beginning(incomplete, names()) if incomplete else []
    # A shell lists files by itself only where there is nothing else to list.
    files = glob.glob(f"{glob.escape(incomplete)}*") if found else []
    items = [CompletionItem(name) for name in sorted({*found, *files})]
    return items or [CompletionItem(incomplete, type="file")]


def suggest_datasets(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return data sets."""
    from likewise.datasets import names

    return _beginning(incomplete, names())


def suggest_method(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return methods, in the case in which they are written."""
    from likewise.methods import METHODS

    return _beginning(incomplete, METHODS)


def suggest_methods(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return lists of methods that can be compared: what is there, with one more."""
    from likewise.methods import COMPARABLE

    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in _beginning(last, COMPARABLE)]


def suggest_experiments(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return experiments."""
    from likewise.experiments import EXPERIMENTS

    return _beginning(incomplete, EXPERIMENTS)


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.lower().startswith(incomplete.lower())]
