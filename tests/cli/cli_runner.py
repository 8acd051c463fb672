"""The command line, run inside this process."""

import inspect

from click.testing import CliRunner

from likewise.cli import main

# Click 8.1 keeps stderr apart on request; from 8.2 on it always does.
APART = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}


def invoke(command, *arguments, **options):
    return CliRunner(**APART).invoke(main, [command, *map(str, arguments)], **options)
