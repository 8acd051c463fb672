"""The progress of fits with ``verbose=1``: a bar in a terminal, lines elsewhere."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Protocol

from likewise._runtime.text import printable
from likewise._runtime.time_left import Range, TimeLeft, sum_of

SECONDS_BETWEEN_LINES = 5.0
_SECONDS_BETWEEN_DRAWINGS = 0.1


class Report(Protocol):
    """Report the number of finished iterations and a few current values.

    `excess` is what the stopping test compares with its tolerance, as a multiple of it.
    """

    def __call__(self, done: int, excess: float | None = None, **numbers: float) -> None: ...


def _no_report(done: int, excess: float | None = None, **numbers: float) -> None:
    """Report nothing."""


class _Work:
    """What is shown of one piece of work."""

    def __init__(
        self,
        title: str,
        total: int | None,
        exact: bool,
        expected: Range | None = None,
        later: Range = (0.0, 0.0),
    ) -> None:
        self.title, self.total, self.done, self.numbers = title, total, 0, ""
        self.time_left = TimeLeft(
            total, time.monotonic, exact=exact, expected=expected, later=later
        )
        self.moved: Callable[[int], None] = lambda done: None

    def report(self, done: int, excess: float | None = None, **numbers: float) -> None:
        """Take in one report."""
        self.time_left.report(done, excess)
        self.moved(done)
        self.done = done
        self.numbers = ", ".join(f"{name} {value:.6g}" for name, value in numbers.items())

    def status(self, *, ended: bool = False) -> str:
        """Return the numbers, the time spent and, before the end, the range of the time left."""
        bounds = None if ended else self.time_left.bounds()
        parts = [
            "" if self.total is None else f"{self.done}/{self.total}",
            self.numbers,
            f"{_clock_time(self.time_left.elapsed())} elapsed",
            "" if bounds is None else f"{_in_words(*bounds)} left",
        ]
        return ", ".join(part for part in parts if part)

    def __str__(self) -> str:
        return self.status()


class Overall:
    """One display for all work of a command: its title, or the piece of work that reports now."""

    def __init__(self, title: str) -> None:
        self.work = self._own = _Work(title, None, False)
        self._expected: Range | None = None
        self._stages: list[Range] = []
        self._lock = threading.Lock()  # while it is computed what is expected, nothing is shown

    def expect(self, stages: Callable[[], Iterable[Range]]) -> None:
        """Take in the fewest and the most seconds of each stage of the work that begins now.

        What is wrong with the arguments of `stages` is left for the work to say.
        """
        with self._lock:
            try:
                self._stages = list(stages())
            except (TypeError, ValueError, NotImplementedError):
                return
            self._expected = sum_of(self._stages)
            self.work = self._own = _Work(self._own.title, None, False, self._expected)

    def tell(self, title: str) -> None:
        """Say what is being done now."""
        self._own.title = title

    def move(self, done: int, total: int, what: str) -> None:
        """Say how many of all steps are done, and what is running now.

        Another number of steps, or fewer done than before, begins the next stage.
        """
        if self._own.total != total or done < self._own.done:
            expected = self._stages.pop(0) if self._stages else None
            title, later = self._own.title, sum_of(self._stages)
            self._own = self.work = _Work(title, total, True, expected, later)
        self._own.report(done)
        self._own.numbers = what

    def news(self) -> str | None:
        """Return once, when it is known, what the work is expected to take."""
        with self._lock:
            expected, self._expected = self._expected, None
        title = printable(self._own.title)
        return None if expected is None else _expected_words(title, expected)

    @contextmanager
    def showing(self, work: _Work) -> Iterator[Report]:
        """Show a piece of work that reports by itself, as long as it runs."""
        before, self.work = self.work, work
        try:
            yield work.report
        finally:
            self.work = before

    def line(self, *, ended: bool = False) -> str:
        """Return what is shown."""
        work = self._own if ended else self.work
        return printable(f"{work.title}: {work.status(ended=ended)}")


class _Expectation:
    """The time that a fit was expected to take when it began."""

    def __init__(self, seconds: Range) -> None:
        self.seconds, self.start = seconds, time.monotonic()

    def remaining(self) -> Range:
        """Return what is left of it; the most is negative once the fit takes longer."""
        spent = time.monotonic() - self.start
        return self.seconds[0] - spent, self.seconds[1] - spent


_OVERALL: ContextVar[Overall | None] = ContextVar("overall", default=None)
_EXPECTED: ContextVar[_Expectation | None] = ContextVar("expected", default=None)


@contextmanager
def expecting(title: str, estimate: Callable[[], Range | None], *, shown: bool) -> Iterator[None]:
    """Show what a fit is expected to take; its time left begins with that.

    `estimate` returns the fewest and the most seconds, or None if they are not known. It is called
    only where something is shown: at once if `shown`, or in the display of a command.
    """
    overall = _OVERALL.get()
    seconds = estimate() if shown or overall is not None else None
    if seconds is not None and overall is None:
        _write_line(_expected_words(title, seconds))
    token = _EXPECTED.set(None if seconds is None else _Expectation(seconds))
    try:
        if seconds is None or overall is None:
            yield
        else:
            with overall.showing(_Work(title, None, False, seconds)):
                yield
    finally:
        _EXPECTED.reset(token)


@contextmanager
def overall_progress(title: str, *, after: float = 2.0, nested: bool = True) -> Iterator[Overall]:
    """Show what takes longer than `after` seconds: a bar in a terminal, lines elsewhere.

    With `nested`, a fit in the block shows its own progress in this display, whatever its
    `verbose`.
    """
    overall, ended = Overall(title), threading.Event()
    show = _draw if sys.stderr.isatty() else _write_lines
    thread = threading.Thread(
        target=show, args=(overall, ended, after), name="likewise progress", daemon=True
    )
    thread.start()
    token = _OVERALL.set(overall if nested else None)
    try:
        yield overall
    finally:
        _OVERALL.reset(token)
        ended.set()
        thread.join()


def _write_lines(overall: Overall, ended: threading.Event, after: float) -> None:
    if ended.wait(after):
        return
    while True:
        for line in (overall.news(), overall.line(ended=ended.is_set())):
            if line is not None:
                _write_line(line)
        if ended.is_set():
            return
        ended.wait(SECONDS_BETWEEN_LINES)


def _draw(overall: Overall, ended: threading.Event, after: float) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    if ended.wait(after):
        return
    columns = (BarColumn(bar_width=20), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(overall.line(), total=None)
        while not ended.wait(_SECONDS_BETWEEN_DRAWINGS):
            if (news := overall.news()) is not None:
                bar.console.print(news, markup=False, highlight=False)
            work = overall.work
            bar.update(task, completed=work.done, total=work.total, description=overall.line())


@contextmanager
def progress(
    title: str, total: int | None, *, shown: bool, exact: bool = False
) -> Iterator[Report]:
    """Yield a function that takes reports, and show them on stderr if `shown`.

    A terminal gets a bar. A file, a pipe or a notebook gets a line every few seconds, and one at
    the end. Both have the numbers of the last report (objective …), the time spent, and the
    range of the time left where it is known. `total` is the largest number of iterations, or None
    for work without iterations.
    """
    overall, expectation = _OVERALL.get(), _EXPECTED.get()
    if overall is None and not shown:
        yield _no_report
        return
    expected = None if expectation is None else expectation.remaining()
    work = _Work(title, total, exact, expected)
    if overall is not None:
        with overall.showing(work) as report:
            yield report
        return
    with _bar(work) if sys.stderr.isatty() else _lines(work):
        yield work.report


@contextmanager
def _lines(work: _Work) -> Iterator[None]:
    """Write a line every few seconds from a thread, so that long iterations are seen as well."""
    ended = threading.Event()

    def write_line() -> None:
        _write_line(f"{work.title}: {work.status(ended=ended.is_set())}")

    def write_lines() -> None:
        while not ended.wait(SECONDS_BETWEEN_LINES):
            write_line()

    thread = threading.Thread(target=write_lines, name="likewise progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        write_line()


@contextmanager
def _bar(work: _Work) -> Iterator[None]:
    """Show a bar, which rich draws again several times a second."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    # The text of a field is made whenever the bar is drawn.
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[work]}"))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(work.title, total=work.total, work=work)
        work.moved = lambda done: bar.update(task, completed=done)
        yield


def _in_words(fewest: float, most: float) -> str:
    """Write a range of seconds; its middle is enough where that is within a factor of 2."""
    if most < 1:
        return "less than a second"
    if most <= 4 * fewest:
        return f"about {_clock_time(math.sqrt(fewest * most))}"
    if fewest < 0.5:
        return f"at most {_clock_time(most)}"
    return f"{_clock_time(fewest)} to {_clock_time(most)}"


def _expected_words(title: str, seconds: Range) -> str:
    return f"{title}: {_in_words(*seconds)} expected"


def _write_line(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _clock_time(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
