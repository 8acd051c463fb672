"""``likewise completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_LIKEWISE_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that lets SHELL complete commands and options.

    \b
    Examples:
      likewise completion bash >> ~/.bashrc
      likewise completion zsh >> ~/.zshrc
      likewise completion fish > ~/.config/fish/completions/likewise.fish
    """
    made = get_completion_class(shell)
    assert made is not None
    group = context.find_root().command
    script = made(group, {}, "likewise", VARIABLE)
    # The version of the shell is its user's business: it need not be installed here.
    click.echo(script.source_template % script.source_vars())
