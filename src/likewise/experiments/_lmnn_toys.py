"""Two-dimensional data: striped modes, concentric circles, digits on two principal components."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise.batch import LMNN, MMC, NCA, RCA, MultiMetricLMNN
from likewise.evaluation import knn_error
from likewise.experiments._data import load_once
from likewise.experiments._experiment import Result
from likewise.experiments._lmnn_counts import distances_by_metric, left_out_error
from likewise.experiments._lmnn_data import upright_digits
from likewise.experiments._lmnn_methods import N_NEIGHBORS, equal_class_lda
from likewise.experiments._rows import random_rows
from likewise.experiments._seeds import generator

ZEBRA_METHODS = ("Input", "LMNN", "RCA", "NCA", "MMC", "LDA")
CIRCLE_METHODS = (
    "1 metric",
    "2 metrics",
    "3 metrics",
    "4 metrics",
    "6 metrics",
    "2 projections",
    "3 projections",
)
_N_STRIPES, _OFFSET = 6, 10.0
_N_ANGLES, _RADII = 52, (1.0, 1.12)
_DIGITS = (0, 1, 2, 4)
_N_SHOWN = 400


def zebra(n_samples: int, random: np.random.Generator) -> tuple[FloatArray, IndexArray]:
    """Return vertical stripes of two classes in turn, in two unit squares far apart."""
    x, y = random.random(n_samples), random.random(n_samples)
    mode = random.integers(0, 2, n_samples)
    label = np.floor(_N_STRIPES * x).astype(np.int64) % 2
    return np.column_stack([x + _OFFSET * mode, y]), label


def run_zebra(method: str, run: int, n_samples: int) -> Result:
    """Return the 3-NN error on as many other samples, and the dominant axis (Figure 2)."""
    random = generator("zebra", run)
    (X, y), (X_test, y_test) = (zebra(n_samples, random) for _ in range(2))
    learners: dict[str, Any] = {
        "LMNN": LMNN(N_NEIGHBORS, n_jobs=1),
        "RCA": RCA(shrinkage=None),
        "NCA": NCA(n_jobs=1, random_state=0),
        "MMC": MMC(random_state=0),
    }
    L: Array = np.eye(2)
    if method == "LDA":
        L = equal_class_lda(X, y)
    elif method in learners:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            L = learners[method].fit(X, y).components_
    error = knn_error(X @ L.T, y, X_test @ L.T, y_test, n_neighbors=N_NEIGHBORS, n_jobs=1).error
    result: dict[str, Any] = {"error": 100 * error, "axis": np.linalg.svd(L)[2][0].tolist()}
    if method == "Input" and run == 0:
        result |= {"points": X[:_N_SHOWN].round(4).tolist(), "labels": y[:_N_SHOWN].tolist()}
    return result


def circles() -> tuple[FloatArray, IndexArray]:
    """Return two circles; the nearest point of each point is one of the other circle."""
    angle = np.linspace(0, 2 * np.pi, _N_ANGLES, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.vstack([radius * circle for radius in _RADII]), np.repeat([0, 1], _N_ANGLES)


def run_circles(method: str) -> Result:
    """Return the leave-one-out 1-NN error of several metrics (Figure 7).

    A projection keeps of each cluster the direction of its centre only.
    """
    X, y = circles()
    number, kind = method.split()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MultiMetricLMNN(
            1, clusters=int(number), max_iter=2000, tol=1e-3, random_state=0, n_jobs=1
        ).fit(X, y)
    components, clusters = model.components_, model.clusters_
    if kind == "projections":
        centres = np.stack([X[clusters == c].mean(axis=0) for c in range(int(number))])
        directions = centres / np.linalg.norm(centres, axis=1, keepdims=True)
        components = directions[:, None, :]
    distances = distances_by_metric(components, X, clusters, np.arange(len(X)))
    np.fill_diagonal(distances, np.inf)
    result: dict[str, Any] = {
        "left_out": 100 * float(np.mean(y[distances.argmin(axis=1)] != y)),
        "clusters": clusters.tolist(),
        "components": components.tolist(),
    }
    if kind != "projections":
        result["gap"] = 100 * float(model.duality_gap_)
    return result


def run_digits(n_samples: int) -> Result:
    """Return one metric for each of four digits on two principal components (Figure 8)."""
    data = load_once("mnist")
    y = np.asarray(data.y)
    rows = np.flatnonzero(np.isin(y, _DIGITS))
    rows = rows[random_rows(len(rows), n_samples, generator("four digits"))]
    y = y[rows]
    points = PCA(2, random_state=0).fit_transform(upright_digits(data.X[rows], data.X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MultiMetricLMNN(N_NEIGHBORS, n_jobs=1).fit(points, y)
    codes = np.searchsorted(model.classes_, y)
    error = left_out_error(model.components_, points, codes, N_NEIGHBORS, np.arange(len(y)))
    return {
        "digits_left_out": 100 * error,
        "components": model.components_.tolist(),
        "means": [points[y == digit].mean(axis=0).tolist() for digit in model.classes_],
        "classes": model.classes_.tolist(),
        "points": points[:_N_SHOWN].round(4).tolist(),
        "labels": y[:_N_SHOWN].tolist(),
    }
