"""The error on held-out rows or pairs against the amount of data that was learned from."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from likewise._runtime.arrays import BoolArray
from likewise.evaluation import knn_error, verification_curve
from likewise.evaluation._pair_distances import pair_distances
from likewise.report._held_out import HeldOut
from likewise.statistics import stratified_folds

_PARTS = 8
_SHARES = (1, 2, 4, 8)  # eighths
_FEW_ROWS, _DRAWS = 2000, 3


def learning(
    held: HeldOut,
    estimators: dict[str, Any],
    fitted: dict[str, Any],
    n_neighbors: int,
    random_state: int,
    step: Callable[[str], None],
) -> dict[str, Any]:
    """Return the error after learning from an eighth, a quarter, a half and all of the data.

    A share that a method cannot be fitted to is left out. `fitted` has the metrics of all data.
    """
    of_rows = held.codes is not None
    n_all = _n_all(held)
    n_draws = _n_draws(n_all)
    sizes: list[int] = []
    errors: dict[str, list[list[float]]] = {name: [] for name in estimators}
    for share in _SHARES:
        drawn = _draws(held, share, n_draws, n_all, random_state)
        found: dict[str, list[float]] = {name: [] for name in estimators}
        for number, kept in enumerate(drawn):
            for name, estimator in estimators.items():
                step(f"learning curve, {share}/{_PARTS} of the data, {name}")
                metric = fitted[name] if share == _PARTS else _fit(held, estimator, kept)
                found[name].append(
                    math.nan if metric is None else _error(held, metric, kept, n_neighbors)
                )
            if share == _PARTS and number == 0:
                break
        means = np.array(list(found.values()))
        if np.isfinite(means).all():
            sizes.append(int(np.mean([kept.sum() for kept in drawn])))
            for name, values in found.items():
                errors[name].append(values)
    if len(sizes) < 2:
        why = "The methods could not be fitted to parts of the data: there are too few."
        return {"missing": why}
    return {
        "sizes": sizes,
        "errors": errors,
        "unit": "training rows" if of_rows else "training pairs",
        "measure": f"{n_neighbors}-NN test error" if of_rows else "1 − AUC of test pairs",
        "n_draws": n_draws,
        "n_tested": len(held.voted_rows if of_rows else held.test_pairs or ()),
    }


def n_learning_steps(held: HeldOut, n_metrics: int) -> int:
    """Return how often `learning` calls `step`, if each share has its draws."""
    return n_metrics * (1 + (len(_SHARES) - 1) * _n_draws(_n_all(held)))


def _n_all(held: HeldOut) -> int:
    """Return the number of rows, or else of pairs, that a metric is fitted to."""
    return len(held.fit_rows) if held.codes is not None else len(held.fit_pairs or ())


def _n_draws(n_all: int) -> int:
    return _DRAWS if n_all <= _FEW_ROWS else 1


def _draws(
    held: HeldOut, share: int, n_draws: int, n_all: int, random_state: int
) -> list[BoolArray]:
    """Return which rows, or pairs, are kept; classes in proportion, and groups whole."""
    if share == _PARTS:
        return [np.ones(n_all, dtype=np.bool_)]
    drawn = []
    for draw in range(n_draws):
        if held.codes is None:
            order = np.random.default_rng([random_state, draw]).permutation(n_all)
            drawn.append(order < n_all * share // _PARTS)
            continue
        groups = None if held.groups is None else held.groups[held.fit_rows]
        try:
            folds = stratified_folds(
                held.codes[held.fit_rows],
                _PARTS,
                groups=groups,
                random_state=np.random.default_rng([random_state, draw]),
            )
        except ValueError:  # fewer rows than parts
            return []
        drawn.append((folds >= 0) & (folds < share))
    return drawn


def _fit(held: HeldOut, estimator: Any, kept: BoolArray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return held.fitted(estimator, kept)
        except Exception:  # noqa: BLE001 - whatever it was, this part is too small for the method
            return None


def _error(held: HeldOut, metric: Any, kept: BoolArray, n_neighbors: int) -> float:
    if held.codes is None:
        assert held.test_pairs is not None
        first, second = held.test_pairs.index.T
        distances = pair_distances(metric, held.X[first], held.X[second])
        return 1 - verification_curve(distances, held.test_pairs.same).auc
    rows, tested = held.fit_rows[kept], held.voted_rows
    if len(rows) < n_neighbors:
        return math.nan
    return knn_error(
        metric.transform(held.X[rows]),
        held.codes[rows],
        metric.transform(held.X[tested]),
        held.codes[tested],
        n_neighbors=n_neighbors,
    ).error
