"""A log that cannot be written or read: everyone is answered, and nothing is lost."""

import uuid

import apsw
import pytest
from judging import toy_items

from likewise.live import Engine, LogError, StorageFullError

ITEMS, _ = toy_items(120)


@pytest.fixture
def engine(tmp_path):
    with Engine(ITEMS, str(tmp_path / "log.sqlite"), annotators=["ann", "bob"], seed=0) as made:
        yield made


def test_what_was_cancelled_before_it_was_written_is_not_written(tmp_path):
    engine = Engine(ITEMS, str(tmp_path / "log.sqlite"))
    cancelled = engine.judge("0", "1", "same", "you")
    assert cancelled.cancel()
    with engine:
        assert engine.judge("0", "2", "same", "you").result(30).created
        assert engine.writer.failure is None
        assert [event.right for event in engine.ledger.events] == ["2"]


class FailingConnection:
    """A connection whose commits and reads fail, as those of a broken disk do."""

    def __init__(self, connection, error):
        self._connection, self._error = connection, error

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def execute(self, statement, *parameters):
        if statement.startswith(("COMMIT", "SELECT")):
            raise self._error
        return self._connection.execute(statement, *parameters)


def test_a_disk_that_cannot_be_read_is_said_and_writing_goes_on_afterwards(engine):
    connection = engine._log._connection
    engine._log._connection = FailingConnection(connection, apsw.IOError("disk I/O error"))
    with pytest.raises(LogError, match="could not be read"):
        engine.judge("0", "1", "same", "ann").result(30)
    assert engine.writer.failure is not None
    engine._log._connection = connection
    assert engine.judge("0", "1", "same", "ann").result(30).created
    assert engine.writer.failure is None


def test_after_an_unexpected_error_everyone_is_answered(engine, monkeypatch):
    monkeypatch.setattr(engine._log, "append", lambda events: 1 / 0)
    for right in "12":
        with pytest.raises(LogError, match=r"no longer written, .* \(division by zero\)"):
            engine.judge("0", right, "same", "ann").result(30)
    assert "no longer written" in engine.writer.failure


def test_where_learning_fails_judgements_are_still_written(engine, monkeypatch):
    monkeypatch.setattr(engine.writer.fold, "follow", lambda *args, **more: 1 / 0)
    offer = engine.next("ann")
    engine.judge(offer.left, offer.right, "same", "ann").result(30)
    engine.writer.settle()
    assert "nothing more is learned (division by zero)" in engine.learning_failure
    assert engine.judge("0", "2", "same", "bob").result(30).created


def test_a_pair_whose_answer_could_not_be_stored_is_given_to_nobody_else(engine, monkeypatch):
    offer = engine.next("ann")

    def fail(events):
        raise LogError("the disk is gone.")

    with monkeypatch.context() as patch:
        patch.setattr(engine._log, "append", fail)
        with pytest.raises(LogError, match="the disk is gone"):
            engine.judge(offer.left, offer.right, "same", "ann").result(30)
    assert engine.pending.add(offer.left, offer.right, "chosen", "bob", None) is None
    engine.judge(offer.left, offer.right, "same", "ann").result(30)
    assert len(engine.pending) == 0


def test_a_full_disk_is_said_and_loses_nothing(engine):
    connection = engine._log._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    made, failed = [], None
    while failed is None:
        offer = engine.next("ann")
        number = str(uuid.uuid4())
        try:
            engine.judge(offer.left, offer.right, "same", "ann", number).result()
            made.append(number)
        except StorageFullError:
            failed = offer, number
    assert engine.writer.failure is not None
    n_events = len(engine.ledger)
    connection.execute("PRAGMA max_page_count = 100000")
    offer, number = failed
    assert engine.judge(offer.left, offer.right, "same", "ann", number).result().created
    assert len(engine.ledger) == n_events + 1
    assert engine.writer.failure is None
