"""Which judgements are in force, and which of them are learned from, in which order."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter

from likewise.live.agreement_counts import AgreementCounts
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
    *same* or *different* decides it. Pairs that are reserved for the audit stream are never learned
    from; all others that are decided are, in the order of the deciding judgements. All counts are
    kept up to date event by event: to ask for one costs the same however many judgements there are.

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
    in_force_by : Counter
        The judgements in force of each annotator.
    n_pairs : int
        Pairs with a judgement in force.
    agreement : AgreementCounts
    """

    events: list[Event] = field(default_factory=list)
    judgements: dict[str, Event] = field(default_factory=dict)
    learned: list[Event] = field(default_factory=list)
    audited: list[Event] = field(default_factory=list)
    in_force_by: Counter[str] = field(default_factory=Counter)
    n_pairs: int = 0
    agreement: AgreementCounts = field(default_factory=AgreementCounts)
    _undone: dict[str, Event] = field(default_factory=dict)
    _by_pair: dict[PairKey, list[Event]] = field(default_factory=dict)
    _by_annotator: dict[str, list[Event]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.events)

    @property
    def n_in_force(self) -> int:
        """Judgements that are not undone."""
        return len(self.judgements) - len(self._undone)

    def is_in_force(self, judgement_id: str) -> bool:
        """Return whether a judgement exists and is not undone."""
        return judgement_id in self.judgements and judgement_id not in self._undone

    def undo_of(self, judgement_id: str) -> Event | None:
        """Return the event that revoked a judgement, if one did."""
        return self._undone.get(judgement_id)

    def latest_of(self, annotator: str) -> Event | None:
        """Return the last judgement of an annotator that is in force."""
        made = self._by_annotator.get(annotator)
        return made[-1] if made else None

    def of_pair(self, left: str, right: str) -> list[Event]:
        """Return the judgements of a pair that are in force, in order."""
        found = self._by_pair.get(pair_key(left, right), ())
        return [event for event in found if event.id not in self._undone]

    def is_judged(self, left: str, right: str) -> bool:
        """Return whether a judgement of the pair, in either order, is in force."""
        found = self._by_pair.get(pair_key(left, right), ())
        return any(event.id not in self._undone for event in found)

    def is_audit_pair(self, left: str, right: str) -> bool:
        """Return whether the pair was ever drawn for the audit stream."""
        found = self._by_pair.get(pair_key(left, right), ())
        return any(event.source == "audit" for event in found)

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
        judgement = self.judgements[event.id] if event.kind == "undo" else event
        before = self.of_pair(judgement.left, judgement.right)
        if event.kind == "undo":
            self._undone[event.id] = event
            self._drop_undone(judgement.annotator)
        else:
            self.judgements[event.id] = event
            self._by_pair.setdefault(pair_key(event.left, event.right), []).append(event)
            self._by_annotator.setdefault(event.annotator, []).append(event)
        after = self.of_pair(judgement.left, judgement.right)
        change = len(after) - len(before)
        self.in_force_by[judgement.annotator] += change
        self.n_pairs += bool(after) - bool(before)
        if len(before) + len(after) > 1:  # with a second judgement, which can agree or not
            self.agreement.change(pair_key(judgement.left, judgement.right), before, after)
        return self._decide(_deciding(before), _deciding(after))

    def _decide(self, before: Event | None, after: Event | None) -> int:
        """Let another judgement decide a pair; return how many entries of `learned` stay."""
        unchanged = len(self.learned)
        if before is after:
            return unchanged
        if before is not None and (stream := self._stream(before)) is not None:
            position = bisect_left(stream, before.number, key=_number)
            del stream[position]
            if stream is self.learned:
                unchanged = position
        if after is not None and (stream := self._stream(after)) is not None:
            position = bisect_left(stream, after.number, key=_number)
            stream.insert(position, after)
            if stream is self.learned:
                unchanged = min(unchanged, position)
        return unchanged

    def _stream(self, event: Event) -> list[Event] | None:
        if event.source == "withheld":
            return None
        return self.audited if event.source == "audit" else self.learned

    def _drop_undone(self, annotator: str) -> None:
        """Forget the undone judgements at the end: `latest_of` need not pass them again."""
        made = self._by_annotator[annotator]
        while made and made[-1].id in self._undone:
            made.pop()


def _deciding(judged: list[Event]) -> Event | None:
    """Return which of the judgements of a pair in force decides it."""
    return next((event for event in judged if event.answer != "unsure"), None)


_number: Callable[[Event], int] = attrgetter("number")
