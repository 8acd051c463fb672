"""A progress bar for fits with ``verbose=1``; rich is imported only then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Report(Protocol):
    """Report the number of finished iterations and a few current values."""

    def __call__(self, done: int, **numbers: float) -> None: ...


def _no_report(done: int, **numbers: float) -> None:
    """Report nothing."""


@contextmanager
def progress(title: str, total: int | None, *, shown: bool) -> Iterator[Report]:
    """Yield a function that moves a bar on stderr, or one that does nothing if not `shown`.

    The bar shows the numbers of the last report (objective, active constraints …), the time
    spent and an estimate of the time left.
    """
    if not shown:
        yield _no_report
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[numbers]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total, numbers="")

        def report(done: int, **numbers: float) -> None:
            shown_numbers = " ".join(f"{name} {value:.6g}" for name, value in numbers.items())
            bar.update(task, completed=done, numbers=shown_numbers)

        yield report
