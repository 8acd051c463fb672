"""The methods of Weinberger and Saul's Table 1, and how their settings are chosen."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC, LinearSVC

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise.batch import FDA, LMNN, MMC, NCA, RCA, MultiMetricLMNN
from likewise.batch.lmnn.early_stopping import split_validation
from likewise.batch.lmnn.local_metrics import LocalMetrics
from likewise.energy import EnergyClassifier
from likewise.evaluation import knn_error
from likewise.experiments._choice import choose
from likewise.experiments._lmnn_data import Problem, problem
from likewise.experiments._rows import random_rows
from likewise.experiments._seeds import generator
from likewise.experiments._timing import timed
from likewise.neighbors import vote

N_NEIGHBORS = 3
EARLY_STOPPING: Mapping[str, float] = {"validation_fraction": 0.3}
PROTECTIONS: tuple[Mapping[str, float], ...] = ({}, EARLY_STOPPING, {"regularization": 0.1})
"""Measures against overfitting, of which one is chosen where there are few rows per feature."""
PROTECTIONS_OF_METRICS: tuple[Mapping[str, float], ...] = (
    EARLY_STOPPING,
    {},
    {"regularization": 1.0},
)
"""The same for one metric per class, which has fewer rows for each matrix."""
FACES = ("yFaces", "oFaces")
SMALL = ("bal", "wine", "iris")
NUMBERS_OF_PASSES = (2, 3, 5, 10)  # for the small data sets; the others have 3
ENERGY_RULES = tuple((t, i) for t in ("euclidean", "learned") for i in (True, False))
_MOST_ROWS_TO_CHOOSE = 8000
_MOST_ROWS_OF_RIVALS = 2000
_MOST_ROWS_OF_SVM = 15_000
_MOST_ROWS_OF_VARIANTS = 20_000  # of LMNN: several passes, several metrics
_MOST_SVM_STEPS = 200_000
_SVM_KERNELS: tuple[Mapping[str, Any], ...] = tuple(
    {**kernel, "C": C}
    for kernel in (
        {"kernel": "linear"},
        {"kernel": "poly", "degree": 4, "coef0": 1.0},
        {"kernel": "rbf"},
    )
    for C in (1.0, 10.0, 100.0)
)

Split = tuple[IndexArray, IndexArray]


class Fitted(NamedTuple):
    """A fitted model.

    Attributes
    ----------
    model : object
        The model, or its L.
    seconds : float
        The processor time of the fit.
    rows : int array
        The training rows that it learned from, without those by whose error it was stopped.
    chosen : dict
        The settings that were chosen.
    """

    model: Any
    seconds: float
    rows: IndexArray
    chosen: Mapping[str, Any]


def equal_class_lda(X: Array, y: IndexArray) -> FloatArray:
    """Return L of linear discriminant analysis as in Eq. 5 of the paper: all classes count alike.

    The rows are the leading eigenvectors of C_w⁻¹ C_b, one fewer than classes, with variance 1
    within classes.
    """
    X = X - X.mean(axis=0, dtype=np.float64)
    means = np.stack([X[y == label].mean(axis=0) for label in np.unique(y)])
    residuals = X - means[np.searchsorted(np.unique(y), y)]
    between, within = means.T @ means / len(means), residuals.T @ residuals / len(X)
    # Rounding must not make the matrix indefinite where there are as many features as rows.
    within += 1e-9 * np.trace(within) / len(within) * np.eye(len(within))
    n_components = min(len(means) - 1, X.shape[1])
    vectors = eigh(between, within)[1]
    return np.asarray(vectors[:, ::-1][:, :n_components].T)


def some_rows(p: Problem, most: int, *names: str | int) -> IndexArray:
    """Return at most `most` random training rows, in their order."""
    return random_rows(len(p.y), most, generator(*names))


def fit_rival(method: str, p: Problem, run: int) -> Fitted:
    """Fit a metric that the paper compares with: LDA, FDA, RCA, MMC or NCA."""
    every = np.arange(len(p.y))
    if method == "LDA":
        return Fitted(*timed(lambda: equal_class_lda(p.X, p.y)), every, {})
    learner: Any = {
        "FDA": FDA(shrinkage=None),
        "RCA": RCA(shrinkage=None),
        "MMC": MMC(random_state=0),
        "NCA": NCA(n_jobs=1, random_state=0),
    }[method]
    slow = method in ("MMC", "NCA")
    rows = some_rows(p, _MOST_ROWS_OF_RIVALS, "rivals", run) if slow else every
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a rival that ends early is one, too
        fitted, seconds = timed(lambda: learner.fit(p.X[rows], p.y[rows]))
    return Fitted(np.asarray(fitted.components_), seconds, rows, {})


def splits(dataset: str, p: Problem, run: int) -> Iterator[Split]:
    """Yield training rows, and rows of another fold, by which settings are chosen.

    All four folds of small data sets and of isolet, two of faces and 20news, the first one of 8000
    rows of the others.
    """
    rows = some_rows(p, _MOST_ROWS_TO_CHOOSE, dataset, run, "choose")
    n_folds = 2 if dataset in (*FACES, "20news") else int(p.folds.max()) + 1
    for fold in range(n_folds if len(rows) == len(p.y) else 1):
        held = p.folds[rows] == fold
        yield rows[~held], rows[held]


def fit_lmnn(X: Array, y: IndexArray, settings: Mapping[str, Any]) -> LMNN:
    """Fit LMNN; one that stops early, by `max_iter` or by validation, is not reported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LMNN(N_NEIGHBORS, n_jobs=1, random_state=0, **settings).fit(X, y)


