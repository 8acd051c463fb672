"""Neighbourhood components analysis: time and memory to the same objective."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark

# rows → steps: 50 steps on 14 000 rows would take the rival ten minutes.
MOST_STEPS = {14_000: 2}


@benchmark(
    "nca",
    datasets=[
        "standard-digits",
        "standard-letter-5000",
        "standard-letter-14000",
        "mnist-pca-164",
    ],
    smoke=["standard-wine"],
    repeats=1,
    budget_s=300,
)
class NCA(Benchmark):
    """Fit NCA from the identity, with at most 50 steps of L-BFGS (2 for 14 000 rows).

    `expected_error` is one minus the objective over n, to six decimals: the expected leave-one-out
    error of the soft nearest-neighbour rule.
    """

    rivals = {
        OURS: Rival("with_likewise:nca"),
        "scikit-learn NCA": Rival("with_sklearn:nca"),
    }
    measures = ("warm_s", "cold_s", "added_mb", "expected_error")
    targets = (
        Target("standard-digits", "warm_s", times=10),
        Target("standard-letter-5000", "warm_s", times=10),
        Target("standard-letter-14000", "warm_s", times=10, note="two steps of both"),
        Target("mnist-pca-164", "warm_s", times=5),
        *(
            Target(dataset, "peak_mb", below=300)
            for dataset in ("standard-letter-5000", "standard-letter-14000", "mnist-pca-164")
        ),
        Target("*", "expected_error", times=1),
    )

    def prepare(self, X, y, seed):
        steps = MOST_STEPS.get(len(X), 50)
        return {"X": X, "y": y, "max_iter": np.asarray(steps)}

    def score(self, result, arrays, reference):
        L, X, y = result["L"], arrays["X"], arrays["y"]
        if not np.isfinite(L).all():
            raise WrongAnswerError("L is not finite")
        return {"expected_error": round(1 - expected_correct(X @ L.T, y) / len(X), 6)}


def expected_correct(Z, y, block=256):
    """Return the objective of NCA: the expected number of rows that pick one of their own class."""
    sqnorm = np.square(Z).sum(axis=1)

    def of_rows(start):
        rows = np.arange(start, min(start + block, len(Z)))
        distance = sqnorm[rows, None] + sqnorm - 2 * Z[rows] @ Z.T
        distance[np.arange(len(rows)), rows] = np.inf
        p = np.exp(distance.min(axis=1, keepdims=True) - distance)
        p /= p.sum(axis=1, keepdims=True)
        return float(p[y[rows, None] == y].sum())

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return sum(pool.map(of_rows, range(0, len(Z), block)))
