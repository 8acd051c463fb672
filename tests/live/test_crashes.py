"""Nothing that was acknowledged is lost: killed processes, and power cuts that lose writes."""

import multiprocessing
import os
import shutil
import signal
import time

import numpy as np
import pytest
from crash_worker import judge_until_killed, speed_up_snapshots
from judging import PROJECT, random_events, same_bits, toy_items
from unsynced_vfs import UnsyncedVFS

from likewise.live import Engine, Fold, Ledger, open_log, start_model, writer
from likewise.live._sqlite_log import SQLiteLog


@pytest.fixture(scope="module")
def processes():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["likewise.live.engine", "crash_worker"])
    return context


def killed_run(processes, log, seed, delay_s):
    """Let a process judge, kill it, and return what it said was acknowledged."""
    receiver, sender = processes.Pipe(duplex=False)
    process = processes.Process(target=judge_until_killed, args=(log, sender, seed))
    process.start()
    sender.close()
    acknowledged = []
    if receiver.poll(60):
        deadline = time.monotonic() + delay_s
        while time.monotonic() < deadline and receiver.poll(max(0, deadline - time.monotonic())):
            acknowledged.append(receiver.recv())
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    try:
        while True:  # what it had sent before it was killed; the last may be cut off
            acknowledged.append(receiver.recv())
    except (EOFError, OSError):
        receiver.close()
    return acknowledged


def assert_nothing_lost(log, acknowledged, monkeypatch):
    """The log has each acknowledged event once, and the model is that of a replay."""
    speed_up = {"_SNAPSHOT_EVERY": 40, "_REPLAYED_ANYWAY": 40}
    for name, value in speed_up.items():
        monkeypatch.setattr(writer, name, value)
    items, _ = toy_items()
    engine = Engine(items, log)
    found = [(e.kind, e.id, e.left, e.right, e.answer, e.annotator) for e in engine.ledger.events]
    engine.close()
    assert len(set(found)) == len(found), "an event is there twice"
    missing = set(acknowledged) - set(found)
    assert not missing
    ledger = Ledger()
    for event in engine.ledger.events:
        ledger.apply(event)
    fold = Fold(start_model(items.vectors), items.vectors, items.row_of)
    fold.follow(ledger.learned, 0)
    assert same_bits(fold.learner, engine.writer.fold.learner)
    return len(found)


def kill_many_times(processes, folder, n_kills, seed, monkeypatch):
    rng, acknowledged, log = np.random.default_rng(seed), [], str(folder / "log.sqlite")
    n_events = 0
    for kill in range(n_kills):
        if kill % 20 == 0 and kill:  # the pairs of the items run out
            log, acknowledged = str(folder / f"log{kill}.sqlite"), []
        acknowledged += killed_run(processes, log, seed + kill, rng.uniform(0, 0.12))
        n_events = assert_nothing_lost(log, acknowledged, monkeypatch)
    assert n_events >= len(acknowledged) > 20


def test_kill_9_at_20_random_moments(processes, tmp_path, monkeypatch):
    kill_many_times(processes, tmp_path, 20, 0, monkeypatch)


@pytest.mark.slow
def test_kill_9_at_200_random_moments(processes, tmp_path, monkeypatch):
    kill_many_times(processes, tmp_path, 200, 1000, monkeypatch)


def test_the_check_notices_a_lost_event(processes, tmp_path, monkeypatch):
    log = str(tmp_path / "log.sqlite")
    acknowledged = killed_run(processes, log, 3, 0.05)
    lost = ("judgement", "00000000-0000-0000-0000-000000000000", "0", "1", "same", "a0")
    with pytest.raises(AssertionError):
        assert_nothing_lost(log, [*acknowledged, lost], monkeypatch)


@pytest.mark.parametrize("seed", range(4))
def test_a_power_cut_that_loses_unsynced_writes_loses_no_acknowledged_event(seed, tmp_path):
    rng = np.random.default_rng(seed)
    events, acknowledged, n_images = random_events(400, n_items=60, seed=seed), 0, 0
    begun = False

    def maybe_cut(moment):
        nonlocal n_images
        if not begun or rng.random() > (0.2 if moment == "before a sync" else 0.02):
            return
        image = tmp_path / "image"
        shutil.rmtree(image, ignore_errors=True)
        image.mkdir()
        vfs.crash_image(image)
        recovered = open_log(str(image / "log.sqlite"), PROJECT)
        found = recovered.read()
        recovered.close()
        assert len(found) >= acknowledged, (moment, recovered.notices)
        assert found == events[: len(found)], moment
        n_images += 1

    vfs = UnsyncedVFS(f"unsynced-{seed}", rng, maybe_cut)
    log = SQLiteLog(tmp_path / "log.sqlite", PROJECT, vfs=f"unsynced-{seed}")
    start, begun = 0, True
    while start < len(events):
        stop = min(len(events), start + int(rng.integers(1, 12)))
        log.append(events[start:stop])
        start = acknowledged = stop
        if rng.random() < 0.05:
            log._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    log.close()
    assert n_images > 15


def test_the_power_cut_does_lose_what_was_not_synced(tmp_path):
    """Without syncs the same test must fail: else it would show nothing."""
    rng = np.random.default_rng(0)
    events = random_events(200, n_items=60)
    vfs = UnsyncedVFS("unsynced-off", rng, lambda moment: None)
    log = SQLiteLog(tmp_path / "log.sqlite", PROJECT, vfs="unsynced-off")
    log._connection.execute("PRAGMA synchronous = OFF")
    for event in events:
        log.append([event])
    image = tmp_path / "image"
    image.mkdir()
    vfs.crash_image(image)
    log.close()
    recovered = open_log(str(image / "log.sqlite"), PROJECT)
    assert len(recovered.read()) < 200
    recovered.close()


def test_workers_store_models_as_the_checks_expect():
    before = writer._SNAPSHOT_EVERY, writer._REPLAYED_ANYWAY
    try:
        speed_up_snapshots()
        assert (writer._SNAPSHOT_EVERY, writer._REPLAYED_ANYWAY) == (40, 40)
    finally:
        writer._SNAPSHOT_EVERY, writer._REPLAYED_ANYWAY = before
