"""``likewise reproduce``."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from likewise.experiments import EXPERIMENTS, Reproduction
from likewise.experiments import reproduce as run_experiment


@click.command()
@click.argument("name", required=False)
@click.option("--list", "list_all", is_flag=True, help="List the experiments.")
@click.option("--quick", is_flag=True, help="Run a small version, of about a minute.")
@click.option("--jobs", default=1, show_default=True, help="Processes; -1 is one per core.")
@click.option(
    "--output",
    default="results",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for results, figures and finished trials.",
)
def reproduce(name: str | None, list_all: bool, quick: bool, jobs: int, output: Path) -> None:
    """Run the experiment NAME of a paper and print our numbers beside the paper's.

    An interrupted run continues where it was when the same command is given again.

    \b
    Examples:
      likewise reproduce --list
      likewise reproduce pam-table1 --quick
      likewise reproduce pam-table1 --jobs 2 --output results
    """
    if list_all:
        _print_experiments()
    elif name is None:
        raise ValueError("name an experiment; likewise reproduce --list shows all.")
    else:
        _print(run_experiment(name, quick=quick, output=output, n_jobs=jobs, verbose=True))


def _print_experiments() -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for experiment in EXPERIMENTS.values():
        grid.add_row(Text(experiment.name, style="bold"), Text(experiment.title))
        grid.add_row("", Text(f"{experiment.paper}, {experiment.place}", style="dim"))
    Console(highlight=False).print(grid)


def _print(reproduction: Reproduction) -> None:
    """Print the numbers that the paper has, too (all, if it has none), and where the rest is."""
    results = reproduction.results
    titles = {measure["name"]: measure for measure in results["measures"]}
    cells = [cell for cell in results["cells"] if cell["published"] is not None]
    table = Table(title=f"{results['paper']}, {results['place']}", title_justify="left")
    for heading in ("data set", "method", "measure"):
        table.add_column(heading)
    for heading in ("paper", "ours", "±"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("mark")
    for cell in cells or results["cells"]:
        measure = titles[cell["measure"]]
        paper, ours, error = (
            "" if cell[key] is None else f"{cell[key]:.{measure['decimals']}f}"
            for key in ("published", "mean", "standard_error")
        )
        stand_in = "stand-in" if cell["dataset"] in results["stand_ins"] else ""
        names = map(Text, (cell["dataset"], cell["method"], measure["title"]))
        table.add_row(*names, paper, ours, error, cell["mark"] or stand_in)
    console = Console(highlight=False)
    console.print(table)
    if reproduction.verdict:
        console.print(Text(reproduction.verdict, style="bold"), soft_wrap=True)
    for file in reproduction.files:
        console.print(Text(str(file)), soft_wrap=True)
