"""likewise.live: the choice of pairs, and the service under load and with many items."""

import copy
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np


def chosen_pairs(threads):
    """FNMR on items that were not judged, after every few judgements, by both choices of pairs."""
    from likewise.live import start_model
    from likewise.live.chooser import Chooser
    from likewise.live.view import ModelView

    def curve(X, y, unseen, choice, data, seed):
        rng, learner, asked = np.random.default_rng([seed, 1]), start_model(X), set()
        chooser = Chooser(X, lambda i, j: (min(i, j), max(i, j)) not in asked, seed)
        rates = [fnmr(learner, *unseen)]
        for count in range(int(data["n_judgements"])):
            if choice == "active" and count % 10 == 0:
                view = ModelView(count, copy.deepcopy(learner))
                chooser.refresh(view)
                chooser.rank(view)
            left, right = chooser.take() if choice == "active" else chooser.take_random()
            asked.add((min(left, right), max(left, right)))
            same = bool(y[left] == y[right]) != (rng.random() < float(data["wrong_share"]))
            learner.learn_pair(X[left], X[right], same)
            if (count + 1) % int(data["step"]) == 0:
                rates.append(fnmr(learner, *unseen))
        return rates

    def fnmr(learner, X, y):
        Z = X @ learner.components_.T.astype(np.float64)
        squares = (Z * Z).sum(axis=1)
        first, second = np.triu_indices(len(y), 1)
        distances = (squares[:, None] + squares - 2 * Z @ Z.T)[first, second]
        same = y[first] == y[second]
        return float((distances[same] > np.quantile(distances[~same], 0.01)).mean())

    def judge(data):
        curves = {"active": [], "random": []}
        for seed, (judged, unseen) in enumerate(zip(data["judged"], data["unseen"], strict=True)):
            X, y = data["X"][judged].astype(np.float32), data["y"][judged]
            others = data["X"][unseen], data["y"][unseen]
            for choice, found in curves.items():
                found.append(curve(X, y, others, choice, data, seed))
        return {choice: np.array(found) for choice, found in curves.items()}

    return judge


@contextmanager
def _running(folder, tokens):
    """Yield a service of the items in a folder: the process and its address."""
    lines = [f"client{number} {token}\n" for number, token in enumerate(tokens)]
    (folder / "tokens.txt").write_text("".join(lines))
    arguments = ["--log", folder / "log.sqlite", "--token-file", folder / "tokens.txt", "--port=0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "likewise", "serve", folder / "items.npy", *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        found = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in process.stdout)
        yield process, next(address[0] for address in found if address)
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def many_items(threads):
    """A service of many items: how soon it is ready, how long a pair takes, and its memory."""
    from likewise.live import Client

    def processor_s(process):
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def most_memory_mb(process):
        status = Path(f"/proc/{process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024 / 1e6

    def clustered(n_items, rng):
        centres = rng.standard_normal((n_items // 20, 128), dtype=np.float32)
        X = np.tile(2 * centres, (20, 1))
        for start in range(0, n_items, 100_000):
            block = X[start : start + 100_000]
            block += rng.standard_normal(block.shape, dtype=np.float32)
        return X

    def label(data):
        n_items = int(data["n_items"])
        X = clustered(n_items, np.random.default_rng(int(data["seed"])))
        taken, token = [], "token-of-the-client"
        with tempfile.TemporaryDirectory() as folder:
            np.save(Path(folder) / "items.npy", X)
            del X
            begin = time.perf_counter()
            with (
                _running(Path(folder), [token]) as (process, address),
                closing(Client(address, token)) as client,
            ):
                pair = client.next()
                ready_s, ready_cpu_s = time.perf_counter() - begin, processor_s(process)
                for _ in range(200):
                    left, right = (int(pair[side]["id"]) for side in ("left", "right"))
                    same = left % (n_items // 20) == right % (n_items // 20)
                    client.judge(str(left), str(right), "same" if same else "different")
                    started = time.perf_counter()
                    pair = client.next()
                    taken.append(time.perf_counter() - started)
                memory_mb = most_memory_mb(process)
        return {
            "taken": np.array(taken),
            "ready_s": np.asarray(ready_s),
            "ready_cpu_s": np.asarray(ready_cpu_s),
            "memory_mb": np.asarray(memory_mb),
        }

    return label


def service(threads, n_clients):
    """Judgements sent to ``likewise serve`` at a steady rate: how long each answer took."""
    from likewise.live import Client

    tokens = [f"token-of-client-{number}" for number in range(n_clients)]

    def send(number, address, data, taken):
        """Send one client's share of the judgements; a late answer delays what follows it."""
        rng, rate = np.random.default_rng(number), float(data["rate"]) / n_clients
        begin, duration = time.perf_counter() + number / n_clients / rate, float(data["duration"])
        half = len(data["X"]) // 2
        lefts = rng.permutation(half)  # from one half, so that no pair comes twice
        with closing(Client(address, tokens[number])) as client:
            for count in range(int(rate * duration)):
                time.sleep(max(0.0, begin + count / rate - time.perf_counter()))
                if time.perf_counter() - begin > duration:
                    break
                left, right = int(lefts[count]), half + int(rng.integers(half))
                answer = "same" if data["y"][left] == data["y"][right] else "different"
                started = time.perf_counter()
                client.judge(str(left), str(right), answer)
                taken.append(time.perf_counter() - started)

    def send_all(folder, data, taken):
        """Let all clients send; return how long that took, and how many judgements are stored."""
        with _running(folder, tokens) as (_, address):
            clients = [
                threading.Thread(target=send, args=(number, address, data, taken))
                for number in range(n_clients)
            ]
            begin = time.perf_counter()
            for thread in clients:
                thread.start()
            for thread in clients:
                thread.join()
            elapsed = time.perf_counter() - begin
            with closing(Client(address, tokens[0])) as client:
                return elapsed, sum(1 for _ in client.judgements())

    def load(data):
        taken = []
        with tempfile.TemporaryDirectory() as folder:
            np.save(Path(folder) / "items.npy", data["X"].astype(np.float32))
            elapsed, n_stored = send_all(Path(folder), data, taken)
        return {
            "taken": np.array(taken),
            "elapsed": np.asarray(elapsed),
            "n_stored": np.asarray(n_stored),
        }

    return load
