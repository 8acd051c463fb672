"""Nearest-neighbour errors of methods whose settings are chosen on training rows alone."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise.evaluation import knn_error
from likewise.statistics import stratified_folds

_FEW_ROWS = 1000  # fewer are divided into three folds, for choices are uncertain there

Settings = Mapping[str, Any]


class Split(NamedTuple):
    """Rows to learn from, and rows to be predicted."""

    X: FloatArray
    y: Array
    X_test: FloatArray
    y_test: Array


@dataclass(frozen=True)
class Contender:
    """A method and the settings that are tried.

    Attributes
    ----------
    make : callable
        Takes a setting by its name for each entry of the grid, and returns an unfitted estimator
        with `transform`, or one that predicts by one neighbour.
    grid : mapping from str to tuple
        The values that are tried. "standardize" is whether features are divided by their standard
        deviations, which is done here.
    max_rows : int or None
        Learn from this many random rows if there are more; all rows are neighbours still.
    """

    make: Callable[..., Any]
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    max_rows: int | None = None

    def settings(self) -> Iterator[Settings]:
        """Yield all combinations of the grid."""
        for values in product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))


def choose_settings(
    contender: Contender, X: FloatArray, y: Array, n_rows: int, random: np.random.Generator
) -> Settings:
    """Return the settings with the fewest errors in inner folds of at most `n_rows` random rows.

    There are two folds, or three of fewer than 1000 rows. The first of equals is chosen.
    """
    candidates = list(contender.settings())
    if len(candidates) == 1:
        return candidates[0]
    rows = _random_rows(len(X), n_rows, random)
    X, y = X[rows], y[rows]
    n_folds = 3 if len(rows) < _FEW_ROWS else 2
    fold = stratified_folds(y, n_folds, random_state=random)
    splits = [
        Split(X[fold != held_out], y[fold != held_out], X[fold == held_out], y[fold == held_out])
        for held_out in range(n_folds)
    ]
    wrong = [
        sum(evaluate(contender, settings, split, random) for split in splits)
        for settings in candidates
    ]
    return candidates[int(np.argmin(wrong))]


def learn(
    contender: Contender, settings: Settings, X: FloatArray, y: Array, random: np.random.Generator
) -> tuple[Any, float]:
    """Return a fitted model, and the processor time of learning in seconds."""
    rows = _random_rows(len(X), contender.max_rows or len(X), random)
    start = time.process_time()
    with warnings.catch_warnings():
        # Settings that fit badly are tried, too: their errors tell.
        warnings.simplefilter("ignore", UserWarning)
        model = contender.make(**settings).fit(X[rows], y[rows])
    return model, time.process_time() - start


def evaluate(
    contender: Contender, settings: Settings, split: Split, random: np.random.Generator
) -> int:
    """Return the number of test rows whose nearest neighbour is of another class."""
    X, y, X_test, y_test = split
    remaining = dict(settings)
    if remaining.pop("standardize", False):
        X, X_test = standardized(X, X_test)
    model, _ = learn(contender, remaining, X, y, random)
    if hasattr(model, "transform"):
        Z, Z_test = model.transform(X), model.transform(X_test)
        share = knn_error(Z, y, Z_test, y_test, n_neighbors=1, n_jobs=1).error
        return round(share * len(y_test))
    return int(np.count_nonzero(model.predict(X_test) != y_test))


def standardized(X: FloatArray, *others: FloatArray) -> tuple[FloatArray, ...]:
    """Return rows with features divided by the standard deviations of those of X."""
    deviation = X.std(axis=0)
    deviation[deviation == 0] = 1.0
    return tuple(rows / deviation for rows in (X, *others))


def _random_rows(n_available: int, n_rows: int, random: np.random.Generator) -> IndexArray:
    """Return at most `n_rows` random rows, in their order."""
    if n_rows >= n_available:
        return np.arange(n_available)
    return np.sort(random.choice(n_available, n_rows, replace=False))
