"""The console that the commands print to."""

from __future__ import annotations

import errno
import os

from rich.console import Console


class PlainConsole(Console):
    """A console without automatic highlights that raises where a pipe was closed."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(highlight=False, stderr=stderr)

    def on_broken_pipe(self) -> None:
        """Raise the error: rich would exit with 1, which is the code of a bug."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
