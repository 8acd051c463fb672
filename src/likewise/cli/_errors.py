"""Errors become one line on stderr, never a traceback."""

from __future__ import annotations

import sys
from typing import Any

import click


class UserError(click.ClickException):
    """An error that the user can correct."""

    exit_code = 2


class Interrupted(click.ClickException):
    """The user pressed Ctrl-C."""

    exit_code = 130


class OneLineGroup(click.Group):
    """A group that reports errors in one line and exits with code 2 (Ctrl-C: 130)."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; exceptions of the library become one-line errors."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted("interrupted") from None
        except BrokenPipeError:
            raise  # the reader of the pipe has closed it: click exits quietly
        except (ValueError, OSError, ImportError, MemoryError) as error:
            raise UserError(str(error) or type(error).__name__) from error

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line and leave the process."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                # A terminal that cannot show a character shows "?" instead of ending the run.
                stream.reconfigure(errors="replace")
        try:
            sys.exit(super().main(*args, **kwargs | {"standalone_mode": False}))
        except click.ClickException as error:
            line = " ".join(error.format_message().split())
            click.echo(f"likewise: {line}", err=True)
            sys.exit(error.exit_code)
        except click.Abort:
            click.echo("likewise: interrupted", err=True)
            sys.exit(Interrupted.exit_code)
