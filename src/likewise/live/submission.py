"""What annotators send, whether it is accepted, and as which event."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from typing import Literal

from likewise._runtime.text import quote
from likewise.live.events import Answer, Event, Source
from likewise.live.ledger import Ledger, PairKey, pair_key

__all__ = ["Batch", "Outcome", "RefusedError", "Submission"]


class RefusedError(ValueError):
    """Something was sent that cannot become an event; `status` is that of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Outcome:
    """What became of a submission: its event, and whether it is a new one."""

    event: Event
    created: bool


@dataclass
class Submission:
    """A judgement or an undo that waits to be written.

    `before_result` is called with the outcome or the error before anyone who waits for `result`
    goes on; callbacks of a future are called after that.
    """

    kind: Literal["judgement", "undo"]
    id: str
    annotator: str
    left: str = ""
    right: str = ""
    answer: Answer | Literal[""] = ""
    source: Source = "own"
    result: Future[Outcome] = field(default_factory=Future)
    before_result: Callable[[Outcome | Exception], None] = lambda outcome: None

    def begin(self) -> bool:
        """Return whether it is to be written: what was cancelled is not."""
        if self.result.set_running_or_notify_cancel():
            return True
        self.before_result(CancelledError())
        return False

    def succeed(self, outcome: Outcome) -> None:
        """Answer with an event that is on disk."""
        self.before_result(outcome)
        self.result.set_result(outcome)

    def fail(self, error: Exception) -> None:
        """Answer that nothing was written, or that this is not known."""
        self.before_result(error)
        self.result.set_exception(error)


class Batch:
    """Submissions that are written together: each is checked against those before it."""

    def __init__(self, ledger: Ledger, clock: Callable[[], float]) -> None:
        self._ledger, self._clock = ledger, clock
        self.events: list[Event] = []
        self.accepted: list[tuple[Submission, Event, bool]] = []
        self._new: dict[str, Event] = {}
        self._undone: dict[str, Event] = {}
        self._pairs: dict[PairKey, list[Event]] = {}

    def add(self, submission: Submission) -> None:
        """Turn a submission into an event; raise RefusedError if it cannot be one."""
        event = self._undo(submission) if submission.kind == "undo" else self._judge(submission)
        created = event.number == len(self._ledger) + len(self.events) + 1
        if created:
            self.events.append(event)
        self.accepted.append((submission, event, created))

    def _judge(self, given: Submission) -> Event:
        known = self._ledger.judgements.get(given.id) or self._new.get(given.id)
        if known is not None:
            if (known.left, known.right, known.answer, known.annotator) != (
                given.left,
                given.right,
                given.answer,
                given.annotator,
            ):
                raise RefusedError(
                    409, f"the id {given.id} was used for another judgement; make a new one."
                )
            if self._undo_of(given.id) is not None:
                raise RefusedError(
                    409, f"judgement {given.id} was undone; judge the pair with a new id."
                )
            return known
        key = pair_key(given.left, given.right)
        for event in (*self._ledger.of_pair(given.left, given.right), *self._pairs.get(key, ())):
            if event.annotator == given.annotator and event.id not in self._undone:
                raise RefusedError(
                    409,
                    f"{quote(given.annotator)} has judged this pair (judgement {event.id}); undo "
                    "that first.",
                )
        # Once drawn for the audit stream, a pair belongs to it, whoever judges it again.
        earlier = self._pairs.get(key, ())
        audit = self._ledger.is_audit_pair(given.left, given.right) or any(
            event.source == "audit" for event in earlier
        )
        source: Source = "audit" if audit else given.source
        event = self._event(given, source)
        self._new[event.id] = event
        self._pairs.setdefault(key, []).append(event)
        return event

    def _undo(self, given: Submission) -> Event:
        judgement = self._ledger.judgements.get(given.id) or self._new.get(given.id)
        if judgement is None:
            raise RefusedError(404, f"there is no judgement {quote(given.id)}.")
        if judgement.annotator != given.annotator:
            raise RefusedError(403, "a judgement can be undone only by who made it.")
        undone = self._undo_of(given.id)
        if undone is not None:
            return undone
        event = self._event(given, judgement.source)
        self._undone[given.id] = event
        return event

    def _undo_of(self, judgement_id: str) -> Event | None:
        return self._undone.get(judgement_id) or self._ledger.undo_of(judgement_id)

    def _event(self, given: Submission, source: Source) -> Event:
        return Event(
            number=len(self._ledger) + len(self.events) + 1,
            kind=given.kind,
            id=given.id,
            left=given.left,
            right=given.right,
            answer=given.answer,
            annotator=given.annotator,
            source=source,
            time=self._clock(),
        )
