"""Interrupts and time limits, which a fit answers by returning its best model so far."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

from likewise._runtime.text import quote

_DEADLINE: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Let fits stop after some time, with the best model so far and a ConvergenceWarning.

    A fit looks at the clock after every iteration, or pass over a stream: it stops at the end of
    the one that is running, and makes at least one. Methods with a closed form are not stopped. In
    nested blocks the earliest limit holds.

    Parameters
    ----------
    seconds : float or None
        From now on, for all fits in the block together; None for no limit.

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.base import time_limit
    >>> wine = lw.datasets.load("wine")
    >>> with time_limit(60):
    ...     model = lw.LMNN().fit(wine.X, wine.y)
    >>> model.converged_
    True
    """
    if seconds is not None and not (isinstance(seconds, int | float) and seconds > 0):
        raise ValueError(f"seconds={quote(seconds)} is not allowed: a number above 0 is needed.")
    before = _DEADLINE.get()
    known = [] if seconds is None else [time.monotonic() + seconds]
    known += [] if before is None else [before]
    token = _DEADLINE.set(min(known, default=None))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def out_of_time() -> bool:
    """Return whether the time limit, if there is one, has passed."""
    deadline = _DEADLINE.get()
    return deadline is not None and time.monotonic() > deadline


@contextmanager
def noticed_interrupts() -> Iterator[Callable[[], None]]:
    """Yield a function that raises KeyboardInterrupt if there was an interrupt since the start.

    An iterative fit that is interrupted returns its best model so far. Work that consists of many
    fits calls the function after each, so that Ctrl-C ends all of it. Only the main thread receives
    interrupts: in others the function does nothing.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield lambda: None
        return
    interrupted = False

    def notice(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        handler(number, frame)

    def check() -> None:
        if interrupted:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, notice)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, handler)


def check_time() -> None:
    """Raise KeyboardInterrupt after the time limit, where loops of their own answer that."""
    if out_of_time():
        raise KeyboardInterrupt
