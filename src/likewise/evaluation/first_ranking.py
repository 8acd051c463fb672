"""A ranking of methods on part of the rows, before all of them are compared."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from likewise._runtime.interrupts import noticed_interrupts, time_limit
from likewise._runtime.validation import TableLike, at_least, check_parameters, positive
from likewise.evaluation._checks import N_FOLDS, check_problem, choose_methods, dense_rows
from likewise.evaluation._runs import Progress
from likewise.evaluation._trials import Trial, empty_row, make_folds, one_line, try_method
from likewise.evaluation.results import MethodResult
from likewise.statistics import stratified_folds

_LEAST_SECONDS = 0.5  # of a fit


@dataclass(frozen=True)
class Ranking:
    """What `first_ranking` found; printed as a sentence.

    Attributes
    ----------
    rows : tuple of MethodResult
        The best first; methods that failed come last. Spread, EER and rank are not there.
    n_rows, n_samples : int
        Rows that were used, and rows of the data.
    n_folds : int
        Folds of 5 that were done.
    stopped : tuple of str
        Methods that were stopped by the time limit.
    """

    rows: tuple[MethodResult, ...]
    n_rows: int
    n_samples: int
    n_folds: int
    stopped: tuple[str, ...]

    def __str__(self) -> str:
        ranked = [f"{row.name} {row.error:.2%}" for row in self.rows if row.failed is None]
        failed = [row.name for row in self.rows if row.failed is not None]
        parts = [
            f"First ranking, on {self.n_rows} of {self.n_samples} rows and {self.n_folds} of "
            f"{N_FOLDS} folds, by test error: {', '.join(ranked)}."
        ]
        if self.stopped:
            parts.append(f"Stopped early: {', '.join(self.stopped)}.")
        if failed:
            parts.append(f"Failed: {', '.join(failed)}.")
        return " ".join(parts)


def first_ranking(
    X: TableLike,
    y: ArrayLike,
    methods: Iterable[str] | Mapping[str, Any] | None = None,
    *,
    groups: ArrayLike | None = None,
    max_rows: int = 4000,
    seconds: float = 90.0,
    n_neighbors: int = 3,
    standardize: bool = True,
    feature_names: Sequence[str] | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Ranking:
    """Rank methods by their nearest-neighbour error on part of the rows, within some time.

    It is a first look at data on which `compare` takes long; nothing is tested. Each method is
    fitted in one fold at least, and is stopped with its best metric so far where the time would
    not be enough for the others.

    Parameters
    ----------
    X, y, methods, groups, n_neighbors, standardize, feature_names, random_state, n_jobs, progress
        As of `compare`.
    max_rows : int, default=4000
        The most rows, or about so many with groups; drawn from each class in proportion.
    seconds : float, default=90
        After this time no further fold begins. Iterations that are running are finished first.

    Returns
    -------
    Ranking

    Examples
    --------
    >>> from likewise.datasets import load
    >>> from likewise.evaluation import first_ranking
    >>> digits = load("digits")
    >>> ranking = first_ranking(digits.X, digits.y, ["Euclidean", "FDA"], max_rows=600)
    >>> ranking.n_rows <= 600, sorted(row.name for row in ranking.rows)
    (True, ['Euclidean', 'FDA'])
    """
    values = {"max_rows": max_rows, "seconds": seconds}
    check_parameters("first_ranking", values, {"max_rows": at_least(10), "seconds": positive()})
    start = time.monotonic()
    estimators = choose_methods(methods, random_state)
    rows, labels = dense_rows(X), np.asarray(y)
    groups = None if groups is None else np.asarray(groups)
    part = _part(labels, groups, max_rows, random_state)
    problem = check_problem(
        rows[part],
        labels[part],
        None if groups is None else groups[part],
        feature_names,
        n_neighbors=n_neighbors,
        n_repeats=1,
        n_pairs=2,
        random_state=random_state,
    )
    trials: dict[str, list[Trial]] = {name: [] for name in estimators}
    failures: dict[str, str] = {}
    n_folds, total = 0, N_FOLDS * len(estimators)
    folds = make_folds(problem, standardize=standardize, n_pairs=2, random_state=random_state)
    with noticed_interrupts() as check_interrupts:
        for fold in folds:
            spent = time.monotonic() - start
            if n_folds and spent * (n_folds + 1) / n_folds > seconds:
                break
            for number, (name, estimator) in enumerate(estimators.items()):
                if progress is not None:
                    done = n_folds * len(estimators) + number
                    progress(done, total, f"{name}, first ranking, fold {fold.number + 1}")
                if name in failures:
                    continue
                left = seconds - (time.monotonic() - start)
                share = left / (len(estimators) - number)
                # A later fold begins only if there is time for it: as long as before is enough.
                before = max((trial.fit_seconds for trial in trials[name]), default=0.0)
                try:
                    with time_limit(max(_LEAST_SECONDS, share, 2 * before)):
                        trials[name].append(try_method(clone(estimator), fold, n_neighbors, n_jobs))
                except Exception as error:  # noqa: BLE001 - whatever it was, the others go on
                    failures[name] = one_line(f"{type(error).__name__}: {error}")
                check_interrupts()
            n_folds += 1
    results = [
        _row(name, estimators[name], done, failures.get(name)) for name, done in trials.items()
    ]
    stopped = [
        name
        for name, done in trials.items()
        if any(trial.warned and "time limit" in trial.warned for trial in done)
    ]
    ranked = sorted(results, key=lambda row: math.inf if math.isnan(row.error) else row.error)
    return Ranking(tuple(ranked), len(problem.X), len(rows), n_folds, tuple(stopped))


def _part(labels: Any, groups: Any, max_rows: int, random_state: int) -> Any:
    """Return the rows to be used: one of so many stratified folds."""
    codes = np.unique(labels, return_inverse=True)[1]
    n_parts = -(-len(codes) // max_rows)
    if n_parts < 2:
        return np.arange(len(codes))
    units = None if groups is None else np.unique(groups, return_inverse=True)[1]
    rng = np.random.default_rng(random_state)
    folds = stratified_folds(codes, n_parts, groups=units, random_state=rng)
    part = np.flatnonzero(folds == 0)
    if groups is None and len(part) > max_rows:  # by one row or so of each class
        part = np.sort(rng.permutation(part)[:max_rows])
    return part


def _row(name: str, estimator: Any, done: list[Trial], failed: str | None) -> MethodResult:
    row = empty_row(name, estimator, failed)
    if failed is not None:
        return row
    return replace(
        row,
        error=float(np.concatenate([trial.wrong for trial in done]).mean()),
        errors=tuple(float(trial.wrong.mean()) for trial in done),
        fit_seconds=float(np.median([trial.fit_seconds for trial in done])),
    )
