"""A process that judges as fast as it can, until it is killed; what was acknowledged it says."""

import threading
import uuid

import numpy as np
from judging import toy_items

from likewise.live import Engine, RefusedError, writer

N_THREADS = 6


def speed_up_snapshots():
    """Let a short log have stored models, so that they are tested as well."""
    writer._SNAPSHOT_EVERY, writer._REPLAYED_ANYWAY = 40, 40


def judge_until_killed(log, acknowledged, seed):
    speed_up_snapshots()
    items, y = toy_items()
    engine = Engine(items, log, annotators=[f"a{n}" for n in range(N_THREADS)], seed=seed)
    engine.start()
    lock = threading.Lock()

    def annotate(number):
        rng, name = np.random.default_rng([seed, number]), f"a{number}"
        mine = []
        while True:
            if mine and rng.random() < 0.15:
                undone = mine.pop(int(rng.integers(len(mine))))
                engine.undo(undone, name).result()
                with lock:
                    acknowledged.send(("undo", undone, "", "", "", name))
                continue
            offer = engine.next(name)
            if offer is None:
                return
            left, right = int(offer.left), int(offer.right)
            answer = "same" if y[left] == y[right] else "different"
            made = str(uuid.UUID(int=int(rng.integers(2**62)) << 64 | int(rng.integers(2**62))))
            try:
                engine.judge(offer.left, offer.right, answer, name, made).result()
            except RefusedError:
                continue  # an overlapping pair that was judged before the last kill
            mine.append(made)
            with lock:
                acknowledged.send(("judgement", made, offer.left, offer.right, answer, name))

    threads = [threading.Thread(target=annotate, args=(n,)) for n in range(N_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
