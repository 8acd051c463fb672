"""Fits in several threads at once, some of them failing: the same bits, and BLAS as before."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_info, threadpool_limits

from fuzz.estimators import all_estimators, answers, quiet
from fuzz.report import Report

_THREADS = 4


def run(n: int, seed: int = 0) -> Report:
    """Fit `n` models, four at a time, half of the time inside a limit of the caller."""
    choose, report = random.Random(seed), Report()
    estimators = all_estimators()
    X, y = make_blobs(60, 5, centers=3, random_state=seed)
    with quiet(), ThreadPoolExecutor(_THREADS) as pool:
        while report.n_cases < n:
            chosen = [choose.choice(estimators) for _ in range(_THREADS)]
            before = _blas_threads()
            limit = 2 if choose.random() < 0.5 else None
            with threadpool_limits(limit, user_api="blas"):
                found = list(pool.map(lambda estimator: _try_fit(estimator, X, y), chosen))
            after = _blas_threads()
            for estimator, outcome in zip(chosen, found, strict=True):
                expected = _try_fit(estimator, X, y)
                if after != before:
                    report.fail(f"BLAS has {after} threads instead of {before}")
                elif not all(map(np.array_equal, outcome, expected)):
                    report.fail(f"{estimator} has other bits in a thread")
                else:
                    report.add("the same bits" if expected else "an error")
    return report


def _blas_threads() -> list[int]:
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


def _try_fit(estimator: Any, X: Any, y: Any) -> list[np.ndarray]:
    """Return the answers of a fitted model; nothing for every fifth kind, which gets bad data."""
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    if sum(map(ord, type(model).__name__)) % 5 == 0:
        X = np.where(X > 3, np.nan, X)
    try:
        return answers(model.fit(X, y), X)
    except ValueError:
        return []
