"""Forked children of a process that has fitted models: they fit, too, and do not hang."""

from __future__ import annotations

import os
import random
import time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_blobs

import likewise as lw
from fuzz.estimators import all_estimators, answers, quiet
from fuzz.report import Report

_SECONDS = 60  # that a child may take
# Enough rows for several threads.
_LARGE = (
    lw.PLML(n_metrics=3, max_iter=2, random_state=0),
    lw.MultiMetricLMNN(1, clusters=3, max_iter=2, random_state=0),
    lw.MetricKNN(3, neighbors="brute"),
    lw.LMNN(1, max_iter=2),
)


def run(n: int, seed: int = 0) -> Report:
    """Fork `n` children."""
    choose, report = random.Random(seed), Report()
    estimators = [*_LARGE, *all_estimators()]
    for case in range(n):
        estimator = estimators[case % len(estimators)]
        n_rows = 3000 if estimator in _LARGE else 60
        X, y = make_blobs(n_rows, 20, centers=3, random_state=choose.randrange(1000))
        with quiet():
            expected = _fitted_answers(estimator, X, y)
            status = _status_of_child(estimator, X, y, expected)
        if status == 0:
            report.add("the same answers")
        else:
            report.fail(f"{estimator}: the child {'hangs' if status is None else 'differs'}")
    return report


def _fitted_answers(estimator: Any, X: Any, y: Any) -> list[np.ndarray]:
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    return answers(model.fit(X, y), X)


def _status_of_child(estimator: Any, X: Any, y: Any, expected: list[np.ndarray]) -> int | None:
    """Return the exit status of a child that fits the same model; None if it hangs."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            found = _fitted_answers(estimator, X, y)
            code = int(not all(map(np.array_equal, found, expected)))
        finally:
            os._exit(code)
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return None
