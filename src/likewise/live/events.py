"""What happens in a labelling project, as an append-only sequence of events."""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass
from typing import Literal

__all__ = ["ANSWERS", "VERSION", "Answer", "Event", "chain"]

VERSION = 1
"""Version of the schema of a log: a log of a newer one is refused."""

Answer = Literal["same", "different", "unsure"]
ANSWERS: tuple[Answer, ...] = ("same", "different", "unsure")
Source = Literal["audit", "chosen", "own", "withheld"]
Kind = Literal["judgement", "undo"]


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a log.

    Attributes
    ----------
    number : int
        Position in the log, from 1 on without gaps. It alone decides the order.
    kind : {"judgement", "undo"}
    id : str
        UUID of the judgement, made by the client; an undo has that of the judgement it revokes.
    left, right : str
        Ids of the two items, as they were shown; empty for an undo.
    answer : {"same", "different", "unsure"} or ""
        Empty for an undo.
    annotator : str
        Who judged, or revoked.
    source : {"audit", "chosen", "own", "withheld"}
        Whether the pair was drawn at random for the audit stream, chosen to learn from, or came
        from the client; of the latter, those reserved for the audit stream are withheld: neither
        learned from nor audited.
    time : float
        Seconds since 1970 by the clock of the server. Clocks jump: nothing depends on it.
    """

    number: int
    kind: Kind
    id: str
    left: str
    right: str
    answer: Answer | Literal[""]
    annotator: str
    source: Source
    time: float


def chain(previous: bytes, event: Event) -> bytes:
    """Return the checksum of an event and, by that of the one before, of all before it."""
    text = json.dumps(astuple(event), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(previous + text.encode()).digest()[:16]
