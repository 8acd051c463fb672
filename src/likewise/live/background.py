"""What is done while annotators look at a pair."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from likewise._runtime.text import reason
from likewise.live.audit_draws import AuditDraws
from likewise.live.chooser import Chooser
from likewise.live.progress import Evaluator
from likewise.live.view import ModelView

__all__ = ["Background"]

_PAUSE_S = 0.02
_RANK_EVERY_S = 0.25
_STALE = 10  # judgements after which pairs are chosen anew
_FIRST_ANCHORS = 16  # of the first scan, so that pairs are there soon
_BUSY = 200  # pairs ready where many annotators work at once


class _Model(Protocol):
    view: ModelView
    choice: str


class Background:
    """Two threads: one refreshes and ranks candidates and draws audit pairs, one evaluates."""

    def __init__(
        self, chooser: Chooser, draws: AuditDraws, evaluator: Evaluator, model: _Model
    ) -> None:
        self._chooser, self._draws, self._evaluator, self._model = chooser, draws, evaluator, model
        self._stopped = threading.Event()
        self._ranked_s = self._refresh_at = self._evaluate_at = 0.0
        self._wanted = 10
        self._refreshed = False
        self._failures: list[str] = []
        self._threads = [
            threading.Thread(
                target=self._run, args=(work, stopped), name=f"likewise {name}", daemon=True
            )
            for name, work, stopped in (
                ("chooser", self._choose, "pairs are no longer chosen"),
                ("evaluator", self._evaluate, "the model is no longer evaluated"),
            )
        ]

    @property
    def failure(self) -> str | None:
        """What is no longer done, and why, if so."""
        return " ".join(self._failures) or None

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End, when what is being done is done."""
        self._stopped.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def _run(self, work: Callable[[], None], stopped: str) -> None:
        try:
            while not self._stopped.wait(_PAUSE_S):
                work()
        except Exception as error:  # noqa: BLE001 - said by `failure`; judging goes on
            self._failures.append(f"{stopped} ({reason(error)}).")

    def _choose(self) -> None:
        view, chooser = self._model.view, self._chooser
        self._draws.fill()
        if self._model.choice == "random":
            return
        if chooser.refreshed_at < 0:
            chooser.refresh(view, _FIRST_ANCHORS)
        elif time.monotonic() >= self._refresh_at and (
            not self._refreshed or view.position - chooser.refreshed_at >= _STALE
        ):
            started = time.monotonic()
            chooser.refresh(view)
            self._refreshed, self._refresh_at = True, _after_rest(started)
        stale = view.position - chooser.ranked_at >= _STALE or chooser.ranked_at < 0
        empty = not len(chooser)
        if (stale or empty) and time.monotonic() - self._ranked_s >= _RANK_EVERY_S * (not empty):
            # Where the queue runs dry between two rankings, more are ready next time.
            self._wanted = min(_BUSY, 2 * self._wanted) if empty and chooser.ranked_at >= 0 else 10
            chooser.rank(view, self._wanted)
            self._ranked_s = time.monotonic()

    def _evaluate(self) -> None:
        if time.monotonic() >= self._evaluate_at:
            started = time.monotonic()
            self._evaluator.update(self._model.view)
            self._evaluate_at = _after_rest(started)


def _after_rest(started: float) -> float:
    """Return when work that has just ended may be done again, to take a tenth of a core."""
    now = time.monotonic()
    return now + 9 * (now - started)
