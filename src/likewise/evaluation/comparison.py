"""Methods side by side on the same folds of the same data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import FloatArray
from likewise._runtime.validation import TableLike
from likewise.evaluation._checks import (
    N_FOLDS,
    Problem,
    check_problem,
    choose_methods,
    column_names,
)
from likewise.evaluation._kept_trials import KeptTrials
from likewise.evaluation._report import with_column_names
from likewise.evaluation._runs import Progress, run_methods
from likewise.evaluation._trials import Trial, empty_row, make_folds, summarize, try_method
from likewise.evaluation.results import Comparison, MethodResult
from likewise.evaluation.scoring import DEFAULT_PAIRS
from likewise.evaluation.verdict import (
    BASELINE,
    RELEVANT,
    Verdict,
    give_verdict,
    untested_verdict,
)
from likewise.statistics import decide, sign_flip_max_test


def compare(
    X: TableLike,
    y: ArrayLike,
    methods: Iterable[str] | Mapping[str, Any] | None = None,
    *,
    groups: ArrayLike | None = None,
    n_neighbors: int = 3,
    n_repeats: int = 2,
    standardize: bool = True,
    n_pairs: int = DEFAULT_PAIRS,
    feature_names: Sequence[str] | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    journal: str | os.PathLike[str] | None = None,
) -> Comparison:
    """Compare metrics by their nearest neighbours and by verification, on held-out rows.

    Every method sees the same repeats of 5 stratified folds, in which every row is tested once a
    repeat, and is evaluated on the same pairs of test rows. A test on the rows' outcomes,
    `sign_flip_max_test`, decides whether a method is better than `Euclidean`. A method that raises
    becomes a row that says so.

    Rows of a class that occurs once only cannot be tested: they stay in the training parts. At
    least two classes must be tested.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Finite numbers.
    y : array-like of shape (n_samples,)
        Labels: at least two classes.
    methods : names or mapping of name to unfitted estimator, optional
        "cosine" and names of metrics and classifiers in `likewise.methods.METHODS`, in any case;
        `COMPARED_METHODS` by default. The neighbours vote after an estimator's `transform`; one
        without `transform` predicts.
    groups : array-like of shape (n_samples,), optional
        Rows of a group (a speaker, a person, a document) are never in both parts of a fold.
    n_neighbors : int, default=3
        Neighbours that vote.
    n_repeats : int, default=2
        Repeats of the 5 folds.
    standardize : bool, default=True
        Scale every feature to mean 0 and variance 1, as measured on the training rows.
    n_pairs : int, default=10000
        Pairs of test rows in each fold for the equal error rate, drawn independently of each other.
    feature_names : sequence of str, optional
        Names of the columns; by default those of a DataFrame, else their numbers.
    random_state : int, default=0
        Decides the folds and the pairs, and seeds the methods that are given by name.
    n_jobs : int, optional
        Threads of the neighbour search; all cores by default.
    progress : callable, optional
        Called with the fits done, the fits in all, and what is running now.
    journal : str or path, optional
        A file for finished fits: a comparison that was interrupted or killed continues after them
        when it is called again with the same data, methods and settings, to the same result.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from likewise.datasets import load
    >>> from likewise.evaluation import compare
    >>> wine = load("wine")
    >>> result = compare(wine.X, wine.y, ["Euclidean", "RCA"])
    >>> result.outcome, result.recommended
    ('use', 'RCA')
    """
    estimators = choose_methods(methods, random_state)
    problem = check_problem(
        X,
        y,
        groups,
        feature_names,
        n_neighbors=n_neighbors,
        n_repeats=n_repeats,
        n_pairs=n_pairs,
        random_state=random_state,
    )
    settings: dict[str, Any] = {
        "standardize": standardize,
        "n_pairs": n_pairs,
        "random_state": random_state,
    }
    with ExitStack() as stack:
        kept = None
        if journal is not None:
            all_settings = settings | {"n_neighbors": n_neighbors}
            kept = stack.enter_context(KeptTrials(Path(journal), problem, estimators, all_settings))
        trials, failures = run_methods(
            estimators,
            make_folds(problem, **settings),
            n_repeats * N_FOLDS,
            lambda estimator, fold: try_method(estimator, fold, n_neighbors, n_jobs),
            progress,
            kept,
        )
    rows = {
        name: empty_row(name, estimators[name], failures[name])
        if name in failures
        else summarize(name, estimators[name], done)
        for name, done in trials.items()
    }
    fitted = [name for name in rows if name not in failures]
    if BASELINE in fitted and len(fitted) > 1:
        rows, verdict = _test(problem, rows, {name: trials[name] for name in fitted}, n_neighbors)
    else:
        best = min((rows[name] for name in fitted), key=lambda row: row.error, default=None)
        number = "" if best is None else f"{best.error:.2%}"
        verdict = untested_verdict(
            best, f"{n_neighbors}-NN test error, {number}, is the lowest", len(failures)
        )
    names = column_names(X, feature_names)
    return Comparison(
        rows=tuple(with_column_names(row, names) for row in rows.values()),
        **asdict(verdict),
        n_samples=len(problem.X),
        n_features=problem.X.shape[1],
        n_classes=len(problem.classes),
        n_groups=None if problem.groups is None else int(problem.groups.max()) + 1,
        n_untested=int((~problem.tested).sum()),
        untested_classes=problem.untested_classes,
        id_columns=problem.id_columns,
        leaking_columns=problem.leaking_columns,
        largest_class=problem.largest_class,
        similar_labels=problem.similar_labels,
        n_copies=problem.n_copies,
        n_neighbors=n_neighbors,
        n_repeats=n_repeats,
        n_folds=N_FOLDS,
        standardized=standardize,
        n_pairs=n_pairs,
        random_state=random_state,
        estimators=estimators,
    )


def _test(
    problem: Problem,
    rows: dict[str, MethodResult],
    trials: dict[str, list[Trial]],
    n_neighbors: int,
) -> tuple[dict[str, MethodResult], Verdict]:
    """Test all methods against the baseline; return the rows with their differences."""
    tested = problem.tested
    losses = {name: _losses(problem, done)[:, tested] for name, done in trials.items()}
    baseline = losses.pop(BASELINE)
    differences = np.stack([baseline - loss for loss in losses.values()], axis=2)
    test = sign_flip_max_test(
        differences,
        problem.folds[:, tested],
        groups=None if problem.groups is None else problem.groups[tested],
    )
    for name, difference, (low, high) in zip(
        losses, test.differences.tolist(), test.intervals.tolist(), strict=True
    ):
        rows[name] = replace(rows[name], difference=difference, interval=(low, high))
    decision = decide(test, RELEVANT)
    leader = rows[list(losses)[decision.method]]
    errors = f"{leader.error:.2%} against {rows[BASELINE].error:.2%} {n_neighbors}-NN test error"
    return rows, give_verdict(decision, leader, errors)


def _losses(problem: Problem, trials: Sequence[Trial]) -> FloatArray:
    """Return 1 for each row that was predicted wrongly in each repeat, else 0."""
    losses = np.zeros(problem.folds.shape)
    for trial, (repeat, number) in zip(trials, np.ndindex(len(losses), N_FOLDS), strict=True):
        losses[repeat, (problem.folds[repeat] == number) & problem.tested] = trial.wrong
    return losses
