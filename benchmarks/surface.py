"""How long a person waits: for a first ranking, for a report, and from a clone to a report."""

from __future__ import annotations

import numpy as np

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark
from benchmarks.data import SMOKE_ROWS


@benchmark("first-ranking", datasets=["mnist-pca-50"], repeats=3, budget_s=600)
class FirstRanking(Benchmark):
    """``likewise compare`` of a CSV file of 20 000 rows, 50 features and 10 classes.

    `first_s`: until the first ranking, of 4000 rows, is printed; `progress_s`: until anything is.
    The command is ended then.
    """

    rivals = {OURS: Rival("with_likewise_surface:first_ranking")}
    measures = ("first_s", "progress_s")
    facts = ("n_ranked",)
    targets = (
        Target("mnist-pca-50", "first_s", below=120),
        Target("mnist-pca-50", "progress_s", below=3, note="from the start of Python"),
    )
    warm_below_s = 0

    def prepare(self, X, y, seed):
        return {"X": X, "y": y, "whole": np.asarray(len(X) > SMOKE_ROWS)}

    def score(self, result, arrays, reference):
        if arrays["whole"] and not result["n_ranked"]:
            raise WrongAnswerError("no first ranking was printed")
        return {name: float(result[name]) for name in ("first_s", "progress_s", "n_ranked")}


@benchmark("report-time", datasets=["clusters-100"], repeats=3, budget_s=600)
class ReportTime(Benchmark):
    """A report of 100 000 rows, 100 features and 20 classes, on a comparison that is done.

    `beyond_s`: all but the fit of the metric shown; `page_mb`: the size of the page.
    """

    rivals = {OURS: Rival("with_likewise_surface:report")}
    measures = ("beyond_s", "page_mb")
    facts = ("fit_s", "cpu_s", "peak_mb")
    targets = (
        Target("clusters-100", "beyond_s", below=30),
        Target("clusters-100", "page_mb", below=1),
    )
    warm_below_s = 0

    def score(self, result, arrays, reference):
        return {name: float(result[name]) for name in ("beyond_s", "page_mb", "fit_s")}


@benchmark("clone-to-report", datasets=["iris"], repeats=1, budget_s=1200)
class CloneToReport(Benchmark):
    """The commands of the README: a clone, ``make demo``, and a report of a CSV file.

    `total_s` is all of it. Packages come from where pip is set up to find them. On a few rows, for
    tests, only the report is made, in the environment that is there.
    """

    rivals = {OURS: Rival("with_likewise_surface:clone_to_report")}
    measures = ("total_s",)
    facts = ("report_s",)
    targets = (Target("iris", "total_s", below=300),)
    warm_below_s = 0

    def prepare(self, X, y, seed):
        return {"X": X, "y": y, "whole": np.asarray(len(X) > SMOKE_ROWS)}

    def score(self, result, arrays, reference):
        if not result["page_bytes"]:
            raise WrongAnswerError("no report was written")
        return {name: float(result[name]) for name in ("total_s", "report_s")}
