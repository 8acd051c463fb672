"""One method on one fold, and what all its folds show."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from likewise._runtime.arrays import Array, BoolArray, IndexArray
from likewise.constraints import Pairs, random_pairs
from likewise.evaluation._checks import N_FOLDS, Problem
from likewise.evaluation.knn_error import predict_by_neighbors
from likewise.evaluation.rank import effective_dimension
from likewise.evaluation.results import MethodResult
from likewise.evaluation.scoring import curve_of_pairs


@dataclass(frozen=True, eq=False)
class Fold:
    """Training and test rows of one fold."""

    repeat: int
    number: int
    X_train: Array
    y_train: IndexArray
    X_test: Array
    y_test: IndexArray
    pairs: Pairs | None


@dataclass(frozen=True, eq=False)
class Trial:
    """What one fit gave: which test rows were predicted wrongly, and the columns of the table."""

    wrong: BoolArray
    eer: float
    fit_seconds: float
    rank: int | None
    warned: str | None


def make_folds(
    problem: Problem, *, standardize: bool, n_pairs: int, random_state: int
) -> Iterator[Fold]:
    """Yield the folds, repeat by repeat, with features scaled by their training rows."""
    for repeat, folds in enumerate(problem.folds):
        for number in range(N_FOLDS):
            train, test = folds != number, (folds == number) & problem.tested
            X_train, X_test = problem.X[train], problem.X[test]
            if standardize:
                scaler = StandardScaler().fit(X_train)
                X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
            y_test = problem.codes[test]
            seed = random_state + N_FOLDS * repeat + number
            can_pair = np.bincount(y_test).max() > 1 and len(np.unique(y_test)) > 1
            pairs = random_pairs(y_test, n_pairs, random_state=seed) if can_pair else None
            yield Fold(
                repeat,
                number,
                X_train,
                problem.codes[train],
                X_test,
                y_test,
                pairs,
            )


def try_method(estimator: Any, fold: Fold, n_neighbors: int, n_jobs: int | None) -> Trial:
    """Fit a metric, whose neighbours vote, or a classifier, and predict the test rows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        estimator.fit(fold.X_train, fold.y_train)
        fit_seconds = time.perf_counter() - start
        eer = math.nan
        if hasattr(estimator, "transform"):
            Z_train = np.asarray(estimator.transform(fold.X_train))
            Z_test = np.asarray(estimator.transform(fold.X_test))
            predicted = predict_by_neighbors(Z_train, fold.y_train, Z_test, n_neighbors, n_jobs)
            if fold.pairs is not None:
                eer = curve_of_pairs(Z_test, fold.pairs).eer
        else:
            predicted = np.asarray(estimator.predict(fold.X_test))
    return Trial(
        wrong=predicted != fold.y_test,
        eer=eer,
        fit_seconds=fit_seconds,
        # Once only: in thousands of dimensions a rank costs as much as a fit.
        rank=linear_rank(estimator) if fold.repeat == fold.number == 0 else None,
        warned=one_line(str(caught[0].message)) if caught else None,
    )


def linear_rank(estimator: Any) -> int | None:
    """Return the rank of a linear metric; others, such as pipelines and local ones, have none."""
    is_linear = hasattr(estimator, "transform") and hasattr(estimator, "components_")
    return effective_dimension(estimator) if is_linear else None


def summarize(name: str, estimator: Any, trials: Sequence[Trial]) -> MethodResult:
    """Return the row of a method that could be fitted on all folds."""
    errors = tuple(float(trial.wrong.mean()) for trial in trials)
    eers = tuple(trial.eer for trial in trials)
    warned = [trial.warned for trial in trials if trial.warned]
    return replace(
        empty_row(name, estimator),
        error=float(np.concatenate([trial.wrong for trial in trials]).mean()),
        spread=float(np.std(errors, ddof=1)),
        eer=float(np.mean(eers)),
        fit_seconds=float(np.median([trial.fit_seconds for trial in trials])),
        rank=trials[0].rank,
        errors=errors,
        eers=eers,
        warned=warned[0] if warned else None,
        n_warned=len(warned),
    )


def empty_row(name: str, estimator: Any, failed: str | None = None) -> MethodResult:
    """Return the row of a method without numbers."""
    return MethodResult(name, *call_and_title(name, estimator), failed=failed)


def call_and_title(name: str, estimator: Any) -> tuple[str, str]:
    """Return the constructor call, and what to call the method: without its seed, or its name."""
    call = constructor_call(estimator)
    params = estimator.get_params() if hasattr(estimator, "get_params") else {}
    if params.get("random_state") is not None:
        estimator = clone(estimator).set_params(random_state=None)
    title = constructor_call(estimator)
    if title == f"{name}()":
        title = name
    elif not title.startswith(f"{name}("):
        title = f"{name} ({title})"
    return call, title


def constructor_call(estimator: Any) -> str:
    """Return the call that makes the estimator, with the parameters that are not the defaults."""
    with config_context(print_changed_only=True):
        return one_line(repr(estimator))


def one_line(text: str) -> str:
    """Return the text without line breaks."""
    return " ".join(text.split())
