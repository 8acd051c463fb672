"""Interrupts that a fit has answered by returning its best model so far."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


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
