"""Images whose neighbours change when a metric is learned (Figures 4 and 5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.arrays import Array, IndexArray
from likewise.experiments._data import load_once
from likewise.experiments._experiment import Result
from likewise.experiments._lmnn_data import problem
from likewise.experiments._lmnn_methods import N_NEIGHBORS, fit_lmnn
from likewise.experiments._lmnn_reduction import digits, square_metric
from likewise.neighbors import nearest

_N_IMAGES = 8
_N_TESTED = 2000  # digits


def run_faces(limit: int | None) -> Result:
    """Return test faces, class members that became neighbours, and impostors that ceased to be.

    The regularization is the one that `lmnn-table1` chooses in its first split.
    """
    p = problem("oFaces", 0, limit)
    L = fit_lmnn(p.X, p.y, {"regularization": 0.1}).components_
    before = nearest(p.X_test, p.X, N_NEIGHBORS, n_jobs=1)[1]
    after = nearest(p.X_test @ L.T, p.X @ L.T, N_NEIGHBORS, n_jobs=1)[1]
    columns: list[tuple[int, int, int]] = []
    for test, (old, new) in enumerate(zip(before, after, strict=True)):
        own = [row for row in new if p.y[row] == p.y_test[test] and row not in old]
        gone = [row for row in old if p.y[row] != p.y_test[test] and row not in new]
        if own and gone:
            columns.append((test, own[0], gone[0]))
    shown = columns[:_N_IMAGES]
    images = [_pixels(p.raw_test[[c[0] for c in shown]])]
    images += [_pixels(p.raw[[c[place] for c in shown]]) for place in (1, 2)]
    return {"images": images, "n_changed": len(columns)}


def run_digit_neighbors(limit: int | None, n_learn: int, n_test: int | None) -> Result:
    """Return test digits whose nearest neighbour is wrong before and right after learning."""
    data = digits(limit, n_test, deskewed=True)
    L = square_metric(limit, n_test, n_learn, deskewed=True)
    queries, labels = data.X_test[:_N_TESTED], data.y_test[:_N_TESTED]
    before = nearest(queries[:, : len(L)], data.X[:, : len(L)], 1, n_jobs=1)[1][:, 0]
    after = nearest(queries @ L.T, data.X @ L.T, 1, n_jobs=1)[1][:, 0]
    changed = np.flatnonzero((data.y[before] != labels) & (data.y[after] == labels))
    spoilt = np.flatnonzero((data.y[before] == labels) & (data.y[after] != labels))
    shown: IndexArray = changed[:_N_IMAGES]
    raw = load_once("mnist")
    assert raw.X_test is not None
    images: list[Any] = [_pixels(raw.X_test[shown])]
    images += [_pixels(raw.X[data.rows[near[shown]]]) for near in (after, before)]
    return {"images": images, "n_changed": len(changed), "n_spoilt": len(spoilt)}


def _pixels(images: Array) -> list[list[int]]:
    """Return grey values from 0 to 255."""
    scale = 255 / max(1.0, float(np.max(images, initial=1.0)))
    return [[int(value) for value in np.round(image * scale)] for image in images]
