"""The command ``likewise``: each subcommand is a thin wrapper of one public function."""

from __future__ import annotations

import click

from likewise.cli._errors import OneLineGroup
from likewise.cli._lazy_command import LazyCommand

__all__ = ["main"]


@click.group(
    cls=OneLineGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(package_name="likewise", prog_name="likewise")
@click.pass_context
def main(context: click.Context) -> None:
    """Distance metric learning: compare metrics, fit one, judge pairs by it, export it.

    \b
    Example:
      likewise compare flowers.csv --label species
      likewise fit flowers.csv --label species --method LMNN --output flowers.safetensors
      likewise verify flowers.safetensors flowers.csv --pairs asked.csv
      likewise export flowers.safetensors --to onnx
      likewise adapt embeddings.npy --labels topics.csv --export faiss adapted.faiss
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


# In the order in which a person goes: the help and the guide have it, too.
for _command in (
    LazyCommand("compare", "_compare", "Compare metrics on DATA and say which to use."),
    LazyCommand("fit", "_fit", "Fit a method to DATA and save the model."),
    LazyCommand(
        "verify",
        "_verify",
        "Judge pairs of rows of DATA by MODEL: distances, decisions and probabilities.",
    ),
    LazyCommand(
        "export",
        "_export",
        "Write the metric of MODEL for a vector index, a database or an encoder.",
        "export_command",
    ),
    LazyCommand(
        "adapt",
        "_adapt",
        "Adapt EMBEDDINGS to labels or judged pairs where that is shown to help, and say so.",
    ),
    LazyCommand(
        "transform",
        "_transform",
        "Map the rows of DATA to where the Euclidean distance is that of MODEL.",
    ),
    LazyCommand("neighbors", "_neighbors", "Find the nearest rows of DATA under MODEL, exactly."),
    LazyCommand("label", "_live", "Judge pairs of items of DATA, and learn a metric from that."),
    LazyCommand(
        "serve",
        "_live",
        "Serve judgements on pairs of items of DATA, and the metric learned from them, over HTTP.",
    ),
    LazyCommand("info", "_info", "Describe a model, data, or this installation."),
    LazyCommand("datasets", "_datasets", "List the data sets, or describe the one called NAME."),
    LazyCommand(
        "report", "_report", "Compare metrics on DATA and write a report as one HTML file."
    ),
    LazyCommand(
        "reproduce",
        "_reproduce",
        "Run the experiment NAME of a paper and print our numbers beside the paper's.",
    ),
    LazyCommand(
        "completion",
        "_completion",
        "Print the script that lets SHELL complete commands and options.",
    ),
):
    main.add_command(_command)
