"""Methods side by side on pairs: which metric tells same from different."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.validation import TableLike
from likewise.evaluation._checks import choose_methods, column_names
from likewise.evaluation._pair_folds import (
    N_FOLDS,
    PairProblem,
    PairTrial,
    check_pair_problem,
    make_pair_folds,
    try_on_pairs,
)
from likewise.evaluation._report import with_column_names
from likewise.evaluation._runs import Progress, run_methods
from likewise.evaluation._trials import call_and_title
from likewise.evaluation.pair_results import FMRS, Interval, PairComparison, PairMethodResult
from likewise.evaluation.verdict import (
    BASELINE,
    RELEVANT,
    Verdict,
    give_verdict,
    untested_verdict,
)
from likewise.methods import COMPARED_ON_PAIRS, METHODS
from likewise.statistics import PlacedPairs, auc_test, decide, place_pairs, rate_interval

PAIR_BASELINES = (BASELINE, "cosine")


def compare_pairs(
    X: TableLike,
    pairs: ArrayLike,
    same: ArrayLike,
    methods: Iterable[str] | Mapping[str, Any] | None = None,
    *,
    groups: ArrayLike | None = None,
    n_repeats: int = 3,
    standardize: bool = True,
    feature_names: Sequence[str] | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> PairComparison:
    """Compare metrics by how well they tell same from different pairs of unseen items.

    Every method sees the same repeats of 3 splits, in which no item is in both parts, and is tested
    on the same pairs; pairs with an item in each part are left out (see `PairSplit`). A test on the
    pairs' placement values, `auc_test`, decides whether a method has a larger area under the ROC
    curve than `Euclidean`. It takes into account that pairs share items. A method that raises
    becomes a row that says so.

    Parameters
    ----------
    X : array-like of shape (n_items, n_features)
        Finite numbers.
    pairs : array-like of int of shape (n_pairs, 2)
        Row numbers.
    same : array-like of bool of shape (n_pairs,)
        True for pairs that belong together. Both kinds are needed.
    methods : names or mapping of name to unfitted estimator, optional
        Names of metrics that have `fit_pairs`, in any case; by default all of them and `Whitening`
        (`likewise.methods.COMPARED_ON_PAIRS`). `Euclidean` and "cosine" always take part. An
        estimator of your own without `fit_pairs` is fitted to the training items; its
        `pair_distance` counts, or the Euclidean distance after its `transform`.
    groups : array-like of shape (n_items,), optional
        Items of a subject (a person, a product) are never in both parts of a split, and pairs that
        share a subject are dependent.
    n_repeats : int, default=3
        Repeats of the 3 splits. More of them test more of the pairs.
    standardize : bool, default=True
        Scale every feature to mean 0 and variance 1, as measured on the training items.
    feature_names : sequence of str, optional
        Names of the columns; by default those of a DataFrame, else their numbers.
    random_state : int, default=0
        Decides the splits, and seeds the methods that are given by name.
    progress : callable, optional
        Called with the fits done, the fits in all, and what is running now.

    Returns
    -------
    PairComparison

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.constraints import random_pairs
    >>> from likewise.datasets import load
    >>> from likewise.evaluation import compare_pairs
    >>> wine = load("wine")
    >>> pairs, same = random_pairs(wine.y, 3000, random_state=0)
    >>> result = compare_pairs(wine.X, pairs, same, ["ITML"])
    >>> result.outcome, result.recommended
    ('use', 'ITML')
    """
    chosen = choose_methods(_for_pairs(methods), random_state, COMPARED_ON_PAIRS)
    baselines = choose_methods(PAIR_BASELINES, random_state)
    estimators = baselines | chosen
    problem = check_pair_problem(
        X,
        pairs,
        same,
        groups,
        feature_names,
        n_repeats=n_repeats,
        standardize=standardize,
        random_state=random_state,
    )
    trials, failures = run_methods(
        estimators,
        make_pair_folds(problem, standardize=standardize),
        len(problem.splits),
        try_on_pairs,
        progress,
    )
    tested = [test for _, test in problem.splits]
    placed = {
        name: place_pairs([trial.distances for trial in done], tested, problem.pairs.same)
        for name, done in trials.items()
        if name not in failures
    }
    rows = {}
    for name, estimator in estimators.items():
        call, title = call_and_title(name, estimator)
        rows[name] = PairMethodResult(name, call, title, failed=failures.get(name))
        if name in placed:
            rows[name] = _with_numbers(rows[name], problem, placed[name], trials[name])
    if BASELINE in placed and len(placed) > 1:
        rows, verdict = _test(problem, rows, placed)
    else:
        best = max((rows[name] for name in placed), key=lambda row: row.auc, default=None)
        number = "" if best is None else f"{best.auc:.2%}"
        verdict = untested_verdict(best, f"AUC, {number}, is the largest", len(failures))
    flags = problem.pairs.same
    names = column_names(X, feature_names)
    return PairComparison(
        rows=tuple(with_column_names(row, names) for row in rows.values()),
        outcome=verdict.outcome,
        recommended=verdict.recommended,
        leader=verdict.leader,
        difference=verdict.difference,
        interval=verdict.interval,
        needed_items=verdict.needed_rows,
        verdict=verdict.verdict,
        n_items=len(np.unique(problem.pairs.index)),
        n_features=problem.X.shape[1],
        n_groups=None if problem.groups is None else len(np.unique(problem.units)),
        n_same=int(flags.sum()),
        n_different=int((~flags).sum()),
        n_tested=len(np.unique(np.concatenate(tested))),
        n_repeats=n_repeats,
        n_folds=N_FOLDS,
        standardized=standardize,
        random_state=random_state,
        id_columns=problem.id_columns,
        n_copies=problem.n_copies,
        estimators=estimators,
    )


def _for_pairs(
    methods: Iterable[str] | Mapping[str, Any] | None,
) -> list[str] | Mapping[str, Any] | None:
    """Raise an error for a method of the library that does not learn from pairs."""
    if methods is None or isinstance(methods, Mapping | str):
        return methods  # type: ignore[return-value]
    chosen = list(methods)
    others = {name.lower() for name in METHODS} - {name.lower() for name in COMPARED_ON_PAIRS}
    for name in chosen:
        if isinstance(name, str) and name.lower() in others:
            raise ValueError(
                f"{name} does not learn from pairs, but compare_pairs needs methods that do: "
                f"{', '.join(COMPARED_ON_PAIRS)}."
            )
    return chosen


def _with_numbers(
    row: PairMethodResult, problem: PairProblem, placed: PlacedPairs, trials: Sequence[PairTrial]
) -> PairMethodResult:
    auc, eer = placed.auc(), placed.eer()
    rates = [placed.fnmr_at(fmr) if fmr >= placed.least_fmr else None for fmr in FMRS]
    none: Interval = (np.nan, np.nan)
    warned = [trial.warned for trial in trials if trial.warned]
    return replace(
        row,
        auc=auc.value,
        auc_interval=rate_interval(placed, auc, problem.units),
        eer=eer.value,
        eer_interval=rate_interval(placed, eer, problem.units),
        fnmr=tuple(np.nan if rate is None else rate.value for rate in rates),
        fnmr_intervals=tuple(
            none if rate is None else rate_interval(placed, rate, problem.units) for rate in rates
        ),
        fit_seconds=float(np.median([trial.fit_seconds for trial in trials])),
        rank=trials[0].rank,
        warned=warned[0] if warned else None,
        n_warned=len(warned),
    )


def _test(
    problem: PairProblem, rows: dict[str, PairMethodResult], placed: dict[str, PlacedPairs]
) -> tuple[dict[str, PairMethodResult], Verdict]:
    """Test all methods against the baseline; return the rows with their differences."""
    others = [name for name in placed if name != BASELINE]
    test = auc_test(placed[BASELINE], [placed[name] for name in others], problem.units)
    for name, difference, (low, high), freedom in zip(
        others,
        test.differences.tolist(),
        test.intervals.tolist(),
        test.degrees_of_freedom.tolist(),
        strict=True,
    ):
        rows[name] = replace(
            rows[name], difference=difference, interval=(low, high), degrees_of_freedom=freedom
        )
    decision = decide(test, RELEVANT)
    leader = rows[others[decision.method]]
    numbers = f"{leader.auc:.2%} against {rows[BASELINE].auc:.2%} AUC"
    unit = "item" if problem.groups is None else "subject"
    return rows, give_verdict(decision, leader, numbers, unit)
