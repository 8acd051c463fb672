"""The benchmark harness: fair turns, honest rows, plausible numbers."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest
from benchmarks import data, environments, harness
from benchmarks.harness import (
    OURS,
    Benchmark,
    NoResultError,
    Patience,
    Rival,
    WrongAnswerError,
    benchmark,
    call,
    call_undisturbed,
    run,
    turns,
)

RIVALS = """
import os, sys, time
import numpy as np

def good(threads):
    return lambda data: {"total": data["X"].sum(), "threads": int(os.environ["OMP_NUM_THREADS"])}

def hungry(threads, megabytes):
    return lambda data: {"total": np.ones(megabytes * 125_000).sum()}

def slow_once(threads):
    calls = []
    def work(data):
        calls.append(None)
        time.sleep(0.3 if len(calls) == 1 else 0)
        return {"total": data["X"].sum()}
    return work

def wrong(threads):
    return lambda data: {"total": data["X"].sum() + 1}

def sleeping(threads):
    return lambda data: time.sleep(60)

def raising(threads):
    def work(data):
        raise TypeError("got an unexpected keyword argument")
    return work

def crashing(threads):
    return lambda data: os.abort()

def missing(threads):
    import a_module_that_nobody_has
"""


@pytest.fixture
def rival(tmp_path):
    (tmp_path / "made_up.py").write_text(RIVALS)
    return lambda function, **options: Rival(f"{tmp_path / 'made_up'}:{function}", options=options)


@pytest.fixture
def arrays(tmp_path):
    path = tmp_path / "arrays.npz"
    np.savez(path, X=np.arange(12.0).reshape(4, 3))
    return path


def test_rivals_take_turns_and_each_round_begins_with_the_next():
    assert turns(["a", "b", "c"], 2) == ["a", "b", "c", "b", "c", "a"]
    assert turns(["a"], 3) == ["a", "a", "a"]


def test_a_rival_gets_the_arrays_and_the_threads(rival, arrays):
    measured, result = call(rival("good"), arrays, threads=3, budget_s=30)
    assert result["total"] == 66
    assert result["threads"] == 3
    assert measured["versions"]["numpy"] == np.__version__
    assert 0 <= measured["warm_s"] < measured["cold_s"] < 30


def test_cold_is_the_first_call_and_warm_the_second(rival, arrays):
    measured, _ = call(rival("slow_once"), arrays, threads=1, budget_s=30)
    assert measured["cold_s"] >= 0.3
    assert measured["warm_s"] < 0.2


def test_a_first_call_above_the_limit_is_not_followed_by_a_warm_one(rival, arrays):
    limits = {"threads": 1, "budget_s": 30, "warm_below_s": 0.2}
    measured, _ = call(rival("slow_once"), arrays, **limits)
    assert measured["warm_s"] >= 0.3
    measured, _ = call(rival("slow_once"), arrays, **{**limits, "warm_below_s": 5})
    assert measured["warm_s"] < 0.2


def test_peak_memory_is_what_was_asked_for(rival, arrays):
    measured, _ = call(rival("hungry", megabytes=200), arrays, threads=1, budget_s=30)
    assert 10 < measured["baseline_mb"] < 150
    assert 195 < measured["peak_mb"] - measured["baseline_mb"] < 230


@pytest.mark.parametrize(
    ("function", "status", "detail"),
    [
        ("raising", "failed", "TypeError: got an unexpected keyword argument"),
        ("crashing", "failed", "killed by signal 6"),
        ("missing", "not installed", "No module named 'a_module_that_nobody_has'"),
    ],
)
def test_a_rival_that_ends_says_why(rival, arrays, function, status, detail):
    with pytest.raises(NoResultError, match=detail) as caught:
        call(rival(function), arrays, threads=1, budget_s=30)
    assert caught.value.status == status


def test_a_rival_that_takes_too_long_is_stopped(rival, arrays):
    started = time.perf_counter()
    with pytest.raises(NoResultError, match="over 1 s") as caught:
        call(rival("sleeping"), arrays, threads=1, budget_s=1)
    assert caught.value.status == "timed out"
    assert time.perf_counter() - started < 20


def test_a_missing_environment_is_a_row_not_a_crash(arrays, monkeypatch, tmp_path):
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    with pytest.raises(NoResultError, match="no environment 'pylmnn'") as caught:
        call(Rival("with_pylmnn:lmnn", "pylmnn"), arrays, threads=1, budget_s=30)
    assert caught.value.status == "not installed"


def tries_until_calm(monkeypatch, others, *, patience_s):
    """Return the kept run's number and what others used, where run i sees ``others[i]`` cores."""
    clock, runs = [0.0], []

    def one_second(*_, **__):
        clock[0] += 1
        runs.append(len(runs))
        return {"run": runs[-1]}, {}

    monkeypatch.setattr(harness, "call", one_second)
    monkeypatch.setattr(Patience, "wait_for_calm", lambda _: None)
    monkeypatch.setattr(harness.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(harness, "_cpu_used_by_others", lambda: sum(others[: len(runs)]))
    patience = Patience(patience_s)
    kept, _ = call_undisturbed(None, None, threads=1, budget_s=1, patience=patience)
    return len(runs), kept["run"], pytest.approx(kept["others_cores"])


def test_a_disturbed_run_is_made_again(monkeypatch):
    assert tries_until_calm(monkeypatch, [0.9, 0.5, 0.05, 0.0], patience_s=5) == (3, 2, 0.05)
    monkeypatch.undo()
    assert tries_until_calm(monkeypatch, [0.9, 0.5, 0.7, 0.0], patience_s=2) == (3, 1, 0.5)
    monkeypatch.undo()
    assert tries_until_calm(monkeypatch, [0.0, 0.9], patience_s=5) == (1, 0, 0.0)


def test_disturbed_runs_do_not_count_where_there_are_calm_ones():
    def median(*runs):
        seen = [{"warm_s": s, "others_cores": c, "versions": {}} for s, c in runs]
        return harness._row("iris", (150, 4), OURS, seen, None)["values"]["warm_s"]["median"]

    assert median((1.0, 0.0), (9.0, 0.8), (9.0, 0.9)) == 1
    assert median((8.0, 0.8), (9.0, 0.9), (9.0, 0.9)) == 9


def test_waiting_for_calm_ends_with_patience(monkeypatch):
    used = [0.0]

    def sleep(seconds):
        used[0] += seconds  # one core busy, for ever

    monkeypatch.setattr(harness.time, "sleep", sleep)
    monkeypatch.setattr(harness, "_cpu_used_by_others", lambda: used[0])
    patience = Patience(2)
    patience.wait_for_calm()
    assert patience.left_s == 0
    assert used[0] == 2
    monkeypatch.setattr(harness, "_cpu_used_by_others", lambda: 0.0)
    patience = Patience(2)
    patience.wait_for_calm()
    assert patience.left_s == 2


def test_what_others_use_is_seen_and_our_own_work_is_not():
    def others_cores(work):
        before, started = harness._cpu_used_by_others(), time.perf_counter()
        work()
        return (harness._cpu_used_by_others() - before) / (time.perf_counter() - started)

    busy = [sys.executable, "-c", "import time\nwhile time.process_time() < 0.4: pass"]
    beside_a_neighbour, beside_a_child = [], []
    for _ in range(3):  # other tests may run at the same time: compare the calmest of three
        neighbour = subprocess.Popen(busy)  # not waited for until later, so not counted as ours
        beside_a_neighbour.append(others_cores(lambda: time.sleep(0.3)))
        neighbour.wait()
        beside_a_child.append(others_cores(lambda: subprocess.run(busy, check=True)))
    assert min(beside_a_neighbour) > 0.3
    assert min(beside_a_child) < min(beside_a_neighbour)


@pytest.fixture
def summing(rival, monkeypatch):
    monkeypatch.setattr("benchmarks.harness.REGISTRY", registry := {})

    @benchmark("summing", datasets=["iris", "absent"], seeds=(0, 1), repeats=2, budget_s=30)
    class Summing(Benchmark):
        """Add all numbers."""

        rivals = {OURS: rival("good"), "wrong": rival("wrong"), "raising": rival("raising")}

        def reference(self, arrays):
            return arrays["X"].sum()

        def score(self, result, arrays, reference):
            if result["total"] != reference:
                raise WrongAnswerError("the sum is another")
            return {"error": 0.0}

    return registry["summing"]


def test_a_run_has_a_row_for_every_rival_and_data_set(summing, monkeypatch):
    def read():
        raise FileNotFoundError("put absent.npz in a folder and name the folder in LIKEWISE_DATA")

    monkeypatch.setitem(data.DATASETS, "absent", (4, read))
    results = json.loads(json.dumps(run(summing, patience_s=0)))
    status = {(row["dataset"], row["rival"]): row["status"] for row in results["rows"]}
    assert status == {
        ("iris", OURS): "ok",
        ("iris", "wrong"): "wrong answer",
        ("iris", "raising"): "failed",
        ("absent", OURS): "no data",
        ("absent", "wrong"): "no data",
        ("absent", "raising"): "no data",
    }
    ours = results["rows"][0]
    assert ours["shape"] == [150, 4]
    assert 1 <= len(ours["values"]["warm_s"]["runs"]) <= 4  # two seeds, two repeats, the calm ones
    assert ours["values"]["warm_s"]["low"] <= ours["values"]["warm_s"]["median"]
    assert "LIKEWISE_DATA" in results["rows"][-1]["detail"]
    for fact in ("commit", "versions", "cpu", "cores", "threads", "load_average", "date"):
        assert results[fact]
