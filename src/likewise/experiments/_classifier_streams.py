"""Streams of labelled samples, for the experiments with online classifiers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import scipy.linalg

from likewise._runtime.arrays import Array, BoolArray, FloatArray, FloatingArray
from likewise.experiments._data import load_once
from likewise.experiments._rows import all_rows, unit_rows

Random = np.random.Generator
Stream = tuple[FloatArray, BoolArray]
"""Samples and whether each is of the positive class, in the order in which they are learned."""


def bupa(random: Random, run: int, limit: int | None) -> Stream:
    """Liver disorders: all rows, standardised; the larger class is positive."""
    X, y = all_rows(load_once("bupa"))
    return _shuffled(_standardized(X), y == 1, random, limit)


def crx(random: Random, run: int, limit: int | None) -> Stream:
    """Credit approval: all rows, standardised, with one integer per category."""
    data = load_once("crx")
    X = _standardized(data.extra["X_int"])
    return _shuffled(X, np.asarray(data.y) == 1, random, limit)


def usps(random: Random, run: int, limit: int | None) -> Stream:
    """One digit, another one in each run, against as many samples of the others."""
    return _one_class(*all_rows(load_once("usps")), run, random, limit)


def mnist(random: Random, run: int, limit: int | None) -> Stream:
    """One digit, another one in each run, against as many samples of the others."""
    return _one_class(*all_rows(load_once("mnist")), run, random, limit)


def webkb4(random: Random, run: int, limit: int | None) -> Stream:
    """230 pages of courses and 821 other pages, the numbers of the paper's WebKB."""
    X, y = all_rows(load_once("webkb4_bow"))
    course = random.choice(np.flatnonzero(y == 0), 230, replace=False)
    others = random.choice(np.flatnonzero(y != 0), 821, replace=False)
    chosen = np.r_[course, others]
    return _shuffled(unit_rows(X[chosen]), y[chosen] == 0, random, limit)


def tweets(random: Random, run: int, limit: int | None) -> Stream:
    """1000 tweets: emotional (positive or negative) against neutral ones."""
    X, y = all_rows(load_once("tweets_sanders_bow"))
    used = np.flatnonzero((y != 0) & (X.sum(axis=1) > 0))
    chosen = random.choice(used, 1000, replace=False)
    return _shuffled(unit_rows(X[chosen]), y[chosen] != 2, random, limit)


STREAMS: Mapping[str, Callable[[Random, int, int | None], Stream]] = MappingProxyType(
    {
        "BUPA": bupa,
        "CRX": crx,
        "USPS": usps,
        "MNIST": mnist,
        "WebKB": webkb4,
        "Twitter": tweets,
    }
)
DATA: Mapping[str, str] = MappingProxyType(
    {
        "BUPA": "bupa",
        "CRX": "crx",
        "USPS": "usps",
        "MNIST": "mnist",
        "WebKB": "webkb4_bow",
        "Twitter": "tweets_sanders_bow",
    }
)


def in_basis_of_rows(X: FloatArray) -> FloatArray:
    """Return rows with the same inner products in at most as many dimensions as there are rows.

    A learner with Σ = I in the beginning and a full Σ makes the same predictions with them.
    """
    n_samples, n_features = X.shape
    if n_features <= n_samples:
        return X
    (R,) = scipy.linalg.qr(X.T, mode="r")
    return np.ascontiguousarray(R[:n_samples].T)


def _shuffled(X: FloatArray, positive: BoolArray, random: Random, limit: int | None) -> Stream:
    order = random.permutation(len(X))[:limit]
    return X[order], positive[order]


def _one_class(X: FloatingArray, y: Array, run: int, random: Random, limit: int | None) -> Stream:
    digit = run % 10
    own, others = np.flatnonzero(y == digit), np.flatnonzero(y != digit)
    n = len(own) if limit is None else min(len(own), limit // 2)
    chosen = np.r_[random.choice(own, n, replace=False), random.choice(others, n, replace=False)]
    return _shuffled(unit_rows(X[chosen]), y[chosen] == digit, random, limit)


def _standardized(X: FloatingArray) -> FloatArray:
    X = X.astype(np.float64)
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))
