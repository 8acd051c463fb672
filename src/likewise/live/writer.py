"""The one thread that writes, and the one that learns what was written."""

from __future__ import annotations

import hashlib
import json
import queue
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from likewise import _files
from likewise._runtime.text import reason
from likewise._runtime.version import __version__
from likewise.live.fold import Fold, sequence_digest
from likewise.live.ledger import Ledger
from likewise.live.log import EventLog, LogError
from likewise.live.submission import Batch, Outcome, RefusedError, Submission

__all__ = ["Writer"]

_MAX_BATCH = 1000
_LEARN_EVERY_S = 0.02
_SNAPSHOT_EVERY = 2000  # learned judgements between two stored models
_REPLAYED_ANYWAY = 5000  # as many are learned within a second: the whole curve is worth it


class Writer:
    """Writes events, keeps the ledger and the fold up to date, and tells who waits.

    Everything that is sent while a transaction is being written becomes the next one, so that many
    annotators share a sync of the disk. A judgement is acknowledged when it is on disk; another
    thread learns it then, so that an undo long ago, which many are learned again for, holds up no
    answer.

    Parameters
    ----------
    log : EventLog
    fold : Fold
        At its start.
    published : callable
        Called with the fold, by the thread that learns, when it has changed.
    clock : callable
        Seconds since 1970, for the time of events.
    """

    ledger: Ledger
    notices: list[str]
    n_transactions: int

    def __init__(
        self,
        log: EventLog,
        fold: Fold,
        published: Callable[[Fold], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.ledger = Ledger()
        self.fold = fold
        self.notices = list(log.notices)
        self.n_transactions = 0
        self.failure: str | None = None
        self.learning_failure: str | None = None
        self._log, self._published, self._clock = log, published, clock
        self._waiting: queue.SimpleQueue[Submission | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="likewise writer", daemon=True)
        self._learner = threading.Thread(target=self._learn, name="likewise learner", daemon=True)
        self._changed = threading.Condition()  # also held while the ledger changes
        self._unchanged: int | None = None  # learned judgements that are as the fold knows them
        self._busy = self._closing = False
        self._stopped: LogError | None = None
        self._snapshot: tuple[int, bytes] | None = None  # waits to be written
        self._start_key = _start_key(fold.learner)
        self._stored_at = self._restore()
        published(fold)

    def start(self) -> None:
        """Begin to write and to learn."""
        self._thread.start()
        self._learner.start()

    def submit(self, submission: Submission) -> None:
        """Let a submission be written; its `result` tells when."""
        self._waiting.put(submission)

    def changing(self) -> threading.Condition:
        """Return the lock that is held while the ledger changes."""
        return self._changed

    def settle(self) -> None:
        """Wait until everything written is learned."""
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    self.learning_failure is not None
                    or (self._unchanged is None and not self._busy)
                )
            )

    def close(self) -> None:
        """Write and learn what waits, store the model, and release the log."""
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()
            self.settle()
            with self._changed:
                self._closing = True
                self._changed.notify_all()
            self._learner.join()
        if self.fold.position > self._stored_at and self.learning_failure is None:
            digest = sequence_digest(self.ledger.learned[: self.fold.position])
            self._write_snapshot(self.fold.position, self._snapshot_of(digest))
        self._log.close()

    def _run(self) -> None:
        closing = False
        while not closing:
            taken = [self._waiting.get()]
            while len(taken) < _MAX_BATCH and not self._waiting.empty():
                taken.append(self._waiting.get())
            closing = None in taken
            # What was cancelled before it was taken is not written.
            submissions = [
                submission for submission in taken if submission is not None and submission.begin()
            ]
            try:
                self._write(submissions)
            except Exception as error:  # noqa: BLE001 - whoever waits must be answered
                self._stop_writing(error, submissions)

    def _write(self, submissions: list[Submission]) -> None:
        """Write one transaction, answer, and let it be learned."""
        if self._stopped is not None:
            raise self._stopped
        batch = Batch(self.ledger, self._clock)
        for submission in submissions:
            try:
                batch.add(submission)
            except RefusedError as error:
                submission.fail(error)
        if batch.events and not self._append(batch):
            return
        with self._changed:
            for event in batch.events:
                unchanged = self.ledger.apply(event)
                known = unchanged if self._unchanged is None else self._unchanged
                self._unchanged = min(known, unchanged)
            self._changed.notify_all()
        for submission, event, created in batch.accepted:
            submission.succeed(Outcome(event, created))
        if self._snapshot is not None:
            (position, content), self._snapshot = self._snapshot, None
            self._write_snapshot(position, content)

    def _stop_writing(self, error: Exception, submissions: list[Submission]) -> None:
        """Answer everyone after an error that no log should raise, now and from now on.

        What the log has then is not known, so that nothing more is written.
        """
        if self._stopped is None:
            self._stopped = LogError(
                f"judgements are no longer written, since the log failed ({reason(error)}); start "
                "again."
            )
            self.failure = str(self._stopped)
        for submission in submissions:
            if not submission.result.done():
                submission.fail(self._stopped)

    def _learn(self) -> None:
        try:
            self._learn_until_closed()
        except Exception as error:  # noqa: BLE001 - else `settle` would wait for ever
            # Judgements are still written; opening the log again learns them.
            with self._changed:
                self.learning_failure = f"nothing more is learned ({reason(error)}); start again."
                self._changed.notify_all()

    def _learn_until_closed(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._unchanged is not None or self._closing)
                if self._unchanged is None:
                    return
                unchanged, learned = self._unchanged, self.ledger.learned
                # Of a long log, a copy of what is not learned yet is enough.
                start = self.fold.continues_from(unchanged)
                following = learned[start:]
                due = len(learned) - self._stored_at >= _SNAPSHOT_EVERY
                digest = sequence_digest(learned) if due else ""
                self._unchanged, self._busy = None, True
            self.fold.follow(following, unchanged, skipped=start)
            self._published(self.fold)
            if due:
                self._snapshot = self.fold.position, self._snapshot_of(digest)
                self._stored_at = self.fold.position
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                # Under load, what comes meanwhile is learned together: copies cost more than steps.
                self._changed.wait_for(lambda: self._closing, timeout=_LEARN_EVERY_S)

    def _append(self, batch: Batch) -> bool:
        """Write the events; where that fails, tell all who wait. Return whether they are there."""
        try:
            self._log.append(batch.events)
            self.n_transactions += 1
            self.failure = None
            return True
        except LogError as error:
            failure = error
        try:  # whether a failed commit was written after all, the log knows
            found = self._log.read(after=len(self.ledger))
        except LogError as error:
            failure, found = error, []
        if found == batch.events:
            return True
        self.failure = str(failure)
        for submission, _, _ in batch.accepted:
            submission.fail(failure)
        return False

    # -- stored models ---------------------------------------------------------------------------

    def _restore(self) -> int:
        """Read the log, and learn all of it or what follows a stored model."""
        for event in self._log.read():
            self.ledger.apply(event)
        learned = self.ledger.learned
        stored_at = 0
        if len(learned) > _REPLAYED_ANYWAY:
            for position, content in self._log.load_snapshots(self._start_key):
                header, _, model = content.partition(b"\n")
                if position <= len(learned) and json.loads(header) == sequence_digest(
                    learned[:position]
                ):
                    self.fold.resume(position, _learner_from(model))
                    stored_at = position
                    break
        self.fold.follow(learned, self.fold.position)
        return stored_at

    def _snapshot_of(self, digest: str) -> bytes:
        """Return the model, after a line that says what it has learned."""
        return json.dumps(digest).encode() + b"\n" + _files.content_of(self.fold.learner)

    def _write_snapshot(self, position: int, content: bytes) -> None:
        """Store a model; that only saves time, so that a full disk is no reason to stop."""
        try:
            self._log.save_snapshot(position, self._start_key, content)
        except LogError as error:
            self.notices.append(f"The model could not be stored: {error}")


def _start_key(learner: Any) -> str:
    """Return the identity of a starting model and of the releases that learn on.

    Other releases may round otherwise: their models are not gone on from, but replayed.
    """
    versions = f"{__version__} {np.__version__} {scipy.__version__}"
    return hashlib.sha256(f"{versions} {_files.identity_of(learner)}".encode()).hexdigest()


def _learner_from(content: bytes) -> Any:
    with tempfile.TemporaryDirectory(prefix="likewise-") as folder:
        path = Path(folder) / "model.safetensors"
        path.write_bytes(content)
        return _files.load(path)
