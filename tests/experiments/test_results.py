"""The results in the documentation are those of the experiments as they are declared now."""

import json
import math
import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from likewise.experiments import EXPERIMENTS
from likewise.experiments._svm_chapter import NEAREST, OF_DIGITS, OF_UCI
from likewise.experiments.lmnn_figures import LMNN_FIGURES
from likewise.experiments.lmnn_table import LMNN_TABLE1

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS))
def test_results_are_of_the_declared_experiment(experiment):
    results = json.loads((RESULTS / f"{experiment.name}.json").read_text(encoding="utf-8"))
    for entry in ("title", "paper", "place", "protocol"):
        assert results[entry] == getattr(experiment, entry)
    assert results["runs"] == experiment.full.runs
    assert results["options"] == json.loads(json.dumps(dict(experiment.full.options)))
    assert results["reductions"] == list(experiment.reductions)
    assert results["stand_ins"] == dict(experiment.stand_ins)
    measures = (*experiment.measures, *experiment.derived)
    assert results["measures"] == [asdict(measure) for measure in measures]
    names = {measure.name for measure in experiment.measures or experiment.derived}
    found = {(c["dataset"], c["method"]) for c in results["cells"] if c["measure"] in names}
    declared = {(trial.dataset, trial.method) for trial in experiment.full.trials()}
    # What is derived may be about other things, too, such as pairs of methods.
    assert found == declared if experiment.measures else found >= declared
    published = {
        (c["dataset"], c["method"], c["measure"]): c["published"]
        for c in results["cells"]
        if c["published"] is not None
    }
    assert published == {(p.dataset, p.method, p.measure): p.value for p in experiment.published}
    if experiment.published:
        assert sum(results["own_marks"].values()) > 0
    kept = set().union(*(entry.keys() for entry in results["details"]), ())
    assert kept - {"dataset", "method", "run"} == set(experiment.kept)
    for figure in experiment.figures:
        assert (RESULTS / f"{experiment.name}-{figure.name}.svg").exists()


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*-seconds.json")), ids=lambda path: path.name)
def test_stored_times_are_of_all_trials_and_at_most_half_an_hour_on_two_cores(path):
    seconds = json.loads(path.read_text(encoding="utf-8"))
    experiment = EXPERIMENTS[path.name.removesuffix("-seconds.json")]
    assert list(seconds) == [trial.key for trial in experiment.full.trials()]
    assert sum(seconds.values()) <= 2 * 30 * 60


def _same_or_better(name, measure, methods):
    cells = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["cells"]
    marks = [c["mark"] for c in cells if c["measure"] == measure and c["method"] in methods]
    marks = [mark for mark in marks if mark]
    return np.array([sum(mark != "worse" for mark in marks), len(marks)])


def test_counts_of_the_batch_papers_are_those_of_the_results():
    table = _same_or_better("lmnn-table1", "error", LMNN_TABLE1.own_methods)
    lmnn = table + _same_or_better("lmnn-figures", "reduced_error", LMNN_FIGURES.own_methods)
    uci = _same_or_better("svm-table24", "error", OF_UCI)
    farthest = uci + _same_or_better("svm-table22", "error", OF_DIGITS)
    nearest = uci + _same_or_better("svm-table22", "error", NEAREST)
    page = (RESULTS / "index.rst").read_text(encoding="utf-8")
    rows = re.findall(r"- (\d+)\n +- (\d+)\n +- (\d+) %", page)
    expected = [table, lmnn, farthest, nearest, lmnn + farthest, lmnn + nearest]
    assert [tuple(map(int, row)) for row in rows] == [
        (same, n, math.floor(100 * same / n + 0.5)) for same, n in expected
    ]
    for same, n in (table + farthest, table + nearest):
        assert f"({same} of {n})" in page
