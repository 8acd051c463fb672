"""Which judgements are in force, and which of them are learned from, in which order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter

from likewise.live.events import Event

__all__ = ["Ledger"]

PairKey = tuple[str, str]


def pair_key(left: str, right: str) -> PairKey:
    """Return the pair without its order."""
    return (left, right) if left <= right else (right, left)


@dataclass
class Ledger:
    """Bookkeeping over events, which says nothing about any model.

    A judgement is in force until it is undone. Of each pair, the first judgement in force that is
    *same* or *different* decides it. Pairs of the audit stream are never learned from; all others
    that are decided are, in the order of the deciding judgements.

    Attributes
    ----------
    events : list of Event
        All, in order.
    judgements : dict
        The judgements by id, undone or not.
    learned : list of Event
        The deciding judgements to learn from, by number.
    audited : list of Event
        The deciding judgements of the audit stream, by number.
    """

    events: list[Event] = field(default_factory=list)
    judgements: dict[str, Event] = field(default_factory=dict)
    learned: list[Event] = field(default_factory=list)
    audited: list[Event] = field(default_factory=list)
    _undone: set[str] = field(default_factory=set)
    _by_pair: dict[PairKey, list[Event]] = field(default_factory=dict)
    _in_force: int = 0

    def __len__(self) -> int:
        return len(self.events)

    @property
    def n_in_force(self) -> int:
        """Judgements that are not undone."""
        return self._in_force

    def is_in_force(self, judgement_id: str) -> bool:
        """Return whether a judgement exists and is not undone."""
        return judgement_id in self.judgements and judgement_id not in self._undone

    def of_pair(self, left: str, right: str) -> list[Event]:
        """Return the judgements of a pair that are in force, in order."""
        found = self._by_pair.get(pair_key(left, right), ())
        return [event for event in found if event.id not in self._undone]

    def was_judged(self, left: str, right: str) -> bool:
        """Return whether the pair was ever judged, in either order, undone or not."""
        return pair_key(left, right) in self._by_pair

    def is_audit_pair(self, left: str, right: str) -> bool:
        """Return whether the pair belongs to the audit stream."""
        found = self._by_pair.get(pair_key(left, right), [])
        return any(event.source == "audit" for event in found[:1])

    def pairs(self) -> list[PairKey]:
        """Return all pairs that were ever judged."""
        return list(self._by_pair)

    def apply(self, event: Event) -> int:
        """Take in the next event.

        Returns
        -------
        int
            How many entries of `learned` are the same as before: those from there on are new.
        """
        if event.number != len(self.events) + 1:
            raise ValueError(
                f"event {event.number} cannot follow event {len(self.events)}: numbers have no "
                "gaps."
            )
        self.events.append(event)
        if event.kind == "undo":
            return self._undo(self.judgements[event.id])
        self.judgements[event.id] = event
        self._in_force += 1
        before = self._deciding(event)
        self._by_pair.setdefault(pair_key(event.left, event.right), []).append(event)
        if before is None and event.answer != "unsure":
            self._stream(event).append(event)
            return len(self.learned) - (event.source != "audit")
        return len(self.learned)

    def _undo(self, judgement: Event) -> int:
        deciding = self._deciding(judgement) is judgement
        self._undone.add(judgement.id)
        self._in_force -= 1
        if not deciding:
            return len(self.learned)
        stream = self._stream(judgement)
        position = bisect_left(stream, judgement.number, key=_number)
        del stream[position]
        successor = self._deciding(judgement)
        if successor is not None:
            stream.insert(bisect_left(stream, successor.number, key=_number), successor)
        return len(self.learned) if judgement.source == "audit" else position

    def _stream(self, event: Event) -> list[Event]:
        return self.audited if event.source == "audit" else self.learned

    def _deciding(self, event: Event) -> Event | None:
        """Return the judgement that decides the pair of an event."""
        for judgement in self._by_pair.get(pair_key(event.left, event.right), ()):
            if judgement.answer != "unsure" and judgement.id not in self._undone:
                return judgement
        return None


_number: Callable[[Event], int] = attrgetter("number")
