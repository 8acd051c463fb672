"""A progress bar for fits that the user asked to watch; nothing is imported until then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Report(Protocol):
    """Tell whoever watches how far the work has come and a few numbers about it."""

    def __call__(self, done: int, **numbers: float) -> None: ...


def _say_nothing(done: int, **numbers: float) -> None:
    """Report to nobody."""


@contextmanager
def progress(title: str, total: int | None, *, shown: bool) -> Iterator[Report]:
    """Yield a function that moves a bar on stderr, or one that does nothing if not `shown`.

    The bar shows the numbers of the last report (objective, active constraints …), the time
    spent and an estimate of the time left.
    """
    if not shown:
        yield _say_nothing
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
