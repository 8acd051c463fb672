"""Which annotator is given which pair."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from likewise.live.audit_draws import AuditDraws
from likewise.live.chooser import Chooser
from likewise.live.events import Source
from likewise.live.items import Items
from likewise.live.ledger import Ledger, pair_key
from likewise.live.pending import Offer, Pending
from likewise.live.reserve import AuditReserve

__all__ = ["PairSampler"]


class PairSampler:
    """Gives pairs to annotators: of the audit stream, chosen ones, and some that others judged.

    Parameters
    ----------
    items : Items
    ledger : Ledger
    pending : Pending
    reserve : AuditReserve
    annotators : sequence of str
    audit : {"random", "nearby"}
    choice : {"active", "random"}
    overlap : float
        The probability that a pair which another annotator has judged is given.
    seed : int
    """

    def __init__(
        self,
        items: Items,
        ledger: Ledger,
        pending: Pending,
        reserve: AuditReserve,
        *,
        annotators: Sequence[str],
        audit: str,
        choice: str,
        overlap: float,
        seed: int,
    ) -> None:
        self._items, self._ledger, self._pending, self._reserve = items, ledger, pending, reserve
        self._active = choice == "active"
        self._overlap = overlap if len(annotators) > 1 else 0.0
        self._random = np.random.default_rng(seed)
        self._lock = threading.Lock()
        X = items.vectors
        self.chooser = Chooser(X, self._is_free, seed, reserve.contains)
        self.draws = AuditDraws(X, reserve, self._is_free, audit == "nearby", seed + 1)

    def next(self, annotator: str, tab: str | None) -> Offer | None:
        """Return the next pair for an annotator, or None if there is none now."""
        while (undone := self._pending.take_undone(annotator, tab)) is not None:
            if not any(e.annotator == annotator for e in self._ledger.of_pair(*undone[:2])):
                offer = self._pending.add(*undone, annotator, tab)
                if offer is not None:
                    return offer
        if tab is not None and (offer := self._pending.of_tab(annotator, tab)) is not None:
            return offer
        for _ in range(20):  # another annotator may be given the same pair in between
            found = self._draw(annotator)
            if found is None:
                return None
            (left, right), source = found
            offer = self._pending.add(left, right, source, annotator, tab)
            if offer is not None:
                return offer
        return None

    def _draw(self, annotator: str) -> tuple[tuple[str, str], Source] | None:
        with self._lock:
            draws = self._random.random(2)
        if draws[0] < self._overlap:
            again = self._judged_by_others(annotator)
            if again is not None:
                return again
        source: Source = "audit"
        rows = self.draws.take() if draws[1] < self._reserve.share else None
        if rows is None:
            rows = self.chooser.take() if self._active else self.chooser.take_random()
            source = "chosen"
        if rows is None:
            rows, source = self.draws.take_any(), "audit"
        if rows is None:
            return None
        return (self._items.id_of(rows[0]), self._items.id_of(rows[1])), source

    def _judged_by_others(self, annotator: str) -> tuple[tuple[str, str], Source] | None:
        """Return a random pair that one other annotator has judged."""
        events = self._ledger.events
        if not events:
            return None
        with self._lock:
            tries = self._random.integers(len(events), size=20).tolist()
        for number in tries:
            event = events[number]
            if event.kind == "undo" or event.annotator == annotator:
                continue
            judged = self._ledger.of_pair(event.left, event.right)
            if len(judged) == 1 and pair_key(event.left, event.right) not in self._pending:
                return (event.left, event.right), event.source
        return None

    def _is_free(self, left: int, right: int) -> bool:
        """Return whether a pair of rows is neither judged nor pending."""
        first, second = self._items.id_of(left), self._items.id_of(right)
        return not (
            self._ledger.is_judged(first, second) or pair_key(first, second) in self._pending
        )
