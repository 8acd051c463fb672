"""Ctrl-C and errors at random lines of fits and updates: a model is whole, or as it was before."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_info

import likewise
from fuzz.estimators import all_estimators, answers, check_usable, is_fitted, quiet
from fuzz.report import Report

_PACKAGE = str(Path(likewise.__file__).parent)
# Python interrupts between calls, not between any two lines: tests of their own do as Python does.
_THREADS = str(Path(_PACKAGE, "_runtime", "threads.py"))


class InjectedError(RuntimeError):
    """The error that is raised at a random line."""


def run(n: int, seed: int = 0) -> Report:
    """Interrupt `n` fits or updates, half of them by an error instead of Ctrl-C."""
    choose, report = random.Random(seed), Report()
    estimators = all_estimators()
    for case in range(n):
        estimator = estimators[case % len(estimators)]
        error = KeyboardInterrupt if choose.random() < 0.5 else InjectedError
        _try_case(estimator, error, choose, report)
    return report


def raise_at(line: int, error: type[BaseException] | None, action: Callable[[], Any]) -> int:
    """Run an action, raise `error` before the given line of likewise, and return the lines run."""
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        file = frame.f_code.co_filename
        if not file.startswith(_PACKAGE) or file == _THREADS:
            return None
        if event == "line":
            count += 1
            if count == line and error is not None:
                raise error
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(previous)
    return count


def _blas_threads() -> list[int]:
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


def _try_case(
    estimator: Any, error: type[BaseException], choose: random.Random, report: Report
) -> None:
    X, y = make_blobs(48, 4, centers=3, random_state=choose.randrange(1000))
    actions = [name for name in ("fit", "partial_fit") if hasattr(estimator, name)]
    name, refit = choose.choice(actions), choose.random() < 0.5
    options = {"classes": [0, 1, 2]} if hasattr(estimator, "learn_one") else {}
    model = clone(estimator)
    with quiet():
        if refit:
            model.fit(X[:, ::-1], y) if name == "fit" else model.partial_fit(X, y, **options)
        if name == "fit":
            options = {}
        trial = raise_at(-1, None, lambda: getattr(deepcopy(model), name)(X, y, **options))
        line = choose.randint(1, trial)
        described = f"{model} {name}, refit={refit}, {error.__name__} at line {line} of {trial}"
        before = answers(model, X) if refit else None
        names_before, threads_before = set(vars(model)), _blas_threads()
        try:
            raised = _raises(error, line, lambda: getattr(model, name)(X, y, **options))
            report.add(_outcome(model, X, before, names_before, raised, error))
            assert _blas_threads() == threads_before, "BLAS has other limits"
        except Exception as failure:  # noqa: BLE001 - whatever a broken model raises
            report.fail(described, failure)


def _raises(error: type[BaseException], line: int, action: Callable[[], Any]) -> bool:
    """Return whether the error that is raised at a line comes out of the action."""
    try:
        raise_at(line, error, action)
    except error:
        return True
    return False


def _outcome(
    model: Any,
    X: Any,
    before: list[np.ndarray] | None,
    names_before: set[str],
    raised: bool,
    error: type[BaseException],
) -> str:
    if not raised:
        check_usable(model, X)
        return "kept what was learned" if error is KeyboardInterrupt else "not reached"
    assert set(vars(model)) == names_before, "attributes were added or lost"
    if before is None:
        assert not is_fitted(model), "passes check_is_fitted"
        return "unfitted"
    for now, then in zip(answers(model, X), before, strict=True):
        np.testing.assert_array_equal(now, then)
    return "as before"
