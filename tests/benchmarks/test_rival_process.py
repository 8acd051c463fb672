"""One run of one rival: what it is given, what is measured, how it may end."""

import time

import numpy as np
import pytest
from benchmarks import environments
from benchmarks.base import Rival
from benchmarks.process import NoResultError, call, lower_bounds


def test_a_rival_gets_the_arrays_and_the_threads(rival, arrays):
    measured, result = call(rival("good"), arrays, threads=3, budget_s=30)
    assert result["total"] == 66
    assert result["threads"] == 3
    assert measured["versions"]["numpy"] == np.__version__
    assert 0 <= measured["warm_s"] < measured["cold_s"] < 30


def test_cold_is_the_first_call_and_warm_a_later_one(rival, arrays):
    measured, _ = call(rival("sleeping", first=0.3, seconds=0), arrays, threads=1, budget_s=30)
    assert 0.3 <= measured["cold_s"] < 5
    assert measured["warm_s"] < 0.2


def test_a_first_call_above_the_limit_is_not_followed_by_a_warm_one(rival, arrays):
    slow_once = rival("sleeping", first=0.3, seconds=0)
    measured, _ = call(slow_once, arrays, threads=1, budget_s=30, warm_below_s=0.2)
    assert measured["warm_s"] >= 0.3
    assert measured["warm_calls"] == 0
    measured, _ = call(slow_once, arrays, threads=1, budget_s=30, warm_below_s=5)
    assert measured["warm_s"] < 0.2


@pytest.mark.parametrize("first", [None, 0.4])
def test_short_calls_are_repeated_however_long_the_first_one_takes(rival, arrays, first):
    milliseconds = rival("sleeping", seconds=1e-3, first=first, every_tenth=2e-2)
    measured, _ = call(milliseconds, arrays, threads=1, budget_s=30)
    assert 20 <= measured["warm_calls"] <= 300
    assert 1e-3 <= measured["warm_s"] < 1e-2  # the median is one of the short calls
    assert measured["cold_s"] - measured["import_s"] == pytest.approx(first or 1e-3, abs=0.3)


def test_calls_that_are_not_short_are_not_repeated(rival, arrays):
    measured, _ = call(rival("sleeping", seconds=0.35), arrays, threads=1, budget_s=30)
    assert measured["warm_calls"] == 1
    brief = rival("sleeping", seconds=1e-3)
    measured, _ = call(brief, arrays, threads=1, budget_s=30, repeat_s=0)
    assert measured["warm_calls"] == 1


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


def stopped(rival, arrays, **limits):
    """Return the lower bounds on the times of a rival that is stopped after three seconds."""
    started = time.perf_counter()
    with pytest.raises(NoResultError, match="over 3 s") as caught:
        call(rival, arrays, threads=1, budget_s=3, **limits)
    assert caught.value.status == "timed out"
    assert time.perf_counter() - started < 20
    return caught.value.lower_bounds


def test_a_stopped_first_call_bounds_the_cold_and_the_warm_time(rival, arrays):
    bounds = stopped(rival("sleeping"), arrays, warm_below_s=0.1)
    assert 0.1 < bounds["warm_s"] <= bounds["cold_s"] < 3


def test_a_stopped_warm_call_bounds_the_warm_time_and_the_cold_time_is_known(rival, arrays):
    bounds = stopped(rival("sleeping", first=0.05), arrays)
    assert bounds["cold_s"] >= 0.05
    assert 0 < bounds["warm_s"] < 3 - bounds["cold_s"]


@pytest.mark.parametrize(
    ("progress", "bounds"),
    [
        ({}, {}),
        ({"import_started": 3}, {"cold_s": 97}),
        ({"import_s": 2, "call_started": 5}, {"cold_s": 97, "warm_s": 95}),
        ({"import_s": 2, "call_started": 80}, {"cold_s": 22}),
        ({"cold_s": 25}, {"cold_s": 25}),
        ({"cold_s": 25, "warm_started": 28}, {"cold_s": 25, "warm_s": 72}),
    ],
)
def test_lower_bounds_follow_from_the_last_report(progress, bounds):
    assert lower_bounds(progress, stopped=100, warm_below_s=30) == bounds


def test_a_missing_environment_is_a_row_not_a_crash(arrays, monkeypatch, tmp_path):
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    with pytest.raises(NoResultError, match="no environment 'pylmnn'") as caught:
        call(Rival("with_pylmnn:lmnn", "pylmnn"), arrays, threads=1, budget_s=30)
    assert caught.value.status == "not installed"
