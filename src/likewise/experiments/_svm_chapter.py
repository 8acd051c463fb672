"""Zuo, Wang, Zhang et al., Metric learning with biometric applications: data and methods."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np

from likewise._runtime.arrays import Array, FloatArray
from likewise.batch import (
    ITML,
    LDML,
    LMNN,
    MCML,
    NCA,
    NCML,
    PCML,
    PLML,
    ComposedMetric,
    DMLEig,
    DoubletSVM,
    Euclidean,
    TripletSVM,
)
from likewise.experiments._data import load_once
from likewise.experiments._rows import Split, held_out
from likewise.experiments._seeds import generator
from likewise.experiments._tuned import Contender
from likewise.statistics import stratified_folds

PAPER = (
    "D. Zhang, Y. Xu, W. Zuo, Metric learning with biometric applications, chapter 2 of "
    "Discriminative learning in biometrics, Springer 2016"
)
N_FOLDS = 10
SLOW = MappingProxyType({"NCA": 2000, "MCML": 2000, "PLML": 1000})
"""The largest number of rows from which the slowest of the other methods learn."""
OF_DIGITS = ("PCML", "NCML")
NEAREST = ("PCML nearest", "NCML nearest")
OF_UCI = ("doublet-SVM", "triplet-SVM")
OWN_METHODS = (*OF_DIGITS, *NEAREST, *OF_UCI)
"""The chapter's methods."""


@dataclass(frozen=True)
class Task:
    """A data set with the chapter's preprocessing and evaluation.

    Attributes
    ----------
    name : str
        The name that `likewise.datasets.load` knows it by.
    n_components : int or None
        The principal components of the training rows that are kept.
    in_folds : bool
        Whether there are 10 folds; otherwise the test rows are given.
    labels : str or None
        Name of the labels, if they are not the usual ones.
    max_rows : int or None
        Methods that are not the chapter's learn from this many random rows; all rows are neighbours
        still.
    """

    name: str
    n_components: int | None = None
    in_folds: bool = False
    labels: str | None = None
    max_rows: int | None = None


DIGITS: Mapping[str, Task] = MappingProxyType(
    {
        "MNIST": Task("mnist", n_components=100, max_rows=10_000),
        "PenDigits": Task("pendigits"),
        "Semeion": Task("semeion", n_components=100, in_folds=True),
        "USPS": Task("usps", n_components=100),
    }
)
UCI: Mapping[str, Task] = MappingProxyType(
    {
        "Parkinsons": Task("parkinsons", in_folds=True),
        "Sonar": Task("sonar", in_folds=True),
        "Segmentation": Task("segment", in_folds=True),
        "Breast tissue": Task("breast_tissue", in_folds=True),
        "ILPD": Task("ilpd", in_folds=True),
        "Satellite": Task("satimage"),
        "Transfusion": Task("transfusion", in_folds=True),
        "SPECTF": Task("spectf"),
        "Cardiotocography": Task("cardiotocography", in_folds=True, labels="y_class10"),
        "Letter": Task("letter"),
    }
)
TASKS = {**DIGITS, **UCI}


def split(task: Task, run: int, fold: int, limit: int | None = None) -> Split:
    """Return one fold of a run, or the chapter's split; both parts have at most `limit` rows."""
    X, y, X_test, y_test = _parts(task)
    if task.in_folds:
        folds = stratified_folds(y, N_FOLDS, random_state=generator(task.name, "folds", run))
        X, y, X_test, y_test = held_out(X, y, folds == fold)
    if limit is not None:
        train, test = (
            generator("limit").permutation(len(labels))[:limit] for labels in (y, y_test)
        )
        X, y, X_test, y_test = X[train], y[train], X_test[test], y_test[test]
    mean = X.mean(axis=0)
    X, X_test = X - mean, X_test - mean
    if task.n_components is not None and task.n_components < X.shape[1]:
        _, axes = np.linalg.eigh(X.T @ X)
        leading = axes[:, : -task.n_components - 1 : -1]
        X, X_test = X @ leading, X_test @ leading
    return Split(X, y, X_test, y_test)


