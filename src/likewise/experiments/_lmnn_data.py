"""The nine data sets of Weinberger and Saul, prepared and split as in their section 4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split

from likewise._runtime.arrays import Array, IndexArray
from likewise.datasets import Dataset, deskew
from likewise.experiments._data import load_once
from likewise.experiments._rows import all_rows
from likewise.experiments._seeds import generator

_TEST_SHARE = 0.3
_N_FOLDS = 4
_SPEAKER_GROUP_ROWS = 1560  # of isolet: the training part has the groups 1 to 4 one after the other


@dataclass(frozen=True, eq=False)
class Problem:
    """Training and test rows of one split.

    Attributes
    ----------
    raw, raw_test : array
        The features before they are reduced.
    X, X_test : array
        Their principal components; the features themselves where the paper reduces nothing.
    y, y_test : array
        Labels.
    folds : int array
        The fold of each training row, by which settings are chosen.
    """

    raw: Array
    raw_test: Array
    X: Array
    X_test: Array
    y: IndexArray
    y_test: IndexArray
    folds: IndexArray


def numbers(X: Array, _train: Array) -> Array:
    """Return the features as they are."""
    return np.asarray(X, dtype=np.float64)


def raw_digits(X: Array, _train: Array) -> Array:
    """Return images with values up to 1."""
    return np.asarray(X / 255, dtype=np.float32)


def upright_digits(X: Array, _train: Array) -> Array:
    """Return deskewed images with values up to 1."""
    return np.asarray(deskew(X) / 255, dtype=np.float32)


def word_weights(X: Array, train: Array) -> Array:
    """Return logarithmic word counts times inverse document frequencies, of length 1."""
    weights = TfidfTransformer(sublinear_tf=True).fit(train).transform(X)
    return np.asarray(weights.toarray(), dtype=np.float32)


def halved_images(X: Array, _train: Array) -> Array:
    """Return square images with half as many pixels in each direction, each the mean of four."""
    side = int(np.sqrt(X.shape[1])) // 2
    blocks = np.asarray(X, dtype=np.float64).reshape(len(X), side, 2, side, 2)
    return np.asarray(blocks.mean(axis=(2, 4)).reshape(len(X), -1))


@dataclass(frozen=True)
class Source:
    """How a data set is prepared.

    Attributes
    ----------
    name : str
        The name that `likewise.datasets.load` knows it by.
    features : callable
        Returns the features of some rows, given also the training rows.
    n_components : int or None
        Principal components to keep.
    n_skipped : int
        Leading components to leave out.
    n_samples : int or None
        The number of random rows to use; None is all.
    official : bool
        Whether the split is that of the data set; otherwise 70 % of each class are trained on.
    """

    name: str
    features: Callable[[Array, Array], Array] = numbers
    n_components: int | None = None
    n_skipped: int = 0
    n_samples: int | None = None
    official: bool = False


SOURCES: Mapping[str, Source] = MappingProxyType(
    {
        "mnist": Source("mnist", upright_digits, n_components=164, official=True),
        "letters": Source("letter"),
        "20news": Source("20news_bow", word_weights, n_components=200, n_samples=5000),
        "isolet": Source("isolet", n_components=172, official=True),
        "yFaces": Source("yaleb_ext", n_components=200, n_skipped=5),
        "bal": Source("balance"),
        "oFaces": Source("olivetti", halved_images, n_components=200),
        "wine": Source("wine"),
        "iris": Source("iris"),
    }
)


@lru_cache(maxsize=1)
def problem(dataset: str, run: int, limit: int | None = None) -> Problem:
    """Return a split; with a limit, of at most `limit` training and as many test rows."""
    source = SOURCES[dataset]
    data = load_once(source.name)
    rows, rows_test, y, y_test = _split(data, source, dataset, run)
    train, test = (
        np.arange(len(labels))
        if limit is None or limit >= len(labels)
        else _some_of_each_class(labels, limit, generator(dataset, run, "limit"))
        for labels in (y, y_test)
    )
    y, y_test = y[train], y_test[test]
    raw, raw_test = (source.features(part, rows[train]) for part in (rows[train], rows_test[test]))
    X, X_test = raw, raw_test
    if source.n_components is not None:
        n_kept = min(source.n_components, *raw.shape)
        solver = "randomized" if raw.shape[1] > 2000 else "auto"
        pca = PCA(n_kept, svd_solver=solver, random_state=0).fit(raw)
        X, X_test = (pca.transform(part)[:, source.n_skipped :] for part in (raw, raw_test))
    if dataset == "isolet" and limit is None:
        folds = np.minimum(np.arange(len(y)) // _SPEAKER_GROUP_ROWS, _N_FOLDS - 1)
    else:
        folds = generator(dataset, run, "folds").permutation(len(y)) % _N_FOLDS
    return Problem(raw, raw_test, X, X_test, y, y_test, folds)


def _split(
    data: Dataset, source: Source, dataset: str, run: int
) -> tuple[Array, Array, IndexArray, IndexArray]:
    """Return training rows, test rows and their labels."""
    X, y = data.X, np.asarray(data.y)
    if source.official:
        assert data.X_test is not None
        return X, data.X_test, y, np.asarray(data.y_test)
    X, y = all_rows(data)
    seed = int(generator(dataset, run).integers(2**31))
    used = np.arange(len(y))
    if source.n_samples is not None and source.n_samples < len(y):
        used = _some_of_each_class(y, source.n_samples, generator(dataset, run, "used"))
    train, test = train_test_split(used, test_size=_TEST_SHARE, stratify=y[used], random_state=seed)
    return X[train], X[test], y[train], y[test]


def _some_of_each_class(
    labels: IndexArray, n_samples: int, random: np.random.Generator
) -> IndexArray:
    """Return random rows, from each class the same share, in their order."""
    order = random.permutation(len(labels))
    place = np.empty(len(labels))
    for label in np.unique(labels):
        own = order[labels[order] == label]
        place[own] = (np.arange(len(own)) + 0.5) / len(own)
    return np.sort(np.argsort(place, kind="stable")[:n_samples])
