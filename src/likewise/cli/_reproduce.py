"""``likewise reproduce``."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from likewise.cli._console import PlainConsole
from likewise.cli._options import json_option
from likewise.cli._output import check_writable, show
from likewise.cli._suggestions import suggest_experiments
from likewise.experiments import EXPERIMENTS, Reproduction
from likewise.experiments import reproduce as run_experiment
from likewise.experiments._tables import number_text


@click.command()
@click.argument("name", required=False, shell_complete=suggest_experiments)
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
@json_option
def reproduce(
    name: str | None,
    list_all: bool,
    quick: bool,
    jobs: int,
    output: Path,
    json_file: Path | None,
) -> None:
    """Run the experiment NAME of a paper and print our numbers beside the paper's.

    An interrupted run continues where it was when the same command is given again.

    \b
    Examples:
      likewise reproduce --list
      likewise reproduce pam-table1 --quick
      likewise reproduce pam-table1 --jobs 2 --output results
    """
    check_writable(json_file)
    if list_all:
        listed = {
            experiment.name: {
                "title": experiment.title,
                "paper": experiment.paper,
                "place": experiment.place,
            }
            for experiment in EXPERIMENTS.values()
        }
        show(json_file, listed, _print_experiments)
    elif name is None:
        raise ValueError("name an experiment; likewise reproduce --list shows all.")
    elif jobs < 1 and jobs != -1:
        raise ValueError(
            f"--jobs must be a positive integer, or -1 for one process per core, but it is {jobs}."
        )
    else:
        done = run_experiment(name, quick=quick, output=output, n_jobs=jobs, verbose=True)
        show(json_file, done.results, lambda: _print(done))


def _print_experiments() -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for experiment in EXPERIMENTS.values():
        grid.add_row(Text(experiment.name, style="bold"), Text(experiment.title))
        grid.add_row("", Text(f"{experiment.paper}, {experiment.place}", style="dim"))
    PlainConsole().print(grid)


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
            "" if cell[key] is None else number_text(cell[key], measure["decimals"])
            for key in ("published", "mean", "standard_error")
        )
        stand_in = "stand-in" if cell["dataset"] in results["stand_ins"] else ""
        names = map(Text, (cell["dataset"], cell["method"], measure["title"]))
        table.add_row(*names, paper, ours, error, cell["mark"] or stand_in)
    console = PlainConsole()
    console.print(table)
    if reproduction.verdict:
        console.print(Text(reproduction.verdict, style="bold"), soft_wrap=True)
    for file in reproduction.files:
        console.print(Text(str(file)), soft_wrap=True)
