"""Fewer dimensions of MNIST: errors and searches (Figures 10, 12 and 13)."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import BallTree

from likewise._runtime.arrays import Array, IndexArray
from likewise.constraints import target_neighbors
from likewise.evaluation import knn_error
from likewise.experiments._data import load_once
from likewise.experiments._experiment import Result
from likewise.experiments._lmnn_data import raw_digits, upright_digits
from likewise.experiments._lmnn_methods import N_NEIGHBORS, fit_lmnn
from likewise.experiments._lmnn_search import nearest_by_abandoning, within_by_abandoning
from likewise.experiments._rows import random_rows
from likewise.experiments._seeds import generator
from likewise.experiments._timing import timed

SEARCH_METHODS = ("abandoning", "ball tree", "impostors by ball trees")
REDUCTION_METHODS = ("PCA", "LMNN-S", "LMNN-R")
_DESKEWED = ", deskewed"
DESKEWED_METHODS = tuple(f"{method}{_DESKEWED}" for method in REDUCTION_METHODS)
_N_FIRST = 350  # principal components that LMNN-S and LMNN-R see
_N_LEARN_FOR_SEARCH = 5000


class Digits(NamedTuple):
    """Digits as principal components, all of them, and their rows in the data set."""

    X: Array
    y: IndexArray
    X_test: Array
    y_test: IndexArray
    rows: IndexArray


@lru_cache(maxsize=2)
def digits(limit: int | None, n_test: int | None, *, deskewed: bool) -> Digits:
    """Return training and test images; with limits, random and first ones."""
    data = load_once("mnist")
    assert data.X_test is not None
    y, y_test = np.asarray(data.y), np.asarray(data.y_test)[:n_test]
    rows = random_rows(len(y), len(y) if limit is None else limit, generator("digits"))
    prepared = upright_digits if deskewed else raw_digits
    images = prepared(data.X[rows], data.X)
    pca = PCA(svd_solver="covariance_eigh").fit(images)
    images_test = prepared(data.X_test[:n_test], data.X)
    return Digits(pca.transform(images), y[rows], pca.transform(images_test), y_test, rows)


def _learned_rows(data: Digits, n_learn: int | None) -> IndexArray:
    if n_learn is None or n_learn >= len(data.y):
        return np.arange(len(data.y))
    return generator("learned").choice(len(data.y), n_learn, replace=False)


@lru_cache(maxsize=2)
def square_metric(
    limit: int | None, n_test: int | None, n_learn: int | None, *, deskewed: bool
) -> Array:
    """Return L of LMNN on 350 principal components; the other columns are zero."""
    data = digits(limit, n_test, deskewed=deskewed)
    rows = _learned_rows(data, n_learn)
    components = fit_lmnn(data.X[rows, :_N_FIRST], data.y[rows], {}).components_
    L = np.zeros((len(components), data.X.shape[1]), dtype=components.dtype)
    L[:, : components.shape[1]] = components
    return L


def run_reduction(
    n_components: int,
    method: str,
    limit: int | None,
    n_test: int | None,
    n_learn: int | None,
    n_learn_deskewed: int,
) -> Result:
    """Return the 3-NN error in few dimensions: of PCA, or of the square or rectangular L.

    The metrics of raw images learn from `n_learn` rows, all by default, those of deskewed ones from
    `n_learn_deskewed`.
    """
    deskewed = method.endswith(_DESKEWED)
    method = method.removesuffix(_DESKEWED)
    n_learn = n_learn_deskewed if deskewed else n_learn
    data = digits(limit, n_test, deskewed=deskewed)
    X, X_test = data.X[:, :_N_FIRST], data.X_test[:, :_N_FIRST]
    if method == "PCA":
        Z, Z_test = X[:, :n_components], X_test[:, :n_components]
    elif method == "LMNN-S":
        L = square_metric(limit, n_test, n_learn, deskewed=deskewed)
        pca = PCA(n_components, random_state=0).fit(data.X @ L.T)
        Z, Z_test = (pca.transform(part @ L.T) for part in (data.X, data.X_test))
    else:
        rows = _learned_rows(data, n_learn)
        model = fit_lmnn(X[rows], data.y[rows], {"n_components": n_components})
        Z, Z_test = X @ model.components_.T, X_test @ model.components_.T
    error = knn_error(Z, data.y, Z_test, data.y_test, n_neighbors=N_NEIGHBORS, n_jobs=1).error
    return {"reduced_error": 100 * error, "n_test": len(data.y_test)}


def run_search(
    n_components: int, method: str, limit: int | None, n_test: int | None, n_queries: int
) -> Result:
    """Return how many times faster a search is, in processor time without building trees."""
    data = digits(limit, n_test, deskewed=False)
    queries = data.X_test[:n_queries]
    rows = np.ascontiguousarray(data.X[:, :n_components])
    if method == "impostors by ball trees":
        return _impostor_search(rows, data, n_queries)
    baseline = _baseline_seconds(limit, n_test, n_queries)
    few = np.ascontiguousarray(queries[:, :n_components])
    if method == "abandoning":
        found, seconds = timed(
            lambda: [nearest_by_abandoning(query, rows, N_NEIGHBORS) for query in few]
        )
        share = sum(compared for _, compared in found) / (rows.size * len(few))
    else:
        tree = BallTree(rows)
        tree.reset_n_calls()
        _, seconds = timed(lambda: tree.query(few, N_NEIGHBORS))
        share = tree.get_n_calls() / (len(rows) * len(few))
    return {"speedup": baseline / seconds, "compared": 100 * share}


@lru_cache(maxsize=1)
def _baseline_seconds(limit: int | None, n_test: int | None, n_queries: int) -> float:
    """Return the processor time of a search in all dimensions that abandons rows."""
    data = digits(limit, n_test, deskewed=False)
    _, seconds = timed(
        lambda: [
            nearest_by_abandoning(query, data.X, N_NEIGHBORS) for query in data.X_test[:n_queries]
        ]
    )
    return seconds


def _impostor_search(rows: Array, data: Digits, n_queries: int) -> Result:
    """Search for all rows of other classes within the margin of some anchors."""
    learned = _learned_rows(data, _N_LEARN_FOR_SEARCH)
    Z = rows @ fit_lmnn(rows[learned], data.y[learned], {}).components_.T
    pairs = target_neighbors(rows, data.y, N_NEIGHBORS, n_jobs=1)
    anchors = generator("anchors").choice(len(Z), min(n_queries, len(Z)), replace=False)
    difference = Z[pairs[:, 0]] - Z[pairs[:, 1]]
    max_sqdist = np.zeros(len(Z))
    np.maximum.at(max_sqdist, pairs[:, 0], np.square(difference).sum(axis=1))
    sqradius = 1 + max_sqdist[anchors]

    def by_abandoning() -> int:
        found = (
            within_by_abandoning(Z[a], Z, r)[0] for a, r in zip(anchors, sqradius, strict=True)
        )
        return sum(
            int(np.count_nonzero(data.y[near] != data.y[a]))
            for near, a in zip(found, anchors, strict=True)
        )

    trees = {digit: BallTree(Z[data.y == digit]) for digit in np.unique(data.y)}

    def by_trees() -> int:
        n_found = 0
        for digit, tree in trees.items():
            other = data.y[anchors] != digit
            if other.any():
                near = tree.query_radius(Z[anchors[other]], np.sqrt(sqradius[other]))
                n_found += sum(map(len, near))
        return n_found

    for tree in trees.values():
        tree.reset_n_calls()
    n_brute, brute = timed(by_abandoning)
    n_found, seconds = timed(by_trees)
    compared = sum(tree.get_n_calls() for tree in trees.values())
    return {
        "impostor_speedup": brute / seconds,
        "compared": 100 * compared / (len(Z) * len(anchors)),
        "n_impostors": n_found,
        "n_impostors_by_abandoning": n_brute,
    }
