"""The engine of the labelling page and of the service: judgements in, pairs and a model out."""

from __future__ import annotations

import copy
import hashlib
import secrets
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from likewise import _files
from likewise._runtime.text import quote
from likewise._runtime.validation import between, check_parameters, one_of
from likewise.live._agreement import Agreement, agreement
from likewise.live.audit import check_target
from likewise.live.background import Background
from likewise.live.changed_items import changes_since
from likewise.live.events import ANSWERS, Answer, Event
from likewise.live.exported import exported_model
from likewise.live.fold import Fold
from likewise.live.items import Items
from likewise.live.ledger import Ledger
from likewise.live.log import LogError, open_log
from likewise.live.pair_sampler import PairSampler
from likewise.live.pending import Offer, Pending
from likewise.live.progress import Evaluator
from likewise.live.reserve import AuditReserve
from likewise.live.start import start_model
from likewise.live.submission import Outcome, RefusedError, Submission
from likewise.live.view import ModelView
from likewise.live.writer import Writer

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
        The share of all pairs that is reserved for the audit stream and never learned from, and
        the probability that the next pair is one of them.
    audit : {"random", "nearby"}, default="random"
        How audit pairs are drawn: each reserved pair as likely as any other; or, half of the time,
        an item with one of its 10 nearest neighbours by the vectors as given. The latter is a
        weighted sample, and the error rates are those of pairs drawn so.
    choice : {"active", "random"}, default="active"
        How the other pairs are chosen: near the threshold of the model, or at random.
    overlap : float, default=0.05
    only_shown : bool, default=False
        Refuse judgements on pairs that the annotator was not shown. By default they are learned
        from, unless they are reserved for the audit stream; they never count for it.
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
        audit: str = "random",
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
                "audit": one_of("random", "nearby"),
                "choice": one_of("active", "random"),
                "overlap": between(0, 1),
            },
        )
        check_target(target)
        self.items = items
        self.annotators = list(annotators)
        self.target = target
        self.choice = choice
        self.only_shown = only_shown
        start = start_model(items.vectors, model)
        project = _project(items, start, audit_share, audit)
        self._reserve = AuditReserve(project, audit_share)
        self._log = open_log(log, project)
        self.pending = Pending()
        fold = Fold(start, items.vectors, items.row_of)
        self.view = ModelView(0, start)
        self._checkpoints: dict[int, ModelView] = {}
        try:
            self.writer = Writer(self._log, fold, self._publish, clock)
        except BaseException:
            self._log.close()
            raise
        self.notices = [*items.notices, *self.writer.notices, *changes_since(self._log, items)]
        self._sampler = PairSampler(
            items,
            self.ledger,
            self.pending,
            self._reserve,
            annotators=self.annotators,
            audit=audit,
            choice=choice,
            overlap=overlap,
            seed=secrets.randbits(63) if seed is None else seed,
        )
        self.evaluator = Evaluator(
            items, self.writer, self._checkpoints, target, nearby=audit == "nearby"
        )
        self._background = Background(
            self._sampler.chooser, self._sampler.draws, self.evaluator, self
        )

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
    def ledger(self) -> Ledger:
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
        rows = self._row_of(left), self._row_of(right)
        if left == right:
            raise RefusedError(
                422, f"item {quote(left)} is paired with itself, but two items are needed."
            )
        shown = self.pending.source_of(left, right, annotator)
        if shown is not None:
            submission.source = shown
        elif self.only_shown and submission.id not in self.ledger.judgements:
            raise RefusedError(403, "this pair was not shown to you; ask for the next one.")
        elif self._reserve.contains_pair(*rows):
            submission.source = "withheld"

        def release(outcome: Outcome | Exception) -> None:
            # What could not be stored will be sent again: meanwhile nobody else is asked.
            if not isinstance(outcome, LogError):
                self.pending.answered(left, right, annotator)

        submission.before_result = release
        self.writer.submit(submission)
        return submission.result

    def undo(self, judgement_id: str, annotator: str, tab: str | None = None) -> Future[Outcome]:
        """Undo a judgement of one's own, however long ago it was made.

        The pair, if it was one that `next` had returned, is the next one again.

        Parameters
        ----------
        judgement_id, annotator : str
        tab : str, optional
            Where it is to be shown again.

        Returns
        -------
        Future of Outcome
        """
        submission = Submission("undo", _checked_id(judgement_id), annotator)

        def ask_again(outcome: Outcome | Exception) -> None:
            if isinstance(outcome, Exception) or not outcome.created:
                return
            revoked = self.ledger.judgements[submission.id]
            if revoked.source in ("audit", "chosen"):
                pair = revoked.left, revoked.right, revoked.source
                self.pending.undone(*pair, annotator, tab)

        submission.before_result = ask_again
        self.writer.submit(submission)
        return submission.result

    def next(self, annotator: str, tab: str | None = None) -> Offer | None:
        """Return the next pair for an annotator, or None if there is none now.

        No pair is given to two while it waits for an answer, or to anyone, in either order, after
        it was judged; but one whose answer was undone is asked about again, at once.

        Parameters
        ----------
        annotator : str
        tab : str, optional
            Where it is shown. The same pair is returned until it is answered.

        Returns
        -------
        Offer or None
        """
        return self._sampler.next(annotator, tab)

    @property
    def all_judged(self) -> bool:
        """Whether every pair of items is judged; before that, `next` may have to wait."""
        return self.ledger.n_pairs == len(self.items) * (len(self.items) - 1) // 2

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
            judgements = list(self.ledger.judgements.values())
        return [event for event in judgements if self.ledger.is_in_force(event.id)]

    @property
    def has_candidates(self) -> bool:
        """Whether pairs near the threshold are known; before that, others are given."""
        return self.choice == "random" or self._sampler.chooser.refreshed_at >= 0

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
        ledger = self.ledger
        latest = None if annotator is None else ledger.latest_of(annotator)
        return {
            "items": len(self.items),
            "judgements": ledger.n_in_force,
            "own_judgements": 0 if annotator is None else ledger.in_force_by[annotator],
            "latest": None if latest is None else latest.id,
            "learned": len(ledger.learned),
            "annotators": len(self.annotators),
            "notices": self.notices,
            "choice": self.choice,
            **self.evaluator.report,
        }

    def model(self) -> Any:
        """Return a copy of the present model, with the threshold that is promised if one is.

        Returns
        -------
        PairClassifier or online metric learner
        """
        audit = self.evaluator.audit_pairs()
        return exported_model(self.items.vectors, self.view, audit, self.target)

    @property
    def learning_failure(self) -> str | None:
        """Why nothing more is learned, chosen or evaluated, if so."""
        return self.writer.learning_failure or self._background.failure

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

    def _row_of(self, item: str) -> int:
        try:
            return self.items.row_of(item)
        except KeyError:
            raise RefusedError(404, f"there is no item {quote(item)}.") from None

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


def _project(items: Items, start: Any, audit_share: float, audit: str) -> str:
    """Return the identity of what a log is about: items, vectors, starting model and audit."""
    share = float(audit_share)  # 1, 1.0 and np.float64(1) are one share
    identity = f"{items.fingerprint()} {_files.identity_of(start)} {share!r} {audit}"
    return hashlib.sha256(identity.encode()).hexdigest()
