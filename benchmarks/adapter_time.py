"""Time and memory of a fit of the adapter to many rows with few judgements."""

from __future__ import annotations

import numpy as np

from benchmarks.adapter import judge, scaled
from benchmarks.adapter_data import KINDS, timed_datasets
from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark
from benchmarks.data import SMOKE_ROWS

N_JUDGEMENTS = 1000
_MB = 1e6


@benchmark("adapter-time", datasets=list(timed_datasets()), repeats=3)
class AdapterTime(Benchmark):
    """A fit to unit rows, of which 1000 are labelled, or 1000 random pairs are judged.

    Classes differ in 20 directions. All other rows are unlabelled, and a map must be chosen: only
    then is it learned from all rows. `added_mb` is what a fit adds to the rows that it is given,
    and `copies` that memory in copies of the rows.
    """

    rivals = {OURS: Rival("with_likewise:adapter")}
    facts = ("cpu_s", "peak_mb", "copies")
    targets = (
        *(
            Target(dataset, "warm_s", below=10 if "5000" in dataset else 60)
            for dataset in timed_datasets()
        ),
        *(
            Target(dataset, "added_mb", below=2 * 100_000 * 768 * 4 / _MB, note="two copies")
            for dataset in timed_datasets()
            if "100000" in dataset
        ),
    )

    def prepare(self, X, y, seed):
        if len(X) == SMOKE_ROWS:
            y = np.column_stack([y, np.zeros_like(y)])
        X, kind = scaled(X).astype(np.float32), KINDS[y[0, 1]]
        rng = np.random.default_rng(seed)
        everything = np.ones(len(X), dtype=bool)
        judged, said = judge(X, everything, y[:, 0], kind, min(N_JUDGEMENTS, len(X) // 2), rng)
        if kind != "labels":
            return {"X": X, "pairs": judged, "said": said}
        others = np.delete(X, judged[:, 0], axis=0)
        return {"X": X[judged[:, 0]], "unlabelled": others, "said": said}

    def score(self, result, arrays, reference):
        n, d = len(arrays["X"]) + len(arrays.get("unlabelled", ())), arrays["X"].shape[1]
        if n > SMOKE_ROWS and (result["W"] == np.eye(d)).all():
            raise WrongAnswerError("the rows were kept as they are, so that nothing was learned")
        return {"rows_mb": n * d * 4 / _MB}

    def rates(self, measured, arrays):
        return {"copies": measured["added_mb"] / measured["rows_mb"]}
