"""What `likewise compare` and `likewise report` are expected to take, before and while they run."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from cli_runner import invoke

import likewise as lw
from likewise._runtime.progress import Overall
from likewise.cli import _compare
from likewise.constraints import random_pairs
from likewise.datasets import load
from likewise.evaluation import estimate_compare
from likewise.evaluation.cost import PlannedFits
from likewise.report import estimate_report
from likewise.report._cost import expected_stages

WINE = load("wine")
PAIRS, SAME = random_pairs(WINE.y, 800, random_state=0)
METHODS = ["Euclidean", "RCA"]
LABELLED = ("wine", "--methods", "Euclidean,RCA")
JUDGED = ("items.csv", "--pairs", "pairs.csv", "--methods", "Euclidean,RCA")


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    pd.DataFrame(WINE.X).add_prefix("c").to_csv("items.csv", index=False)
    pairs = pd.DataFrame({"left": PAIRS[:, 0], "right": PAIRS[:, 1], "same": SAME})
    pairs.to_csv("pairs.csv", index=False)


@pytest.fixture
def stages(monkeypatch):
    """The expected times of the stages as they begin; first that of all together."""
    found, expect, move = [], Overall.expect, Overall.move

    def expect_and_keep(self, stages):
        expect(self, stages)
        found.append(self.work.time_left.expected)

    def move_and_keep(self, *step):
        move(self, *step)
        found.append(self.work.time_left.expected)

    monkeypatch.setattr(Overall, "expect", expect_and_keep)
    monkeypatch.setattr(Overall, "move", move_and_keep)
    return lambda: [expected for expected, _ in itertools.groupby(found)]


def total(ranges):
    return tuple(np.sum(ranges, axis=0).tolist())


def ran(*arguments):
    result = invoke(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


def test_a_comparison(stages):
    ran("compare", *LABELLED)
    expected = PlannedFits.of(WINE.X, WINE.y, METHODS).expected()
    assert stages() == [expected]


def test_a_comparison_by_pairs(stages):
    ran("compare", *JUDGED)
    expected = PlannedFits.of(WINE.X, None, METHODS, len(PAIRS)).expected()
    assert stages() == [expected]


def test_a_first_ranking_and_the_comparison_of_all_rows(stages, monkeypatch):
    monkeypatch.setattr(_compare, "FIRST_ROWS", 90)
    ran("compare", *LABELLED, "--repeats", "1")
    first = PlannedFits.of(WINE.X[:90], WINE.y, METHODS, n_repeats=1).expected()
    second = PlannedFits.of(WINE.X, WINE.y, METHODS, n_repeats=1).expected()
    assert stages() == [total([first, second]), first, second]


def test_a_comparison_that_goes_on_may_be_nearly_done(stages, monkeypatch):
    monkeypatch.setattr(_compare, "FIRST_ROWS", 90)

    def journal_file(*settings):
        return _compare.Path("begun.jsonl")

    with monkeypatch.context() as interrupted:
        interrupted.setattr(_compare, "journal_file", journal_file)
        options = {"n_repeats": 2, "random_state": 0, "feature_names": WINE.feature_names}
        lw.evaluation.compare(WINE.X, WINE.y, METHODS, journal="begun.jsonl", **options)
        ran("compare", *LABELLED)
    _, most = PlannedFits.of(WINE.X, WINE.y, METHODS).expected()
    assert stages() == [(0.0, most)]


@pytest.mark.parametrize("data", [LABELLED, JUDGED], ids=["labels", "pairs"])
def test_a_report(data, stages):
    ran("report", *data)
    given = {"y": WINE.y} if data is LABELLED else {"n_pairs": len(PAIRS)}
    expected = expected_stages(WINE.X, methods=METHODS, **given)
    assert len(expected) == 3
    assert stages() == [total(expected), *expected]


def test_a_comparison_with_a_report(stages):
    ran("compare", *LABELLED, "--report", "r.html")
    first, *others = expected_stages(WINE.X, WINE.y, METHODS)
    assert stages() == [first, total(others), *others]


def test_wrong_arguments_are_reported_as_ever(stages):
    result = invoke("compare", "wine", "--methods", "LMMN")
    assert result.exit_code == 2
    assert "there is no method 'LMMN'" in result.stderr
    assert stages() == [None]


@pytest.mark.parametrize(
    ("command", "estimate"), [("compare", estimate_compare), ("report", estimate_report)]
)
def test_dry_runs_count_labels_or_pairs(command, estimate):
    for data, given in ((LABELLED, {"y": WINE.y}), (JUDGED, {"n_pairs": len(PAIRS)})):
        found = json.loads(ran(command, *data, "--dry-run", "--json", "-").stdout)
        expected = estimate(WINE.X, methods=METHODS, **given)
        assert found["seconds"] == expected.seconds
        assert found["interval"] == list(expected.interval)
        assert found["n_bytes"] == expected.n_bytes


def test_dry_runs_of_kernels():
    fit = ("fit", "wine", "--method", "LMNN", "--dry-run", "--json", "-")
    linear = json.loads(ran(*fit).stdout)
    kernel = json.loads(ran(*fit, "--set", "kernel=rbf").stdout)
    assert kernel["n_bytes"] > linear["n_bytes"] + 32 * len(WINE.X) ** 2
    assert kernel["seconds"] > linear["seconds"]
    refused = invoke("fit", "wine", "--method", "POLA", "--set", "kernel=rbf", "--dry-run")
    assert refused.exit_code == 2
    (line,) = refused.stderr.splitlines()
    assert line.startswith(
        "likewise: POLA has no estimate with kernel='rbf', since its basis grows"
    )


def test_more_pairs_take_longer():
    few, many = (estimate_compare(WINE.X, methods=["ITML"], n_pairs=m) for m in (200, 20_000))
    assert many.seconds > 2 * few.seconds
    one_fit = lw.ITML().estimate(WINE.X[:119], n_pairs=10_000)
    assert many.seconds == pytest.approx(9 * one_fit.seconds, rel=0.02)
    with pytest.raises(ValueError, match="either y or n_pairs is needed"):
        estimate_compare(WINE.X)


def test_a_comparison_is_as_uncertain_as_its_fits():
    found = estimate_compare(WINE.X, WINE.y, ["RCA", "LMNN"])
    assert found.interval == pytest.approx((found.seconds / 2, found.seconds * 2))
    named = estimate_compare(WINE.X, WINE.y, {"mine": lw.MetricKNN(metric="lmnn")})
    assert named.seconds > 9 * lw.LMNN().estimate(WINE.X[:142], WINE.y[:142]).seconds
