"""One run of one rival: what it is given, what is measured, how it may end."""

import time

import numpy as np
import pytest
from benchmarks import environments
from benchmarks.base import Rival
from benchmarks.process import NoResultError, call


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
