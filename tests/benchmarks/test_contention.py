"""Runs wait for an idle machine, and disturbed runs are repeated."""

import subprocess
import sys
import time

import pytest
from benchmarks import contention
from benchmarks.contention import Patience, call_undisturbed


def runs_until_undisturbed(monkeypatch, others, *, patience_s):
    """Return the kept run's number and what others used, where run i sees ``others[i]`` cores."""
    clock, runs = [0.0], []

    def one_second(*_, **__):
        clock[0] += 1
        runs.append(len(runs))
        return {"run": runs[-1]}, {}

    monkeypatch.setattr(contention, "call", one_second)
    monkeypatch.setattr(Patience, "wait_until_idle", lambda _: None)
    monkeypatch.setattr(contention.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(contention, "other_cpu_s", lambda: sum(others[: len(runs)]))
    patience = Patience(patience_s)
    kept, _ = call_undisturbed(None, None, threads=1, budget_s=1, patience=patience)
    return len(runs), kept["run"], pytest.approx(kept["others_cores"])


def test_a_disturbed_run_is_repeated(monkeypatch):
    assert runs_until_undisturbed(monkeypatch, [0.9, 0.5, 0.05, 0.0], patience_s=5) == (3, 2, 0.05)
    monkeypatch.undo()
    assert runs_until_undisturbed(monkeypatch, [0.9, 0.5, 0.7, 0.0], patience_s=2) == (3, 1, 0.5)
    monkeypatch.undo()
    assert runs_until_undisturbed(monkeypatch, [0.0, 0.9], patience_s=5) == (1, 0, 0.0)


def test_waiting_for_an_idle_machine_ends_with_patience(monkeypatch):
    used = [0.0]

    def sleep(seconds):
        used[0] += seconds  # one core is always busy

    monkeypatch.setattr(contention.time, "sleep", sleep)
    monkeypatch.setattr(contention, "other_cpu_s", lambda: used[0])
    patience = Patience(2)
    patience.wait_until_idle()
    assert patience.left_s == 0
    assert used[0] == 2
    monkeypatch.setattr(contention, "other_cpu_s", lambda: 0.0)
    patience = Patience(2)
    patience.wait_until_idle()
    assert patience.left_s == 2


def test_what_others_use_is_seen_and_our_own_work_is_not():
    def others_cores(work):
        before, started = contention.other_cpu_s(), time.perf_counter()
        work()
        return (contention.other_cpu_s() - before) / (time.perf_counter() - started)

    busy = [sys.executable, "-c", "import time\nwhile time.process_time() < 0.4: pass"]
    beside_a_neighbour, beside_a_child = [], []
    for _ in range(3):  # other tests may run at the same time: compare the calmest of three
        neighbour = subprocess.Popen(busy)  # not waited for until later, so not counted as ours
        beside_a_neighbour.append(others_cores(lambda: time.sleep(0.3)))
        neighbour.wait()
        beside_a_child.append(others_cores(lambda: subprocess.run(busy, check=True)))
    assert min(beside_a_neighbour) > 0.3
    assert min(beside_a_child) < min(beside_a_neighbour)
