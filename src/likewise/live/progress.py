"""How far the labelling has come, and whether one can stop."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import asdict
from operator import attrgetter
from typing import Any

import numpy as np

from likewise._runtime.arrays import BoolArray, IndexArray
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import pluralize
from likewise.live.audit import AuditPairs, audit_report, learning_curve
from likewise.live.events import Event
from likewise.live.items import Items
from likewise.live.scan import scan_rows
from likewise.live.view import ModelView
from likewise.live.writer import Writer

__all__ = ["Evaluator"]

_EVERY_S = 1.0
_LOOK_BACK = 200
_FEW_CHANGES = 0.01
_N_PAIRS = 2048
_number: Callable[[Event], int] = attrgetter("number")


class Evaluator:
    """Evaluates models on the audit stream and on fixed pairs of items, in the background.

    The fixed pairs are 2048 random ones, half of them of neighbours by the vectors as given: how
    many of their decisions change tells whether more judgements are worth it.
    """

    def __init__(
        self,
        items: Items,
        writer: Writer,
        checkpoints: dict[int, ModelView],
        target: str,
        *,
        nearby: bool = False,
    ) -> None:
        self._items, self._writer, self._checkpoints = items, writer, checkpoints
        self._target, self._nearby = target, nearby
        self._pairs: IndexArray | None = None
        self._decisions: dict[int, tuple[ModelView, BoolArray]] = {}
        self._done: tuple[int, int] | None = None
        self._done_s = 0.0
        self.report: dict[str, Any] = {
            "curve": [],
            "audit": None,
            "stop": {"can_stop": False, "message": "The model is not evaluated yet."},
        }

    def update(self, view: ModelView, *, now: bool = False) -> None:
        """Evaluate, if something was judged since the last time, at most once a second."""
        state = len(self._writer.ledger), view.position
        if not now and (state == self._done or time.monotonic() - self._done_s < _EVERY_S):
            return
        with single_threaded_blas():  # the other cores are for those who wait for an answer
            self.report = self._evaluate(view)
        self._done, self._done_s = state, time.monotonic()

    def _evaluate(self, view: ModelView) -> dict[str, Any]:
        X = self._items.vectors
        if self._pairs is None:
            self._pairs = _fixed_pairs(X)
        audit = self.audit_pairs()
        checkpoints = dict(self._checkpoints)
        return {
            "curve": [asdict(point) for point in learning_curve(X, audit, checkpoints)],
            "audit": audit_report(X, audit, view, checkpoints, self._target, nearby=self._nearby),
            "stop": self._stop_message(view, checkpoints),
        }

    def audit_pairs(self) -> AuditPairs:
        """Return the decided pairs of the audit stream."""
        with self._writer.changing():
            events = list(self._writer.ledger.audited)
            learned = list(self._writer.ledger.learned)
        rows = [(self._items.row_of(e.left), self._items.row_of(e.right)) for e in events]
        return AuditPairs(
            np.array(rows, dtype=np.int64).reshape(-1, 2),
            np.array([event.answer == "same" for event in events], dtype=np.bool_),
            [event.annotator for event in events],
            np.array(
                [bisect_right(learned, e.number, key=_number) for e in events], dtype=np.int64
            ),
        )

    def _stop_message(self, view: ModelView, checkpoints: dict[int, ModelView]) -> dict[str, Any]:
        with self._writer.changing():
            learned = list(self._writer.ledger.learned)
            n_judged = self._writer.ledger.n_pairs
        n_left = len(self._items) * (len(self._items) - 1) // 2 - n_judged
        missing = _missing_kinds({event.answer for event in learned})
        if not n_left:
            return _stop(True, f"There is nothing left to judge. {missing}")
        earlier = [at for at in checkpoints if at <= view.position - _LOOK_BACK]
        if not earlier:
            to_learn = _LOOK_BACK - view.position
            text = f"Too early to stop: {to_learn} more judgements to learn from tell more."
            if n_left < to_learn:
                verb = "is" if n_left == 1 else "are"
                text = f"Go on: {pluralize(n_left, 'pair')} {verb} left to judge."
            return _stop(False, f"{text} {missing if view.position else ''}")
        before = checkpoints[max(earlier)]
        changed = float((self._decide(view) != self._decide(before)).mean())
        if missing:  # a model that calls all pairs alike does not change either
            return _stop(False, f"Go on. {missing}", changed)
        n = view.position - before.position
        fact = f"the last {n} judgements changed {100 * changed:.2g} % of decisions"
        can_stop = changed <= _FEW_CHANGES
        return _stop(can_stop, f"You can stop: {fact}." if can_stop else f"Go on: {fact}.", changed)

    def _decide(self, view: ModelView) -> BoolArray:
        known = self._decisions.get(view.position)
        if known is not None and known[0] is view:
            return known[1]
        assert self._pairs is not None
        found = view.distances(self._items.vectors, self._pairs) <= view.threshold
        if len(self._decisions) > 100:
            self._decisions.clear()
        self._decisions[view.position] = view, found
        return found


def _stop(can_stop: bool, message: str, changed: float | None = None) -> dict[str, Any]:
    return {"can_stop": can_stop, "changed": changed, "message": message.strip()}


def _missing_kinds(kinds: set[str]) -> str:
    """Return a sentence about the kind of answer that nothing was learned from, if any."""
    missing = [f"“{answer}”" for answer in ("same", "different") if answer not in kinds]
    if not missing:
        return ""
    return f"No pair to learn from was answered {' or '.join(missing)}: both kinds are needed."


def _fixed_pairs(X: Any) -> IndexArray:
    rng = np.random.default_rng(0)
    n_items = len(X)
    first = rng.integers(n_items, size=_N_PAIRS // 2)
    second = (first + rng.integers(1, n_items, size=len(first))) % n_items
    anchors = np.sort(rng.choice(n_items, min(128, n_items), replace=False))
    nearest = scan_rows(X, None, anchors, _N_PAIRS // 2 // len(anchors)).nearest
    near = np.stack([np.repeat(anchors, nearest.shape[1]), nearest.ravel()], axis=1)
    return np.vstack([np.stack([first, second], axis=1), near]).astype(np.int64)