def error_of(
    components: Array | None, X: Array, y: IndexArray, X_test: Array, y_test: IndexArray
) -> float:
    """Return the 3-NN error under L, a share; None is the Euclidean distance."""
    Z, queries = X, X_test
    if components is not None:
        Z, queries = X @ components.T, X_test @ components.T
    return float(knn_error(Z, y, queries, y_test, n_neighbors=N_NEIGHBORS, n_jobs=1).error)


@lru_cache(maxsize=2)
def protection(dataset: str, run: int, limit: int | None) -> Mapping[str, float]:
    """Return the measure against overfitting with the lowest 3-NN error on held-out rows."""
    if dataset not in (*FACES, *SMALL):
        return {}
    p = problem(dataset, run, limit)

    def errors(part: Split) -> list[float]:
        train, held = part
        X, y = p.X[train], p.y[train]
        fits = (fit_lmnn(X, y, settings) for settings in PROTECTIONS)
        return [error_of(fit.components_, X, y, p.X[held], p.y[held]) for fit in fits]

    return choose(PROTECTIONS, errors, splits(dataset, p, run))


@lru_cache(maxsize=2)
def number_of_passes(dataset: str, run: int, limit: int | None) -> int:
    """Return the number of passes of the multi-pass variant."""
    if dataset not in SMALL:
        return 3
    p, settings = problem(dataset, run, limit), protection(dataset, run, limit)

    def errors(part: Split) -> list[float]:
        train, held = part
        X, y = p.X[train], p.y[train]
        fits = (fit_lmnn(X, y, {**settings, "n_passes": n}) for n in NUMBERS_OF_PASSES)
        return [error_of(fit.components_, X, y, p.X[held], p.y[held]) for fit in fits]

    return choose(NUMBERS_OF_PASSES, errors, splits(dataset, p, run))


@lru_cache(maxsize=4)
def fitted_lmnn(dataset: str, run: int, limit: int | None, *, passes: bool) -> Fitted:
    """Return LMNN of one pass, or of several, fitted to the training rows."""
    p = problem(dataset, run, limit)
    settings: dict[str, Any] = dict(protection(dataset, run, limit))
    rows = np.arange(len(p.y))
    if passes:
        settings["n_passes"] = number_of_passes(dataset, run, limit)
        rows = some_rows(p, _MOST_ROWS_OF_VARIANTS, "variants", run)
    model, seconds = timed(lambda: fit_lmnn(p.X[rows], p.y[rows], settings))
    return Fitted(model, seconds, _learned(p, rows, model), settings)


def energy_rule(metric: LMNN, rule: tuple[str, bool], X: Array, y: IndexArray) -> EnergyClassifier:
    """Return the energy classifier of a fitted metric; the first rule is that of the paper."""
    return EnergyClassifier(
        FrozenEstimator(metric),
        n_neighbors=N_NEIGHBORS,
        push=0.5,
        margin=1.0,
        targets=rule[0],
        impostors=rule[1],
        n_jobs=1,
    ).fit(X, y)


