"""The benchmark harness: fair turns, honest rows, plausible numbers."""

import json
import time

import numpy as np
import pytest
from benchmarks import environments
from benchmarks.harness import (
    OURS,
    Benchmark,
    NoResultError,
    Rival,
    WrongAnswerError,
    benchmark,
    call,
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

    monkeypatch.setitem(__import__("benchmarks.data").data.DATASETS, "absent", (4, read))
    results = json.loads(json.dumps(run(summing)))
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
    assert len(ours["values"]["warm_s"]["runs"]) == 4  # two seeds, two repeats
    assert ours["values"]["warm_s"]["low"] <= ours["values"]["warm_s"]["median"]
    assert "LIKEWISE_DATA" in results["rows"][-1]["detail"]
    for fact in ("commit", "versions", "cpu", "cores", "threads", "load_average", "date"):
        assert results[fact]
