"""``likewise serve`` with many annotators at once, and killed while they judge."""

import threading
import time
import uuid
from contextlib import closing
from http.client import HTTPException

import numpy as np
import pytest
from judging import toy_items
from running_service import running

from likewise.live import Client, Engine, Items

N_ANNOTATORS = 50
TOKENS = {f"annotator{n}": f"token-of-annotator-{n}" for n in range(N_ANNOTATORS)}


@pytest.fixture
def arguments(tmp_path):
    """Return the arguments of ``serve`` for new items."""
    items, _ = toy_items(300)
    np.save(tmp_path / "items.npy", items.vectors)
    lines = [f"{name} {token}\n" for name, token in TOKENS.items()]
    (tmp_path / "tokens.txt").write_text("".join(lines))
    places = [tmp_path / "items.npy", "--log", tmp_path / "log.sqlite"]
    return ["serve", *places, "--token-file", tmp_path / "tokens.txt", "--port", 0]


def annotate_all(address, annotate):
    """Run an annotator per token at once; return what they raised."""
    errors = []

    def run(token):
        try:
            with closing(Client(address, token)) as client:
                annotate(client)
        except (OSError, HTTPException, AssertionError, LookupError, TypeError) as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(token,)) for token in TOKENS.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_50_annotators_get_pairs_of_their_own(arguments):
    lock, pending, judged = threading.Lock(), set(), []

    def annotate(client):
        for _ in range(4):
            pair = client.next()
            left, right = pair["left"]["id"], pair["right"]["id"]
            with lock:
                assert frozenset((left, right)) not in pending, "given to two at once"
                pending.add(frozenset((left, right)))
            time.sleep(0.02)  # all have one at the same time
            with lock:  # the service may give it to others from the next line on
                pending.remove(frozenset((left, right)))
            client.judge(left, right, "same" if int(left) % 6 == int(right) % 6 else "different")
            judged.append(sorted((left, right)))

    with running(*arguments) as (address, _):
        assert annotate_all(address, annotate) == []
        with closing(Client(address, TOKENS["annotator0"])) as client:
            stored = [sorted((event.left, event.right)) for event in client.judgements()]
    assert len(stored) == 4 * N_ANNOTATORS
    assert sorted(stored) == sorted(judged)


def kill_under_load(arguments, n_kills, seed):
    """Kill the service at random moments; return the judgements that it had acknowledged."""
    rng, acknowledged = np.random.default_rng(seed), []

    def annotate(client):
        draws = np.random.default_rng(uuid.uuid4().int)
        while True:  # until the service is killed
            left, right = map(str, draws.choice(300, 2, replace=False))
            made = str(uuid.uuid4())
            client.judge(left, right, "same", made)
            acknowledged.append(made)

    for _ in range(n_kills):
        with running(*arguments) as (address, process):
            more = len(acknowledged) + 20
            killer = threading.Thread(target=kill_when, args=(process, acknowledged, more, rng))
            killer.start()
            errors = annotate_all(address, annotate)
            killer.join()
        assert all(isinstance(error, OSError | HTTPException) for error in errors), errors
        assert process.wait(30) == -9
    return acknowledged


def kill_when(process, acknowledged, n, rng):
    """Kill a process a random time after n judgements were acknowledged."""
    while len(acknowledged) < n and process.poll() is None:
        time.sleep(0.001)
    time.sleep(rng.uniform(0, 0.3))
    process.kill()


def assert_nothing_lost(arguments, acknowledged):
    items, log = arguments[1], str(arguments[3])
    with Engine(Items(np.load(items)), log) as engine:
        found = [event.id for event in engine.ledger.events]
    assert len(set(found)) == len(found), "an event is there twice"
    assert set(acknowledged) <= set(found)
    assert len(acknowledged) > 20


def test_a_killed_service_has_lost_nothing(arguments):
    assert_nothing_lost(arguments, kill_under_load(arguments, 2, seed=0))


@pytest.mark.slow
def test_a_service_killed_20_times_has_lost_nothing(arguments):
    assert_nothing_lost(arguments, kill_under_load(arguments, 20, seed=1))
