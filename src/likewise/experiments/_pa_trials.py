"""Trials of the paper on online metrics: learned on one half of the rows, tested on the other."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise.batch import ITML
from likewise.constraints import Pairs, random_pairs
from likewise.evaluation import effective_dimension, knn_error, leave_one_out_error
from likewise.exceptions import DegenerateMetricWarning, OverfitWarning
from likewise.experiments._choice import choose
from likewise.experiments._experiment import Result
from likewise.experiments._pa_data import samples
from likewise.experiments._seeds import generator
from likewise.experiments._timing import mean_seconds
from likewise.online import PAMetric, tune_C

ONLINE = {
    f"{variant}{sign}": (variant, psd)
    for variant in ("PA-I", "PA-II", "PALS")
    for sign, psd in (("+", "each"), ("−", "end"))
}
"""The paper's own methods: variant, and when the matrix is projected."""
METHODS = ("Euclidean", "ITML", *ONLINE)
DECOMPOSED = "iono"  # the set whose eigenvectors are taken one after the other

_PAIRS_PER_CLASSES = 40  # the paper's r is 40 c (c − 1)
_SLACK_WEIGHTS = tuple(10.0**power for power in range(-4, 5))
_SLACK_FOLDS, _SLACK_NEIGHBORS = 2, 4  # as in the software of ITML's authors
_ITML_STEPS = 25  # where more are needed, the bounds cannot be met
_ERROR: dict[str, Any] = {"balanced": True, "ties": "first", "n_jobs": 1}
_N_POINTS = 60  # of a curve
_MIN_SECONDS = 0.05  # that are timed


@dataclass(frozen=True, eq=False)
class Halves:
    """The two halves of a data set, the pairs of the first one, and a seed."""

    X: FloatArray
    y: IndexArray
    X_test: FloatArray
    y_test: IndexArray
    pairs: Pairs
    seed: int


def run_metric(dataset: str, method: str, run: int, *, limit: int | None = None) -> Result:
    """Return the errors of 1 to 25 neighbours under a metric, and how it was learned."""
    with warnings.catch_warnings():
        # Parameters are tried of which some make a bad metric, or one that cannot be found.
        for category in (ConvergenceWarning, DegenerateMetricWarning, OverfitWarning):
            warnings.simplefilter("ignore", category)
        return _run(draw_halves(dataset, run, limit), dataset, method)


def _run(data: Halves, dataset: str, method: str) -> Result:
    if method == "Euclidean":
        n_features = data.X.shape[1]
        return {"errors": _errors(data, np.eye(n_features)), "dimension": n_features}
    if method == "ITML":
        parameter = _tuned_slack_weight(data)
        learner: Any = ITML(parameter, max_iter=_ITML_STEPS, random_state=data.seed)
    else:
        variant, psd = ONLINE[method]
        learner = PAMetric(variant, psd=psd, scale=1.0, random_state=data.seed)
        parameter = tune_C(learner, data.X, *data.pairs, criterion="knn", y=data.y, n_jobs=1).C
        learner.set_params(C=parameter)
    pairs = _separable(data.X, data.pairs) if method == "ITML" else data.pairs
    seconds = mean_seconds(lambda: learner.fit_pairs(data.X, *pairs), at_least=_MIN_SECONDS)
    L = learner.components_
    result = {
        "errors": _errors(data, L),
        "parameter": parameter,
        "seconds": seconds,
        "dimension": effective_dimension(L),
    }
    if method in ONLINE:
        result |= _course(learner, data)
        if dataset == DECOMPOSED:
            result |= _errors_by_eigenvectors(data, L)
    return result


def draw_halves(dataset: str, run: int, limit: int | None) -> Halves:
    """Return random halves, divided by the range of the features of the first one, and r pairs.

    Each class is halved; of classes with an odd number of rows, every second one has its row more
    in the first half.
    """
    X, y = samples(dataset)
    random = generator(dataset, run)
    order = random.permutation(len(y))[:limit]
    by_class = order[np.argsort(y[order], kind="stable")]
    train, test = random.permutation(by_class[::2]), random.permutation(by_class[1::2])
    spread = np.ptp(X[train], axis=0)
    X = X / np.where(spread > 0, spread, 1.0)
    seed = int(random.integers(2**31))
    return Halves(X[train], y[train], X[test], y[test], _draw_pairs(y[train], seed), seed)


def _draw_pairs(y: IndexArray, seed: int) -> Pairs:
    n_classes = len(np.unique(y))
    wanted = _PAIRS_PER_CLASSES * n_classes * (n_classes - 1)
    existing = len(y) * (len(y) - 1) // 2
    return random_pairs(y, min(wanted, existing), balanced=False, distinct=True, random_state=seed)


def _tuned_slack_weight(data: Halves) -> float:
    """Return the slack weight of ITML with the least error of 4 neighbours in two folds."""

    def errors(part: tuple[IndexArray, IndexArray]) -> list[float]:
        train, test = part
        X, y = data.X[train], data.y[train]
        pairs, found = _separable(X, _draw_pairs(y, data.seed)), []
        for slack_weight in _SLACK_WEIGHTS:
            learner = ITML(slack_weight, max_iter=_ITML_STEPS, random_state=data.seed)
            learner.fit_pairs(X, *pairs)
            Z, Z_test = learner.transform(X), learner.transform(data.X[test])
            k = min(_SLACK_NEIGHBORS, len(Z))
            found.append(float(knn_error(Z, y, Z_test, data.y[test], n_neighbors=k).error))
        return found

    folds = KFold(_SLACK_FOLDS, shuffle=True, random_state=data.seed)
    return choose(_SLACK_WEIGHTS, errors, folds.split(data.X))


def _separable(X: FloatArray, pairs: Pairs) -> Pairs:
    """Return the pairs without the dissimilar ones of equal rows, which ITML cannot learn from."""
    first, second = pairs.index.T
    usable = pairs.same | (X[first] != X[second]).any(axis=1)
    return Pairs(pairs.index[usable], pairs.same[usable])


def _errors(data: Halves, L: FloatArray) -> list[float]:
    """Return the test errors of 1 to 25 neighbours, averaged over the classes."""
    Z, Z_test = data.X @ L.T, data.X_test @ L.T
    found = knn_error(Z, data.y, Z_test, data.y_test, n_neighbors="best", **_ERROR)
    return [float(error) for error in found.errors]


def _course(learner: PAMetric, data: Halves) -> Result:
    """Return the predictive error and the effective dimension while the metric is learned."""
    every = max(1, learner.n_events_ // _N_POINTS)
    learner.set_params(record_every=every).fit_pairs(data.X, *data.pairs)
    history = learner.history_
    return {
        "predictive": learner.mistakes_ / learner.n_events_,
        "updates": learner.n_updates_,
        "events": history["n_events"].tolist(),
        "predictive_curve": history["predictive_error"].tolist(),
        "dimension_curve": history["effective_dimension"].tolist(),
    }


def _errors_by_eigenvectors(data: Halves, L: FloatArray) -> Result:
    """Return the 2-NN errors with 1, 2, … eigenvectors of the largest eigenvalues."""
    train, test = [], []
    for n_vectors in range(1, len(L) + 1):
        Z, Z_test = data.X @ L[:n_vectors].T, data.X_test @ L[:n_vectors].T
        train.append(leave_one_out_error(Z, data.y, n_neighbors=2, **_ERROR).error)
        found = knn_error(Z, data.y, Z_test, data.y_test, n_neighbors=2, **_ERROR)
        test.append(found.error)
    return {"train_by_eigenvectors": train, "test_by_eigenvectors": test}
