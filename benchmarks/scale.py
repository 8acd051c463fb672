"""Fits of many rows: in memory, from disk and on a cluster of two workers."""

from __future__ import annotations

import numpy as np

from benchmarks.base import OURS, Benchmark, Growth, Rival, Target, WrongAnswerError, benchmark
from benchmarks.data import SMOKE_ROWS
from benchmarks.scale_data import SIZES

NAMES = [f"mnist-50-{n}/float32" for n in SIZES]
ON_DISK, ON_CLUSTER = "likewise, from disk", "likewise, two workers"
FROM_PARQUET = "likewise, from Parquet"


class ManyRows(Benchmark):
    """Base of fits of LMNN whose objectives must agree, since they have the same minimum."""

    measures = ("warm_s", "added_mb", "objective")
    facts = ("rows", "cpu_s", "peak_mb")
    warm_below_s = 0.0  # once is enough
    to_the_end = True  # whether fits converge

    def prepare(self, X, y, seed):
        return {"X": X, "y": y}

    def score(self, result, arrays, reference):
        if not np.isfinite(result["L"]).all():
            raise WrongAnswerError("L is not finite")
        separable = len(arrays["X"]) <= SMOKE_ROWS  # random rows, whose objective has no minimum
        if self.to_the_end and not separable and not result["converged"]:
            raise WrongAnswerError("the fit did not converge")
        return {"objective": float(result["objective"]), "rows": len(arrays["X"])}


@benchmark("lmnn-from-disk", datasets=NAMES[-1:], smoke=NAMES[:1], repeats=1, budget_s=3600)
class LMNNFromDisk(ManyRows):
    """Fit LMNN on 300,000 × 50 rows in single precision, in memory and from two kinds of files.

    `added_mb` is beyond imports and the rows themselves, which both processes hold for the harness.
    """

    rivals = {
        OURS: Rival("with_likewise_scale:lmnn_from_disk"),
        FROM_PARQUET: Rival("with_likewise_scale:lmnn_from_parquet", ours=True),
        "likewise, in memory": Rival("with_likewise_scale:lmnn", ours=True),
    }
    targets = (
        Target("*", "added_mb", below=400),
        Target("*", "added_mb", below=400, row=FROM_PARQUET),
    )


@benchmark("dask-lmnn", datasets=NAMES[2:3], smoke=NAMES[:1], repeats=3, budget_s=3600)
class LMNNOnDask(ManyRows):
    """Fit LMNN on 200,000 × 50 rows by a cluster of two workers of one thread, and in one process.

    `fit_s` is the time of a fit alone: workers that have been started read the rows from a file.
    `warm_s` includes their start and end. `added_mb` is of the process with client and scheduler.
    The goal is 1.3 times the time of one process with two threads.
    """

    measures = ("fit_s", "added_mb", "objective")
    facts = ("warm_s", *ManyRows.facts)

    rivals = {
        OURS: Rival("with_likewise_scale:lmnn_on_dask"),
        "likewise, one process": Rival("with_likewise_scale:lmnn"),
    }
    targets = (
        Target("*", "fit_s", times=1 / 1.3, against="likewise, one process"),
        Target("*", "added_mb", below=300),
    )

    def score(self, result, arrays, reference):
        found = super().score(result, arrays, reference)
        return {**found, "fit_s": float(result["fit_s"])}


@benchmark("lmnn-growth-rows", datasets=NAMES, smoke=NAMES[:1], repeats=1, budget_s=3600)
class LMNNGrowthOverRows(ManyRows):
    """Growth of 20 steps of LMNN with the number of rows, 50 features, in single precision.

    In one process, from disk, and by two workers; searches grow as n², all else as n.
    """

    to_the_end = False
    plot = Growth("rows", {"warm_s": 2})
    rivals = {
        OURS: Rival("with_likewise_scale:lmnn", options={"max_iter": 20}),
        ON_DISK: Rival("with_likewise_scale:lmnn_from_disk", options={"max_iter": 20}, ours=True),
        ON_CLUSTER: Rival("with_likewise_scale:lmnn_on_dask", options={"max_iter": 20}, ours=True),
    }
