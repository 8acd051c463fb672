"""Processor times."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_SMALLEST = 1e-9  # s: a time may be divided by


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return the result of some work, and its processor time in seconds."""
    start = time.process_time()
    result = work()
    return result, max(time.process_time() - start, _SMALLEST)


def mean_seconds(work: Callable[[], object], *, at_least: float) -> float:
    """Return the processor time of some work: the mean of as many runs as take `at_least` s."""
    n_runs, spent = 0, 0.0
    while spent < at_least:
        spent += timed(work)[1]
        n_runs += 1
    return spent / n_runs
