"""Errors and warnings become one line each on stderr, without control characters."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import click

from likewise._runtime.text import printable, quote, quote_path

_MAX_LINE = 2000
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


class UserError(click.ClickException):
    """An error that the user can correct."""

    exit_code = 2


class Interrupted(click.ClickException):
    """The user pressed Ctrl-C."""

    exit_code = 130


class OneLineGroup(click.Group):
    """A group that reports errors in one line and exits with code 2 (Ctrl-C: 130)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which a person goes through them."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or raise an error that names all of them."""
        if self.get_command(ctx, args[0]) is None:
            known = ", ".join(self.list_commands(ctx))
            raise click.UsageError(f"there is no command {quote(args[0])}; known are {known}.", ctx)
        return super().resolve_command(ctx, args)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the options; ``--help`` and ``--version`` print here already."""
        with _one_line_errors():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; exceptions of the library become one-line errors."""
        with _one_line_errors(), warnings.catch_warnings():
            warnings.showwarning = lambda message, *args: _print_line(f"warning: {message}")
            return super().invoke(ctx)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line and leave the process."""
        if sys.stdout is None:  # closed by who started the process
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - to the end
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                # A terminal that cannot show a character shows "?" instead of ending the run.
                stream.reconfigure(errors="replace")
        try:
            sys.exit(super().main(*args, **kwargs | {"standalone_mode": False}))
        except click.ClickException as error:
            # As head does: who has read enough closes the pipe, and needs no message.
            if not isinstance(error.__cause__, BrokenPipeError):
                _print_line(error.format_message())
            sys.exit(error.exit_code)
        except click.Abort:
            _print_line("interrupted")
            sys.exit(Interrupted.exit_code)
        except Exception:  # noqa: BLE001 - a bug: its traceback may quote user text
            for line in traceback.format_exc().rstrip("\n").split("\n"):
                click.echo(printable(line), err=True)
            sys.exit(1)


@contextlib.contextmanager
def _one_line_errors() -> Iterator[None]:
    """Turn exceptions of the library, and of writing to stdout, into one-line errors."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # a full disk is noticed here, and not after the exit code
    except KeyboardInterrupt:
        raise Interrupted("interrupted") from None
    except OSError as error:
        if isinstance(error, BrokenPipeError) or error.errno in _DISK_ERRORS:
            _abandon_stdout()
        raise UserError(_os_error_text(error)) from error
    except (ValueError, ImportError, MemoryError, NotImplementedError) as error:
        raise UserError(str(error) or type(error).__name__) from error


def _os_error_text(error: OSError) -> str:
    """Return the message of the library, or what the system says of which file."""
    if error.strerror is None:
        return str(error) or type(error).__name__
    name = "" if error.filename is None else f": {quote_path(error.filename)}"
    return f"{error.strerror}{name}."


def _abandon_stdout() -> None:
    """Send what is still to be written nowhere: Python would fail again when it exits."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _print_line(message: str) -> None:
    click.echo(f"likewise: {printable(' '.join(message.split()), _MAX_LINE)}", err=True)
