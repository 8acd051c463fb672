"""Nearest-neighbour errors of methods whose settings are chosen on training rows alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from likewise._runtime.arrays import Array, FloatArray
from likewise.evaluation import knn_error
from likewise.experiments._choice import choose
from likewise.experiments._rows import Split, divided_by_deviation, held_out, random_rows
from likewise.experiments._timing import timed
from likewise.statistics import stratified_folds

# Numbers of rows below which settings are chosen in more inner folds: the fewer rows there are, the
# less certain is a choice, and the less it costs.
_INNER_FOLDS = ((100, 10), (1000, 3))
_FOLDS_OF_MANY = 2

Settings = Mapping[str, Any]


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

    There are two folds, three of fewer than 1000 rows, and ten of fewer than 100. The first of
    equals is chosen.
    """
    candidates = list(contender.settings())
    if len(candidates) == 1:
        return candidates[0]
    rows = random_rows(len(X), n_rows, random)
    X, y = X[rows], y[rows]
    n_folds = next((folds for n_few, folds in _INNER_FOLDS if len(rows) < n_few), _FOLDS_OF_MANY)
    fold = stratified_folds(y, n_folds, random_state=random)

    def errors(split: Split) -> list[int]:
        return [evaluate(contender, settings, split, random) for settings in candidates]

    return choose(candidates, errors, (held_out(X, y, fold == part) for part in range(n_folds)))


def learn(
    contender: Contender, settings: Settings, X: FloatArray, y: Array, random: np.random.Generator
) -> tuple[Any, float]:
    """Return a fitted model, and the processor time of learning in seconds."""
    rows = random_rows(len(X), contender.max_rows or len(X), random)
    with warnings.catch_warnings():
        # Settings that fit badly are tried, too: their errors tell.
        warnings.simplefilter("ignore", UserWarning)
        return timed(lambda: contender.make(**settings).fit(X[rows], y[rows]))


def evaluate(
    contender: Contender, settings: Settings, split: Split, random: np.random.Generator
) -> int:
    """Return the number of test rows whose nearest neighbour is of another class."""
    X, y, X_test, y_test = split
    remaining = dict(settings)
    if remaining.pop("standardize", False):
        X, X_test = divided_by_deviation(X, X_test)
    model, _ = learn(contender, remaining, X, y, random)
    if hasattr(model, "transform"):
        Z, Z_test = model.transform(X), model.transform(X_test)
        share = knn_error(Z, y, Z_test, y_test, n_neighbors=1, n_jobs=1).error
        return round(share * len(y_test))
    return int(np.count_nonzero(model.predict(X_test) != y_test))
