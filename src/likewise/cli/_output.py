"""What the commands print and write."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from likewise._runtime.text import printable, quote_path
from likewise._runtime.writing import write_atomically
from likewise.evaluation import Comparison, MethodResult, PairComparison, PairMethodResult
from likewise.methods import Method


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int, str], None]]:
    """Yield a callback that moves a bar on stderr; without a terminal there it shows nothing."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, total, what: None
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def move(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total, description=printable(what))

        yield move


MAX_ITEM = 200


def print_comparison(comparison: Comparison | PairComparison) -> None:
    """Print the table, what went wrong, and the verdict."""
    console = Console(highlight=False)
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
    Console(highlight=False).print(grid)


def print_lines(*lines: str) -> None:
    """Print lines as they are."""
    console = Console(highlight=False)
    for line in lines:
        console.print(_text(line), soft_wrap=True)


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
    Console(highlight=False).print(grid)


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
    if path is not None and not os.access(path.absolute().parent, os.W_OK):
        raise ValueError(f"cannot write {quote_path(path)}: there is no folder there to write in.")


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file that appears complete or not at all."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    # Within strings, characters that cannot be seen stand as JSON's escapes.
    escaped = (c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    write_atomically(path, "".join([*escaped, "\n"]).encode())
