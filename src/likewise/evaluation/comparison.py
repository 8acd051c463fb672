"""Methods side by side on the same splits of the same data."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from likewise._runtime.arrays import Array
from likewise.constraints import Pairs, random_pairs
from likewise.evaluation._checks import Problem, check_problem, choose_methods
from likewise.evaluation.knn_error import knn_error
from likewise.evaluation.rank import effective_dimension
from likewise.evaluation.results import Comparison, MethodResult
from likewise.evaluation.scoring import DEFAULT_PAIRS, curve_of_pairs
from likewise.evaluation.verdict import give_verdict

Progress = Callable[[int, int, str], None]
"""Called with the fits done, the fits in all, and what is running now."""


def compare(
    X: ArrayLike,
    y: ArrayLike,
    methods: Iterable[str] | Mapping[str, Any] | None = None,
    *,
    n_neighbors: int = 3,
    n_splits: int = 5,
    test_size: float = 0.3,
    standardize: bool = True,
    n_pairs: int = DEFAULT_PAIRS,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare metrics by their nearest neighbours and by verification, on held-out rows.

    Every method sees the same stratified random splits and is evaluated on the same pairs of test
    rows. A method that raises becomes a row that says so.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Finite numbers.
    y : array-like of shape (n_samples,)
        Labels: at least two classes, each with at least two rows.
    methods : names or mapping of name to unfitted estimator, optional
        Names of metrics in `likewise.methods.METHODS`, in any case; `COMPARED_METHODS` by default.
    n_neighbors : int, default=3
        Neighbours that vote.
    n_splits : int, default=5
        Random splits.
    test_size : float, default=0.3
        Share of the rows that is held out.
    standardize : bool, default=True
        Scale every feature to mean 0 and variance 1, as measured on the training rows.
    n_pairs : int, default=10000
        Pairs of test rows for the equal error rate, drawn independently of each other.
    random_state : int, default=0
        Decides the splits and the pairs.
    n_jobs : int, optional
        Threads of the neighbour search; all cores by default.
    progress : callable, optional
        Called with the fits done, the fits in all, and what is running now.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from likewise.datasets import load
    >>> from likewise.evaluation import compare
    >>> wine = load("wine")
    >>> result = compare(wine.X, wine.y, ["Euclidean", "FDA"], n_splits=10)
    >>> [row.name for row in result.rows]
    ['Euclidean', 'FDA']
    """
    estimators = choose_methods(methods)
    problem = check_problem(
        X,
        y,
        n_neighbors=n_neighbors,
        n_splits=n_splits,
        test_size=test_size,
        n_pairs=n_pairs,
        random_state=random_state,
    )
    trials: dict[str, list[_Trial]] = {name: [] for name in estimators}
    failures: dict[str, str] = {}
    steps = _Steps(progress, n_splits * len(estimators))
    for split in _splits(problem, standardize, random_state):
        for name, estimator in estimators.items():
            steps.begin(f"{name}, split {split.number + 1} of {n_splits}")
            if name not in failures:
                try:
                    trials[name].append(_try(clone(estimator), split, n_neighbors, n_jobs))
                except Exception as error:  # noqa: BLE001 - whatever it was, the others go on
                    failures[name] = _one_line(f"{type(error).__name__}: {error}")
            steps.end()
    rows = tuple(
        MethodResult(name, failed=failures[name]) if name in failures else _result(name, done)
        for name, done in trials.items()
    )
    verdict = give_verdict(
        [row for row in rows if row.failed is None],
        n_neighbors=n_neighbors,
        n_train=problem.n_train,
        n_test=problem.n_test,
    )
    return Comparison(
        rows=rows,
        recommended=verdict.recommended,
        verdict=verdict.sentence,
        n_samples=len(problem.X),
        n_features=problem.X.shape[1],
        n_classes=len(problem.classes),
        n_neighbors=n_neighbors,
        n_splits=n_splits,
        test_size=test_size,
        standardized=standardize,
        n_pairs=n_pairs,
        random_state=random_state,
    )


@dataclass(frozen=True)
class _Split:
    number: int
    X_train: Array
    y_train: NDArray[np.intp]
    X_test: Array
    y_test: NDArray[np.intp]
    pairs: Pairs | None


@dataclass(frozen=True)
class _Trial:
    error: float
    eer: float
    fit_seconds: float
    rank: int | None
    warned: str | None


def _splits(problem: Problem, standardize: bool, random_state: int) -> Iterator[_Split]:
    splitter = StratifiedShuffleSplit(
        problem.n_splits,
        train_size=problem.n_train,
        test_size=problem.n_test,
        random_state=random_state,
    )
    for number, (train, test) in enumerate(splitter.split(problem.X, problem.codes)):
        X_train, X_test = problem.X[train], problem.X[test]
        if standardize:
            scaler = StandardScaler().fit(X_train)
            X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
        y_train, y_test = problem.codes[train], problem.codes[test]
        can_pair = np.bincount(y_test).max() > 1
        seed = random_state + number
        pairs = random_pairs(y_test, problem.n_pairs, random_state=seed) if can_pair else None
        yield _Split(number, X_train, y_train, X_test, y_test, pairs)


def _try(estimator: Any, split: _Split, n_neighbors: int, n_jobs: int | None) -> _Trial:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        estimator.fit(split.X_train, split.y_train)
        fit_seconds = time.perf_counter() - start
    Z_train = np.asarray(estimator.transform(split.X_train))
    Z_test = np.asarray(estimator.transform(split.X_test))
    votes = knn_error(
        Z_train, split.y_train, Z_test, split.y_test, n_neighbors=n_neighbors, n_jobs=n_jobs
    )
    return _Trial(
        error=votes.error,
        eer=curve_of_pairs(Z_test, split.pairs).eer if split.pairs else math.nan,
        fit_seconds=fit_seconds,
        # Once only: in thousands of dimensions a rank costs as much as a fit.
        rank=_rank(estimator) if split.number == 0 else None,
        warned=_one_line(str(caught[0].message)) if caught else None,
    )


def _rank(estimator: Any) -> int | None:
    """Return the rank of a linear metric; other estimators, such as pipelines, have none."""
    return effective_dimension(estimator) if hasattr(estimator, "components_") else None


def _result(name: str, trials: list[_Trial]) -> MethodResult:
    errors = tuple(trial.error for trial in trials)
    eers = tuple(trial.eer for trial in trials)
    return MethodResult(
        name=name,
        error=float(np.mean(errors)),
        spread=float(np.std(errors, ddof=1)) if len(errors) > 1 else math.nan,
        eer=float(np.mean(eers)),
        fit_seconds=float(np.median([trial.fit_seconds for trial in trials])),
        rank=trials[0].rank,
        errors=errors,
        eers=eers,
        warned=next((trial.warned for trial in trials if trial.warned), None),
    )


class _Steps:
    """Reports which method is running and how many fits are done."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done, self._what = progress, total, 0, ""

    def begin(self, what: str) -> None:
        self._what = what
        self._tell()

    def end(self) -> None:
        self._done += 1
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._total, self._what)


def _one_line(text: str) -> str:
    return " ".join(text.split())
