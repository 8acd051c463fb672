"""The command ``likewise``: each subcommand is a thin wrapper of one public function."""

from __future__ import annotations

import click

from likewise.cli._compare import compare
from likewise.cli._errors import OneLineGroup
from likewise.cli._export import export_command
from likewise.cli._info import info
from likewise.cli._reproduce import reproduce

__all__ = ["main"]


@click.group(
    cls=OneLineGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(package_name="likewise", prog_name="likewise")
@click.pass_context
def main(context: click.Context) -> None:
    """Distance metric learning: compare metrics, export models, reproduce papers.

    \b
    Example:
      likewise compare digits
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


main.add_command(compare)
main.add_command(export_command)
main.add_command(info)
main.add_command(reproduce)
