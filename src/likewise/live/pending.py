"""Pairs that were given to annotators and not answered yet."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from likewise.live.events import Source
from likewise.live.ledger import PairKey, pair_key

__all__ = ["Offer", "Pending"]

Tab = tuple[str, str | None]
_LEASE_S = 900.0
_MAX_REMEMBERED = 100_000


@dataclass(frozen=True)
class Offer:
    """A pair that was given to an annotator."""

    left: str
    right: str
    source: Source
    annotator: str
    tab: str | None
    until: float


class Pending:
    """Which pairs wait for an answer: none is given twice while it does.

    After 15 minutes without an answer a pair may be given again. To whom it was shown, and why, is
    remembered for late answers. Times are those of a clock that never jumps.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._offers: OrderedDict[PairKey, Offer] = OrderedDict()  # the oldest first
        self._by_tab: dict[Tab, list[PairKey]] = {}  # the last one is shown
        self._undone: dict[Tab, list[tuple[str, str, Source]]] = {}
        self._shown: OrderedDict[tuple[PairKey, str], Source] = OrderedDict()  # to whom, and why

    def __len__(self) -> int:
        return len(self._offers)

    def __contains__(self, key: PairKey) -> bool:
        offer = self._offers.get(key)
        return offer is not None and offer.until > self._clock()

    def add(
        self, left: str, right: str, source: Source, annotator: str, tab: str | None
    ) -> Offer | None:
        """Give a pair away, or return None if it is pending."""
        key = pair_key(left, right)
        with self._lock:
            self._forget_expired()
            if key in self:
                return None
            offer = Offer(left, right, source, annotator, tab, self._clock() + _LEASE_S)
            self._offers[key] = offer
            if tab is not None:
                self._by_tab.setdefault((annotator, tab), []).append(key)
            self._shown[key, annotator] = source
            while len(self._shown) > _MAX_REMEMBERED:
                self._shown.popitem(last=False)
            return offer

    def of_tab(self, annotator: str, tab: str) -> Offer | None:
        """Return the pair that a tab of a browser waits for: a reload shows it again."""
        with self._lock:
            self._forget_expired()
            keys = self._by_tab.get((annotator, tab))
            return self._offers[keys[-1]] if keys else None

    def source_of(self, left: str, right: str, annotator: str) -> Source | None:
        """Return why a pair was shown to an annotator, in whichever tab, or None if it was not."""
        return self._shown.get((pair_key(left, right), annotator))

    def answered(self, left: str, right: str, annotator: str) -> None:
        """Let a pair go; one that waits for another annotator goes on waiting."""
        key = pair_key(left, right)
        with self._lock:
            offer = self._offers.get(key)
            if offer is not None and offer.annotator == annotator:
                self._forget(key)

    def undone(
        self, left: str, right: str, source: Source, annotator: str, tab: str | None
    ) -> None:
        """Remember a pair whose answer was undone, to ask about it again."""
        with self._lock:
            self._undone.setdefault((annotator, tab), []).append((left, right, source))

    def take_undone(self, annotator: str, tab: str | None) -> tuple[str, str, Source] | None:
        """Return the pair whose answer was undone last and that was not taken yet."""
        with self._lock:
            waiting = self._undone.get((annotator, tab))
            return waiting.pop() if waiting else None

    def _forget_expired(self) -> None:
        now = self._clock()
        while self._offers and (oldest := next(iter(self._offers.items())))[1].until <= now:
            self._forget(oldest[0])

    def _forget(self, key: PairKey) -> None:
        offer = self._offers.pop(key, None)
        if offer is not None and offer.tab is not None:
            keys = self._by_tab[offer.annotator, offer.tab]
            keys.remove(key)
            if not keys:
                del self._by_tab[offer.annotator, offer.tab]
