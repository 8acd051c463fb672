"""Means, standard errors and marks, against hand calculation."""

import pytest
from toy_experiments import toy

from likewise.experiments import Measure, Published, Size, Trial, markdown, tables
from likewise.experiments._summary import mark, standard_error, summarize

ERROR = Measure("error", "Error (%)")
F1 = Measure("f1", "F1 (%)", higher_is_better=True)


@pytest.mark.parametrize(
    ("measure", "ours", "expected"),
    [
        # Standard errors 0.5 (ours) and 1/√4 = 0.5 (the paper's): 2·√0.5 = 1.414, rounding 0.005.
        (ERROR, 11.41, "same"),
        (ERROR, 11.43, "worse"),
        (ERROR, 8.57, "better"),
        (F1, 11.43, "better"),
        (F1, 8.57, "worse"),
        (F1, 8.59, "same"),
    ],
)
def test_marks(measure, ours, expected):
    paper = Published("a", "x", measure.name, 10.0, deviation=1.0, runs=4)
    assert mark(measure, [ours], 0.5, paper) == expected


def test_our_deviation_counts_for_runs_without_one():
    paper = Published("a", "x", "error", 10.0, runs=4)
    # Ours is 0.5 with 16 runs, so that the paper's is 1 with 4: 2·√1.25 = 2.236.
    for ours, expected in ((12.2, "same"), (12.3, "worse"), (7.7, "better")):
        assert mark(ERROR, [ours] * 16, 0.5, paper) == expected
    assert mark(ERROR, [11.1], 0.5, paper) == "worse"  # one run tells no deviation of runs


def test_without_any_error_only_rounding_is_allowed():
    paper = Published("a", "x", "error", 10.0)
    assert mark(ERROR, [10.004], None, paper) == "same"
    assert mark(ERROR, [10.006], None, paper) == "worse"


def test_numbers_that_are_not_judged_stand_beside_the_papers_without_a_mark():
    seconds = Measure("seconds", "Time (s)", decimals=None, judged=False)
    experiment = toy(
        measures=(seconds,),
        published=(Published("a", "x", "seconds", 12300.0),),
        own_methods=("x",),
    )
    results = {Trial(0, "a", "x"): {"seconds": 0.0001}}
    summary = summarize(experiment, experiment.full, results, "toy")
    assert summary["own_marks"] == summary["marks"] == {"better": 0, "same": 0, "worse": 0}
    assert tables(summary)[0].rows == (("a", "0.0001 (12300)"),)


def test_settings_and_curves_of_all_trials_are_kept():
    results = {
        Trial(0, "a", "x"): {"error": 1.0, "chosen": {"C": 1 / 3}, "curve": [2, 2 / 3]},
        Trial(1, "a", "x"): {"error": 1.0, "curve": [(0.5, "b")]},
        Trial(0, "a", "yy"): {"error": 1.0},
    }
    summary = summarize(toy(kept=("chosen", "curve")), toy().full, results, "toy")
    place = {"dataset": "a", "method": "x"}
    assert summary["details"] == [
        {**place, "run": 0, "chosen": {"C": 0.333333}, "curve": [2, 0.666667]},
        {**place, "run": 1, "curve": [[0.5, "b"]]},
    ]
    assert summarize(toy(), toy().full, results, "toy")["details"] == []


def test_standard_errors():
    assert standard_error(ERROR, [1.0, 3.0], {}) == pytest.approx(1.0)
    assert standard_error(ERROR, [1.0], {}) is None
    share = Measure("error", "Error (%)", tested="n")
    assert standard_error(share, [20.0], {"n": 400}) == pytest.approx(2.0)


def test_summary_counts_marks_without_stand_ins():
    size = Size(("a", "bb"), ("x",), runs=2)
    experiment = toy(
        full=size,
        published=(
            Published("a", "x", "error", 9.0, 0.1, runs=2),
            Published("bb", "x", "error", 99.0, 0.1, runs=2),
        ),
        stand_ins={"bb": "It replaces b."},
    )
    results = {
        trial: {"error": 4.0 + trial.run, "curve": []}
        for trial in [Trial(0, "a", "x"), Trial(1, "a", "x"), Trial(0, "bb", "x")]
    }
    summary = summarize(experiment, size, results, "toy")
    first, second = summary["cells"]
    assert (first["mean"], first["standard_error"], first["mark"]) == (4.5, 0.5, "better")
    assert (second["mean"], second["standard_error"], second["mark"]) == (4.0, None, None)
    assert summary["marks"] == {"better": 1, "same": 0, "worse": 0}
    (table,) = tables(summary)
    assert table.heading == ("", "x")
    assert table.rows == (
        ("a", "4.50 ± 0.50 (9.00 ± 0.10: better)"),
        ("bb*", "4.00 (99.00 ± 0.10)"),
    )
    page = markdown(summary)
    assert "| a | 4.50 ± 0.50 (9.00 ± 0.10: better) |" in page
    assert "bb* is a stand-in, which does not count: It replaces b." in page
    assert "Of 1 numbers in the paper 0 are the same within two standard errors, 1 better" in page


def test_derived_measures_follow_the_others():
    def derive(results):
        return {Trial(0, "all", "x"): {"wins": float(len(results))}}

    experiment = toy(
        derive=derive,
        derived=(Measure("wins", "Wins", decimals=0),),
        published=(Published("all", "x", "wins", 2.0),),
    )
    results = {Trial(run, "a", "x"): {"error": 1.0} for run in range(2)}
    summary = summarize(experiment, experiment.full, results, "toy")
    assert [cell["measure"] for cell in summary["cells"]] == ["error", "wins"]
    assert summary["cells"][1]["mark"] == "same"


def test_the_papers_own_methods_are_counted_apart():
    experiment = toy(
        published=(Published("a", "x", "error", 9.0), Published("a", "yy", "error", 1.0)),
        own_methods=("x",),
    )
    results = {Trial(0, "a", method): {"error": 2.0} for method in ("x", "yy")}
    summary = summarize(experiment, experiment.full, results, "toy")
    assert summary["marks"] == {"better": 1, "same": 0, "worse": 1}
    assert summary["own_marks"] == {"better": 1, "same": 0, "worse": 0}
    page = markdown(summary)
    assert "1 worse: 50% the same or better. Of 1 numbers of its own methods 0 are" in page
    assert "100% the same or better." in page


def test_the_quick_size_is_not_compared_with_the_paper():
    experiment = toy(published=(Published("a", "x", "error", 9.0),), own_methods=("x",))
    results = {Trial(0, "a", "x"): {"error": 20.0}}
    summary = summarize(experiment, experiment.quick, results, "toy-quick", quick=True)
    assert [cell["mark"] for cell in summary["cells"]] == [None]
    assert sum(summary["marks"].values()) == sum(summary["own_marks"].values()) == 0
    page = markdown(summary)
    assert "This is the quick size" in page
    assert "not compared with the paper's" in page
    assert "This is the quick size" not in markdown(
        summarize(experiment, experiment.full, results, "toy")
    )
