"""A small part of ``make fuzz``: hostile files, numbers, kills, interrupts, threads and forks."""

import os
from importlib import import_module

import pytest
from fuzz import __main__ as runner
from fuzz.report import Report

FEW = {"files": 400, "numbers": 150, "kills": 10, "interrupts": 90, "threads": 16, "forks": 8}
NEEDS_FORK = {"kills", "forks"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", FEW)
def test_a_few_cases(part):
    if part in NEEDS_FORK and not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    report = import_module(f"fuzz.{part}").run(FEW[part], seed=1)
    assert report.n_cases == FEW[part]
    assert not report.failures, "\n".join(report.failures)


def test_every_part_is_run():
    assert set(runner.CASES) == set(FEW)


def test_a_failure_is_counted():
    report = Report()
    report.add("refused")
    report.fail("a case", ValueError("why"))
    assert str(report) == "2 cases: 1 failed, 1 refused"
    assert "ValueError: why" in report.failures[0]


def test_the_same_seed_gives_the_same_cases():
    numbers = import_module("fuzz.numbers")
    first, second = (numbers.run(40, seed=5) for _ in range(2))
    assert first.outcomes == second.outcomes
