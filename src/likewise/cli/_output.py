"""What the commands print and write."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from likewise._runtime.arrays import Array
from likewise._runtime.text import printable, quote_path
from likewise._runtime.writing import write_atomically
from likewise.base import Estimate
from likewise.cli._console import PlainConsole
from likewise.cli._data import is_dataset_name
from likewise.datasets import write_table
from likewise.datasets._writing import check_table_format
from likewise.evaluation import Comparison, MethodResult, PairComparison, PairMethodResult
from likewise.methods import Method

MAX_ITEM = 200


def print_comparison(comparison: Comparison | PairComparison) -> None:
    """Print the table, what went wrong, and the verdict."""
    console = PlainConsole()
    # Sentences wrap in a terminal only: elsewhere a line is a line, for grep and the like.
    whole_lines = not console.is_terminal
    table = _table(comparison)
    unlimited = console.options.update(width=10_000)
    if Measurement.get(console, unlimited, table).maximum <= console.width:
        console.print(table)
    else:  # too narrow for columns: cells cut short would be worse than words
        for row in comparison.rows:
            console.print(_text(_in_words(row, comparison.headings)))
        console.print(_text(comparison.caption, "dim"))
    for note in comparison.notes:
        console.print(_text(note), soft_wrap=whole_lines)
    console.print(_text(comparison.verdict, "bold"), soft_wrap=whole_lines)


def _table(comparison: Comparison | PairComparison) -> Table:
    table = Table(caption=_text(comparison.caption), caption_justify="left")
    table.add_column("metric", no_wrap=True)
    for heading in comparison.headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in comparison.rows:
        style = "bold" if row.name == comparison.recommended else None
        table.add_row(_text(row.name), *row.cells, style=style)
    return table


def _in_words(row: MethodResult | PairMethodResult, headings: Sequence[str]) -> str:
    cells = zip(headings, row.cells, strict=True)
    return f"{row.name}: " + ", ".join(f"{heading} {cell}" for heading, cell in cells if cell)


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values in two columns."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts.items():
        grid.add_row(_text(name, "bold"), _text(_in_line(value)))
    PlainConsole().print(grid)


def print_lines(*lines: str) -> None:
    """Print lines as they are."""
    console = PlainConsole()
    for line in lines:
        console.print(_text(line), soft_wrap=True)


def print_note(line: str, *, stdout: bool) -> None:
    """Print what is known before the result, at once: on stdout, or on stderr."""
    console = PlainConsole(stderr=not stdout)
    console.print(_text(line), soft_wrap=not console.is_terminal)
    console.file.flush()


def print_methods(methods: Iterable[Method]) -> None:
    """Print the methods, kind by kind."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for kind, members in groupby(methods, attrgetter("kind")):
        grid.add_row(Text(f"{kind}s", style="bold underline"))
        for method in members:
            details = f"from {method.supervision}" + f" · {method.paper}" * bool(method.paper)
            grid.add_row(Text(method.name, style="bold"), Text(method.summary))
            grid.add_row("", Text(details, style="dim"))
    PlainConsole().print(grid)


def _in_line(value: Any) -> str:
    if isinstance(value, Mapping):
        items = [f"{name} {printable(str(item), MAX_ITEM)}" for name, item in value.items()]
        return ", ".join(items) or "none"
    return str(value)


def _text(text: str, style: str = "") -> Text:
    """Return text for the terminal: it may quote a file, but no escape sequence passes."""
    return Text(printable(text), style=style)


def check_writable(path: Path | None) -> None:
    """Raise before any work if the output cannot be written."""
    if path is None or str(path) == "-":
        return
    folder = path.absolute().parent
    if not folder.is_dir():
        raise ValueError(f"cannot write {quote_path(path)}: there is no folder there to write in.")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"cannot write {quote_path(path)}: its folder is read-only.")
    if path.is_dir():
        raise ValueError(f"cannot write {quote_path(path)}: it is a folder.")


