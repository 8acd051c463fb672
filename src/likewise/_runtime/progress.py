"""The progress of fits with ``verbose=1``: a bar in a terminal, lines elsewhere."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Protocol

import numpy as np

SECONDS_BETWEEN_LINES = 5.0
_MIN_POINTS = 4  # for an extrapolation
_MIN_CORRELATION = 0.9


class Report(Protocol):
    """Report the number of finished iterations and a few current values.

    `excess` is what the stopping test compares with its tolerance, as a multiple of it.
    """

    def __call__(self, done: int, excess: float | None = None, **numbers: float) -> None: ...


def _no_report(done: int, excess: float | None = None, **numbers: float) -> None:
    """Report nothing."""


class TimeLeft:
    """An estimate of the time until the stopping test is met, or the last iteration is done.

    The logarithm of `excess`, which is 0 at the end, is extrapolated with the slope of a line in
    time through all reports. There is at least one more report to come, as late as the last one.
    Where the logarithms are not close to a line, there is no estimate. Convergence is often less
    regular than that, so it is a rough guide: of 41 estimates in seven fits that did not serve to
    choose this rule, 15 were within a factor of 2.

    Parameters
    ----------
    total : int or None
        The largest number of iterations.
    clock : callable
        Returns seconds.
    exact : bool
        Whether there will be exactly `total` iterations: then their time is known from the first
        one on.
    """

    def __init__(
        self,
        total: int | None,
        clock: Callable[[], float] = time.monotonic,
        *,
        exact: bool = False,
    ) -> None:
        self.total, self.clock, self.exact = total, clock, exact
        self.start = clock()
        self._done, self._reported = 0, self.start
        self._points: list[tuple[float, float]] = []

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return self.clock() - self.start

    def report(self, done: int, excess: float | None) -> None:
        """Take in one report."""
        self._done, self._reported = done, self.clock()
        if excess is not None and excess > 0:
            self._points.append((self._reported - self.start, math.log(excess)))

    def estimate(self) -> float | None:
        """Return the seconds left, or None if they are not known."""
        left = self._until_tolerance()
        if left < math.inf or self.exact or 2 * self._done >= (self.total or math.inf):
            left = min(left, self._until_limit())  # early on, most fits end before the limit
        return max(0.0, left - (self.clock() - self._reported)) if left < math.inf else None

    def _until_tolerance(self) -> float:
        """Return the time until the excess is 1; infinite if that is not known."""
        if len(self._points) < _MIN_POINTS:
            return math.inf
        times, logs = np.array(self._points).T
        interval, excess = times[-1] - times[-2], max(0.0, float(logs[-1]))
        times, centred = times - times.mean(), logs - logs.mean()
        spread = float(np.linalg.norm(times) * np.linalg.norm(centred))
        if not spread or times @ centred > -_MIN_CORRELATION * spread:
            return math.inf
        slope = float(times @ centred / (times @ times))
        return max(-excess / slope, float(interval))

    def _until_limit(self) -> float:
        """Return the time of all remaining iterations; infinite if that is not known."""
        if self.total is None or not self._done:
            return math.inf
        return (self._reported - self.start) * (self.total - self._done) / self._done


class _Work:
    """What is shown of one piece of work."""

    def __init__(self, title: str, total: int | None, exact: bool) -> None:
        self.title, self.total, self.done, self.numbers = title, total, 0, ""
        self.time_left = TimeLeft(total, exact=exact)
        self.moved: Callable[[int], None] = lambda done: None

    def report(self, done: int, excess: float | None = None, **numbers: float) -> None:
        """Take in one report."""
        self.time_left.report(done, excess)
        self.moved(done)
        self.done = done
        self.numbers = ", ".join(f"{name} {value:.6g}" for name, value in numbers.items())

    def status(self, *, ended: bool = False) -> str:
        """Return the numbers, the time spent and, before the end, an estimate of the time left."""
        left = None if ended else self.time_left.estimate()
        parts = [
            "" if self.total is None else f"{self.done}/{self.total}",
            self.numbers,
            f"{_clock_time(self.time_left.elapsed())} elapsed",
            "" if left is None else f"about {_clock_time(left)} left",
        ]
        return ", ".join(part for part in parts if part)

    def __str__(self) -> str:
        return self.status()


@contextmanager
def progress(
    title: str, total: int | None, *, shown: bool, exact: bool = False
) -> Iterator[Report]:
    """Yield a function that takes reports, and show them on stderr if `shown`.

    A terminal gets a bar. A file, a pipe or a notebook gets a line every few seconds, and one at
    the end. Both have the numbers of the last report (objective …), the time spent, and an estimate
    of the time left where there is one. `total` is the largest number of iterations (with `exact`
    their number), or None for work without iterations.
    """
    if not shown:
        yield _no_report
        return
    work = _Work(title, total, exact)
    with _bar(work) if sys.stderr.isatty() else _lines(work):
        yield work.report


@contextmanager
def _lines(work: _Work) -> Iterator[None]:
    """Write a line every few seconds from a thread, so that long iterations are seen as well."""
    ended = threading.Event()

    def write_line() -> None:
        sys.stderr.write(f"{work.title}: {work.status(ended=ended.is_set())}\n")
        sys.stderr.flush()

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


def _clock_time(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
