"""The command ``likewise``: each subcommand is a thin wrapper of one public function."""

from __future__ import annotations

import click

from likewise.cli._adapt import adapt
from likewise.cli._compare import compare
from likewise.cli._completion import completion
from likewise.cli._datasets import datasets
from likewise.cli._errors import OneLineGroup
from likewise.cli._export import export_command
from likewise.cli._fit import fit
from likewise.cli._info import info
from likewise.cli._live import label, serve
from likewise.cli._neighbors import neighbors
from likewise.cli._report import report
from likewise.cli._reproduce import reproduce
from likewise.cli._transform import transform
from likewise.cli._verify import verify

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
    compare,
    fit,
    verify,
    export_command,
    adapt,
    transform,
    neighbors,
    label,
    serve,
    info,
    datasets,
    report,
    reproduce,
    completion,
):
    main.add_command(_command)
