"""The benchmark harness: fair turns, honest rows, plausible numbers."""

import json

import pytest
from benchmarks import data, harness
from benchmarks.base import OURS, Benchmark, WrongAnswerError, benchmark
from benchmarks.harness import run, turns
from benchmarks.process import NoResultError


def test_rivals_take_turns_and_each_round_begins_with_the_next():
    assert turns(["a", "b", "c"], 2) == ["a", "b", "c", "b", "c", "a"]
    assert turns(["a"], 3) == ["a", "a", "a"]


def test_disturbed_runs_do_not_count_where_there_are_others(summing):
    def median(*runs):
        seen = [{"warm_s": s, "others_cores": c, "versions": {}} for s, c in runs]
        return harness._row(summing, "iris", (150, 4), OURS, seen, None)["values"]["warm_s"][
            "median"
        ]

    assert median((1.0, 0.0), (9.0, 0.8), (9.0, 0.9)) == 1
    assert median((8.0, 0.8), (9.0, 0.9), (9.0, 0.9)) == 9


def test_the_bounds_of_a_rival_that_times_out_hold_for_its_earlier_runs(summing):
    late = NoResultError("timed out", "over 60 s", {"cold_s": 50.0, "warm_s": 40.0})
    row = harness._row(summing, "iris", (150, 4), "raising", [], late)
    assert row["lower_bounds"] == late.lower_bounds
    earlier = [{"cold_s": 55.0, "warm_s": 30.0}]
    row = harness._row(summing, "iris", (150, 4), "raising", earlier, late)
    assert row["lower_bounds"] == {"cold_s": 50, "warm_s": 30}


@pytest.fixture
def summing(rival, monkeypatch):
    monkeypatch.setattr("benchmarks.base.REGISTRY", registry := {})

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
    assert 1 <= len(ours["values"]["warm_s"]["runs"]) <= 4  # 2 seeds, 2 repeats, undisturbed
    assert ours["values"]["warm_s"]["low"] <= ours["values"]["warm_s"]["median"]
    assert "LIKEWISE_DATA" in results["rows"][-1]["detail"]
    for fact in ("commit", "versions", "cpu", "cores", "threads", "load_average", "date"):
        assert results[fact]
