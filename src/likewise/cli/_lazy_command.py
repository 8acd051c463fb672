"""Commands that are imported when they are called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click


class LazyCommand(click.Command):
    """A command whose module is imported when it is called, or its own help is shown.

    Scikit-learn alone takes more than a second to import; the list of commands and their completion
    in a shell need none of it.

    Parameters
    ----------
    name : str
        What the user types.
    module : str
        The module of `likewise.cli` that defines the command.
    short_help : str
        The first sentence of the command's help.
    function : str, optional
        The name of the command in the module; `name` by default.
    """

    def __init__(
        self, name: str, module: str, short_help: str, function: str | None = None
    ) -> None:
        super().__init__(name, short_help=short_help)
        self._module, self._function = f"likewise.cli.{module}", function or name

    def load(self) -> click.Command:
        """Import the command."""
        command: click.Command = getattr(import_module(self._module), self._function)
        return command

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Return a context of the imported command."""
        return self.load().make_context(info_name, args, parent, **extra)
