"""Whatever goes wrong is one line on stderr, never a traceback."""

from __future__ import annotations

import sys
from typing import Any

import click


class Complaint(click.ClickException):
    """Something the user can mend."""

    exit_code = 2


class Interrupted(click.ClickException):
    """The user pressed Ctrl-C."""

    exit_code = 130


class OneLineGroup(click.Group):
    """A group whose commands complain in one line and end with exit code 2 (Ctrl-C: 130)."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; the library's own sentences become complaints."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted("interrupted") from None
        except BrokenPipeError:
            raise  # whoever read our output has read enough: click ends quietly
        except (ValueError, OSError, ImportError, MemoryError) as error:
            raise Complaint(str(error) or type(error).__name__) from error

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line and leave the process."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                # A terminal that cannot show a character shows "?" instead of ending the run.
                stream.reconfigure(errors="replace")
        try:
            sys.exit(super().main(*args, **kwargs | {"standalone_mode": False}))
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.ctx.get_help() if error.ctx else error.format_message())
            sys.exit(0)
        except click.ClickException as error:
            line = " ".join(error.format_message().split())
            click.echo(f"likewise: {line}", err=True)
            sys.exit(error.exit_code)
        except click.Abort:
            click.echo("likewise: interrupted", err=True)
            sys.exit(Interrupted.exit_code)
