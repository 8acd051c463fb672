"""The engine of the labelling page and of the service: judgements in, pairs and a model out."""

from __future__ import annotations

import copy
import hashlib
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from likewise import _files
from likewise._runtime.text import quote
from likewise._runtime.validation import between, check_parameters, one_of
from likewise.live.agreement import Agreement, agreement
from likewise.live.background import Background
from likewise.live.chooser import AuditDraws, Chooser
from likewise.live.events import ANSWERS, Answer, Event, Source
from likewise.live.fold import Fold
from likewise.live.items import Items
from likewise.live.ledger import pair_key
from likewise.live.log import open_log
from likewise.live.pending import Offer, Pending
from likewise.live.progress import Evaluator
from likewise.live.start import start_model
from likewise.live.submission import Outcome, RefusedError, Submission
from likewise.live.view import ModelView
from likewise.live.writer import Writer
from likewise.statistics._target import parse_target

__all__ = ["Engine"]


class Engine:
    """Judgements on pairs of items, durable, and the metric that is learned from them.

    Every judgement is an event of an append-only log. The model is a function of the log: opening
    it again gives the same bits.

    Parameters
    ----------
    items : Items
    log : str
        A file for SQLite, or a URL of PostgreSQL.
    model : fitted metric, optional
        What learning begins with; by default the Euclidean metric.
    annotators : sequence of str
        Who judges. With two or more, a share `overlap` of the pairs is given to a second one.
    target : str, default="fmr<=0.01"
        The rate that is promised on the audit stream: of FMR, FNMR or recall.
    audit_share : float, default=0.1
        The probability that a pair is drawn at random for the audit stream and never learned from.
    audit : {"nearby", "random"}, default="nearby"
        What audit pairs are drawn from: an item and, half of the time, one of its 10 nearest
        neighbours by the vectors as given; or all pairs alike.
    choice : {"active", "random"}, default="active"
        How the other pairs are chosen: near the threshold of the model, or at random.
    overlap : float, default=0.05
    only_shown : bool, default=False
        Refuse judgements on pairs that were not shown. By default they are learned from, but never
        count for the audit stream.
    seed : int, optional
        Of the choice of pairs. The model does not depend on it.
    clock : callable
        Seconds since 1970, for the time of events; nothing else depends on it.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.live import Engine, Items
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> with Engine(Items(X), "judgements.sqlite", annotators=["ann"], seed=0) as engine:
    ...     offer = engine.next("ann")
    ...     outcome = engine.judge(offer.left, offer.right, "different", "ann").result()
    ...     undone = engine.undo(outcome.event.id, "ann").result()
    >>> outcome.event.number, undone.event.kind
    (1, 'undo')
    """

    annotators: list[str]
    notices: list[str]
    pending: Pending
    view: ModelView
    writer: Writer
    evaluator: Evaluator

    def __init__(
        self,
        items: Items,
        log: str,
        *,
        model: Any = None,
        annotators: Sequence[str] = ("you",),
        target: str = "fmr<=0.01",
        audit_share: float = 0.1,
        audit: str = "nearby",
        choice: str = "active",
        overlap: float = 0.05,
        only_shown: bool = False,
        seed: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        check_parameters(
            "Engine",
            {"audit_share": audit_share, "audit": audit, "choice": choice, "overlap": overlap},
            {
                "audit_share": between(0, 1),
                "audit": one_of("nearby", "random"),
                "choice": one_of("active", "random"),
                "overlap": between(0, 1),
            },
        )
        if parse_target(target).name not in ("fmr", "fnmr"):
            raise ValueError(
                f"target={quote(target)} is not allowed: Engine needs a rate of FMR, FNMR or "
                "recall, such as 'fmr<=0.01'."
            )
        self.items = items
        self.annotators = list(annotators)
        self.target = target
        self.choice = choice
        self.only_shown = only_shown
        self.audit_share = audit_share
        self.overlap = overlap
        start = start_model(items.vectors, model)
        self._log = open_log(log, _project(items, start))
        seed = secrets.randbits(63) if seed is None else seed
        self._random = np.random.default_rng(seed)
        self._random_lock = threading.Lock()
        self.pending = Pending()
        fold = Fold(start, items.vectors, items.row_of)
        self.view = ModelView(0, start)
        self._checkpoints: dict[int, ModelView] = {}
        try:
            self.writer = Writer(self._log, fold, self._publish, clock)
        except BaseException:
            self._log.close()
            raise
        self.notices = [*items.notices, *self.writer.notices]
        self._chooser = Chooser(items.vectors, self._is_free, seed)
        self._draws = AuditDraws(items.vectors, self._is_free, audit == "nearby", seed + 1)
        self.evaluator = Evaluator(items, self.writer, self._checkpoints, target)
        self._background = Background(self._chooser, self._draws, self.evaluator, self)

    def __enter__(self) -> Engine:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def start(self) -> None:
        """Begin to write, to learn and to choose pairs."""
        self.writer.start()
        self._background.start()

    def close(self) -> None:
        """Write and learn what waits, and release the log."""
        self._background.stop()
        self.writer.close()

    @property
    def ledger(self) -> Any:
        """What was judged."""
        return self.writer.ledger

    def judge(
        self,
        left: str,
        right: str,
        answer: Answer,
        annotator: str,
        judgement_id: str | None = None,
    ) -> Future[Outcome]:
        """Judge a pair; the result is there when the judgement is on disk.

        Parameters
        ----------
        left, right : str
            Ids of two items.
        answer : {"same", "different", "unsure"}
        annotator : str
        judgement_id : str, optional
            A UUID. The same one again is no second judgement.

        Returns
        -------
        Future of Outcome
            It raises RefusedError, StorageFullError or LogError.
        """
        submission = Submission(
            "judgement",
            _checked_id(judgement_id or str(uuid.uuid4())),
            annotator,
            left,
            right,
            answer,
        )
        if answer not in ANSWERS:
            raise RefusedError(422, f"answer is {quote(answer)}, but one of {ANSWERS} is needed.")
        for item in (left, right):
            try:
                self.items.row_of(item)
            except KeyError:
                raise RefusedError(404, f"there is no item {quote(item)}.") from None
        if left == right:
            raise RefusedError(
                422, f"item {quote(left)} is paired with itself, but two items are needed."
            )
        shown = self.pending.source_of(left, right)
        if shown is not None:
            submission.source = shown
        elif self.only_shown and submission.id not in self.ledger.judgements:
            raise RefusedError(409, "this pair was not shown; ask for the next one.")
        submission.result.add_done_callback(lambda _: self.pending.answered(left, right))
        self.writer.submit(submission)
        return submission.result

    def undo(self, judgement_id: str, annotator: str) -> Future[Outcome]:
        """Undo a judgement of one's own, however long ago it was made.

        Parameters
        ----------
        judgement_id, annotator : str

        Returns
        -------
        Future of Outcome
        """
        submission = Submission("undo", _checked_id(judgement_id), annotator)
        self.writer.submit(submission)
        return submission.result

    def next(self, annotator: str, tab: str | None = None) -> Offer | None:
        """Return the next pair for an annotator, or None if there is none left.

        No pair is given to two while it waits for an answer, or twice to the same in either order.

        Parameters
        ----------
        annotator : str
        tab : str, optional
            Where it is shown. The same pair is returned until it is answered.

        Returns
        -------
        Offer or None
        """
        if tab is not None and (offer := self.pending.of_tab(annotator, tab)) is not None:
            return offer
        for _ in range(20):  # another annotator may be given the same pair in between
            found = self._draw(annotator)
            if found is None:
                return None
            (left, right), source = found
            offer = self.pending.add(left, right, source, annotator, tab)
            if offer is not None:
                return offer
        return None

    def agreement(self) -> Agreement:
        """Return how the annotators agree."""
        with self.writer.changing():
            return agreement(self.ledger)

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        """Return events with numbers above `after`, up to `limit` of them."""
        return list(self.ledger.events[after : after + limit])

    def in_force(self) -> list[Event]:
        """Return the judgements that are not undone, in order."""
        with self.writer.changing():
            return [e for e in self.ledger.judgements.values() if self.ledger.is_in_force(e.id)]

    @property
    def has_candidates(self) -> bool:
        """Whether pairs near the threshold are known; before that, others are given."""
        return self.choice == "random" or self._chooser.refreshed_at >= 0

    def progress(self, annotator: str | None = None) -> dict[str, Any]:
        """Return counts, the learning curve on the audit stream and whether one can stop.

        Parameters
        ----------
        annotator : str, optional
            Whose judgements are counted, beside those of all.

        Returns
        -------
        dict
        """
        own = [event.id for event in self.in_force() if event.annotator == annotator]
        return {
            "items": len(self.items),
            "judgements": self.ledger.n_in_force,
            "own_judgements": len(own),
            "learned": len(self.ledger.learned),
            "annotators": len(self.annotators),
            "notices": self.notices,
            "choice": self.choice,
            **self.evaluator.report,
        }

    def counters(self) -> list[tuple[str, str, str, float]]:
        """Return the name, kind, meaning and value of each counter."""
        drift = (self.evaluator.report["audit"] or {}).get("drift", {})
        return [
            ("events_total", "counter", "Events in the log.", len(self.ledger)),
            ("judgements", "gauge", "Judgements in force.", self.ledger.n_in_force),
            ("learned", "gauge", "Judgements learned from.", self.view.position),
            ("audited", "gauge", "Decided audit pairs.", len(self.ledger.audited)),
            ("pending", "gauge", "Pairs without an answer.", len(self.pending)),
            ("transactions_total", "counter", "Transactions.", self.writer.n_transactions),
            ("drift_alarms", "gauge", "Broken promises.", len(drift.get("alarms", []))),
        ]

    # -- choosing --------------------------------------------------------------------------------

    def _draw(self, annotator: str) -> tuple[tuple[str, str], Source] | None:
        with self._random_lock:
            draws = self._random.random(2)
        if len(self.annotators) > 1 and draws[0] < self.overlap:
            again = self._judged_by_others(annotator)
            if again is not None:
                return again
        rows, source = None, "chosen"
        if draws[1] < self.audit_share:
            rows, source = self._draws.take(), "audit"
        if rows is None:
            active = self.choice == "active"
            rows = self._chooser.take() if active else self._chooser.take_random()
            source = "chosen"
        if rows is None:
            return None
        pair = self.items.id_of(rows[0]), self.items.id_of(rows[1])
        return pair, source  # type: ignore[return-value]

    def _judged_by_others(self, annotator: str) -> tuple[tuple[str, str], Source] | None:
        """Return a random pair that one other annotator has judged."""
        events = self.ledger.events
        if not events:
            return None
        with self._random_lock:
            tries = self._random.integers(len(events), size=20).tolist()
        for number in tries:
            event = events[number]
            if event.kind == "undo" or event.annotator == annotator:
                continue
            judged = self.ledger.of_pair(event.left, event.right)
            if len(judged) == 1 and pair_key(event.left, event.right) not in self.pending:
                return (event.left, event.right), event.source
        return None

    def _is_free(self, left: int, right: int) -> bool:
        first, second = self.items.id_of(left), self.items.id_of(right)
        return not (
            self.ledger.was_judged(first, second) or pair_key(first, second) in self.pending
        )

    def _publish(self, fold: Fold) -> None:
        """Copy the model for other threads; the learner itself goes on changing."""
        self.view = ModelView(fold.position, copy.deepcopy(fold.learner))
        for position in [at for at in self._checkpoints if at not in fold.checkpoints]:
            del self._checkpoints[position]
        for position, learner in fold.checkpoints.items():
            known = self._checkpoints.get(position)
            if known is None or known.learner is not learner:
                self._checkpoints[position] = ModelView(position, learner)


def _checked_id(given: str) -> str:
    """Return a UUID as it is usually written."""
    try:
        return str(uuid.UUID(given))
    except (ValueError, AttributeError, TypeError):
        raise RefusedError(422, f"id is {quote(given)}, but a UUID is needed.") from None


def _project(items: Items, start: Any) -> str:
    """Return the identity of what a log is about: items, vectors and starting model."""
    identity = f"{items.fingerprint()} {_files.identity_of(start)}"
    return hashlib.sha256(identity.encode()).hexdigest()