def check_outputs(
    outputs: Mapping[str, Path | None], inputs: Mapping[str, str | Path | None]
) -> None:
    """Raise before any work if an output cannot be written, or is an input or another output.

    Both are by the names of their options. An input that is stdin or a data set is no file.
    """
    read = {
        title: Path(given)
        for title, given in inputs.items()
        if given is not None
        and not (isinstance(given, str) and (given == "-" or is_dataset_name(given)))
    }
    written: dict[str, Path] = {}
    for title, path in outputs.items():
        if path is None or (title == "--json" and str(path) == "-"):
            continue
        if str(path) == "-":
            raise ValueError(f"{title} is '-', but a file is needed: only --json writes to stdout.")
        check_writable(path)
        for other, source in read.items():
            if _is_same_file(path, source):
                raise ValueError(
                    f"{title} {quote_path(path)} would replace {other}, which is the same file: "
                    "name another file."
                )
        for other, target in written.items():
            if _is_same_file(path, target):
                raise ValueError(
                    f"{other} and {title} are both {quote_path(path)}, but each needs a file of "
                    "its own."
                )
        written[title] = path


def _is_same_file(one: Path, other: Path) -> bool:
    """Return whether two paths are one file, also by links; nothing in a device is replaced."""
    if one.exists() and other.exists():
        return one.is_file() and os.path.samefile(one, other)
    return os.path.realpath(one) == os.path.realpath(other)


def check_model_output(
    output: Path, others: Mapping[str, Path | None], inputs: Mapping[str, str | Path | None]
) -> None:
    """Raise before any work if a model cannot be written to ``--output``, as `check_outputs`."""
    check_outputs({"--output": output, **others}, inputs)
    if output.suffix != ".safetensors" and (output.is_file() or not output.exists()):
        raise ValueError(
            f"--output is {quote_path(output)}, but the file of a model must end in .safetensors."
        )


def check_table_output(
    output: Path | None, json_file: Path | None, inputs: Mapping[str, str | Path | None]
) -> None:
    """Raise before any work as `check_outputs`, or if the format of a table is not known."""
    if str(output) == "-":
        raise ValueError("--output is '-', but a file is needed; without it, CSV goes to stdout.")
    check_outputs({"--output": output, "--json": json_file}, inputs)
    if output is not None:
        check_table_format(output)


def show(json_file: Path | None, content: Mapping[str, Any], print_it: Callable[[], None]) -> None:
    """Print a result, and write it as JSON if asked to; on stdout, JSON takes its place."""
    if str(json_file) == "-":
        click.echo(_json_text(content), nl=False)
        return
    print_it()
    if json_file is not None:
        write_atomically(json_file, _json_text(content).encode())


def show_estimate(json_file: Path | None, estimate: Estimate) -> None:
    """Print what something would take."""
    show(json_file, asdict(estimate), lambda: print_lines(f"It would take {estimate}."))


def show_table(
    output: Path | None,
    json_file: Path | None,
    columns: Mapping[str, Array],
    facts: dict[str, Any],
) -> None:
    """Write a table to a file, with a summary on stdout, or as CSV to stdout; and as JSON."""
    content = dict(facts) | {"columns": {name: part.tolist() for name, part in columns.items()}}

    def print_it() -> None:
        if output is None:
            write_table(sys.stdout.buffer, columns)
        else:
            print_facts(facts | {"written": str(output)})

    if output is not None:
        write_table(output, columns)
    if json_file is None:  # a long table is not turned into lists for nothing
        print_it()
    else:
        show(json_file, content, print_it)


def _json_text(content: Mapping[str, Any]) -> str:
    text = json.dumps(_finite(content), indent=2, ensure_ascii=False, allow_nan=False)
    # Within strings, characters that cannot be seen stand as JSON's escapes.
    escaped = (c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    return "".join([*escaped, "\n"])


def _finite(value: Any) -> Any:
    """Return plain values, in which numbers that JSON does not have are None."""
    if isinstance(value, Mapping):
        return {str(name): _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _finite(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | type(None)) else str(value)