def chosen_energy(dataset: str, run: int, limit: int | None) -> tuple[bool, tuple[str, bool]]:
    """Return whether to make several passes, and the rule, with the fewest held-out errors.

    On faces and mnist there is always one pass.
    """
    p = problem(dataset, run, limit)
    metrics = [dict(protection(dataset, run, limit))]
    if dataset not in (*FACES, "mnist"):
        metrics.append({**metrics[0], "n_passes": number_of_passes(dataset, run, limit)})

    def errors(part: Split) -> list[float]:
        train, held = part
        X, y = p.X[train], p.y[train]
        return [
            float(np.mean(energy_rule(metric, rule, X, y).predict(p.X[held]) != p.y[held]))
            for metric in (fit_lmnn(X, y, settings) for settings in metrics)
            for rule in ENERGY_RULES
        ]

    candidates = [(passes > 0, rule) for passes in range(len(metrics)) for rule in ENERGY_RULES]
    return choose(candidates, errors, splits(dataset, p, run))


@lru_cache(maxsize=1)
def fitted_metrics(dataset: str, run: int, limit: int | None) -> Fitted:
    """Return one metric per class, stopped early by 30 % of the rows.

    On faces and small data one of the measures against overfitting is chosen.
    """
    p = problem(dataset, run, limit)

    def fit(X: Array, y: IndexArray, settings: Mapping[str, Any]) -> MultiMetricLMNN:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return MultiMetricLMNN(N_NEIGHBORS, random_state=0, n_jobs=1, **settings).fit(X, y)

    def errors(part: Split) -> list[float]:
        train, held = part
        fits = (fit(p.X[train], p.y[train], settings) for settings in candidates)
        return [1 - float(model.score(p.X[held], p.y[held])) for model in fits]

    candidates = PROTECTIONS_OF_METRICS if dataset in (*FACES, *SMALL) else (EARLY_STOPPING,)
    settings = choose(candidates, errors, splits(dataset, p, run))
    rows = some_rows(p, _MOST_ROWS_OF_VARIANTS, "variants", run)
    model, seconds = timed(lambda: fit(p.X[rows], p.y[rows], settings))
    return Fitted(model, seconds, _learned(p, rows, model), settings)


def _learned(p: Problem, rows: IndexArray, model: LMNN | MultiMetricLMNN) -> IndexArray:
    """Return the rows of the training set that a fit to some rows learned its metrics from."""
    codes = np.unique(p.y[rows], return_inverse=True)[1]
    weights = np.ones(len(rows))
    train, _ = split_validation(codes, weights, model.validation_fraction, model.random_state)
    return rows[train]


def predict_with_metrics(model: MultiMetricLMNN, p: Problem) -> Array:
    """Return the votes of all training rows, also where the metrics are learned from some."""
    codes = np.searchsorted(model.classes_, p.y)
    metrics = LocalMetrics(p.X, codes, codes, model.components_, n_jobs=1)
    labels = codes[metrics.nearest(p.X_test, N_NEIGHBORS)[1]]
    return np.asarray(model.classes_[vote(labels, len(model.classes_))[0]])


def fitted_svm(dataset: str, p: Problem, run: int) -> Fitted:
    """Fit a multiclass SVM, one against one, its kernel and C chosen on held-out rows.

    20news: a linear one on all words, one class against the others.
    """
    if dataset == "20news":
        linear = timed(lambda: LinearSVC().fit(p.raw, p.y))
        return Fitted(*linear, np.arange(len(p.y)), {"kernel": "linear", "C": 1.0})
    rows = some_rows(p, _MOST_ROWS_OF_SVM, "svm", run)
    few = some_rows(p, _MOST_ROWS_OF_RIVALS, "svm", run)
    held = p.folds[few] == 0

    def errors(part: Split) -> list[float]:
        train, test = part
        models = (
            SVC(**kernel, max_iter=_MOST_SVM_STEPS).fit(p.X[train], p.y[train])
            for kernel in _SVM_KERNELS
        )
        return [1 - float(model.score(p.X[test], p.y[test])) for model in models]

    kernel = choose(_SVM_KERNELS, errors, [(few[~held], few[held])])
    svm = SVC(**kernel, max_iter=_MOST_SVM_STEPS)
    return Fitted(*timed(lambda: svm.fit(p.X[rows], p.y[rows])), rows, kernel)