@lru_cache(maxsize=1)
def _whole_split(task: Task, limit: int | None, folder: str | None) -> Split:
    return split(task, 0, 0, limit)


def splits(
    task: Task, run: int, n_folds: int = N_FOLDS, limit: int | None = None
) -> Iterator[Split]:
    """Yield the first folds of a run, or the one split, which is kept for the next method."""
    if not task.in_folds:
        yield _whole_split(task, limit, os.environ.get("LIKEWISE_DATA"))
        return
    for fold in range(n_folds):
        yield split(task, run, fold, limit)


def _parts(task: Task) -> tuple[FloatArray, Array, FloatArray, Array]:
    """Return the training and the test rows; all rows are training rows where there are folds."""
    data = load_once(task.name)
    X = np.asarray(data.X, dtype=np.float64)
    y = np.asarray(data.y if task.labels is None else data.extra[task.labels])
    if data.X_test is not None:
        return X, y, np.asarray(data.X_test, dtype=np.float64), np.asarray(data.y_test)
    n_train = int(data.extra.get("n_suggested_train", len(X)))
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def _nearest(cone: str, n_neighbors: int, C: float) -> ComposedMetric:
    """Return PCML or NCML with the nearest rows of other classes in place of the farthest."""
    return ComposedMetric(
        "doublets", cone=cone, n_same=n_neighbors, n_different=n_neighbors, C=C, n_jobs=1
    )


Make = Callable[..., Any]
MAKE: Mapping[str, Make] = MappingProxyType(
    {
        "Euclidean": Euclidean,
        "NCA": partial(NCA, random_state=0, n_jobs=1),
        "ITML": partial(ITML, random_state=0),
        "MCML": partial(MCML, n_jobs=1),
        "LDML": partial(LDML, n_jobs=1),
        "LMNN": partial(LMNN, n_jobs=1),
        "DML-eig": partial(DMLEig, random_state=0),
        "PLML": partial(PLML, 1, random_state=0, n_jobs=1),
        "PCML": partial(PCML, n_jobs=1),
        "NCML": partial(NCML, n_jobs=1),
        "PCML nearest": partial(_nearest, "psd"),
        "NCML nearest": partial(_nearest, "conic"),
        "doublet-SVM": partial(DoubletSVM, 2, 2, n_jobs=1),
        "triplet-SVM": partial(TripletSVM, 2, 2, n_jobs=1),
    }
)
"""The methods with one thread; PCML and NCML pair with the farthest rows of other classes."""

_PAIRED = {"n_neighbors": (1, 3), "C": (1e-2, 1e-1)}
_GRIDS: Mapping[str, Mapping[str, tuple[Any, ...]]] = MappingProxyType(
    {
        "NCA": {"regularization": (0.0, 0.01)},
        "ITML": {"slack_weight": (0.1, 1.0, 10.0)},
        "LDML": {"C": (1e-3, 1e-1, 10.0)},
        "LMNN": {"n_neighbors": (1, 3)},
        "PCML": _PAIRED,
        "NCML": _PAIRED,
        "PCML nearest": _PAIRED,
        "NCML nearest": _PAIRED,
        "doublet-SVM": {"C": (1e-4, 1e-2, 1.0, 100.0)},
        "triplet-SVM": {"C": (1e-5, 1e-3, 1e-1)},
    }
)


def contender(method: str, dataset: str) -> Contender:
    """Return a method with the settings that are tried on a data set.

    Standardised features are tried besides the original ones on the UCI data. The chapter's own
    methods learn from all rows.
    """
    scalings = {"standardize": (False, True)} if dataset in UCI else {}
    limit = None if method in OWN_METHODS else max_rows(method, dataset)
    return Contender(MAKE[method], {**scalings, **_GRIDS.get(method, {})}, limit)


def max_rows(method: str, dataset: str) -> int | None:
    """Return the number of rows that a method of others learns from, if there are more."""
    limits = [limit for limit in (TASKS[dataset].max_rows, SLOW.get(method)) if limit is not None]
    return min(limits, default=None)
