"""Radius search among the other classes, the step that dominates LMNN."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark

N_TARGETS = 3


@benchmark(
    "radius-search",
    datasets=["letter", "letter/float32", "mnist-pca-50", "mnist-pca-50/float32"],
    smoke=["letter", "letter/float32"],
    repeats=7,
)
class RadiusSearch(Benchmark):
    """All pairs of different classes that are closer than the row's own radius.

    The squared radius of a row is 1 + the largest of the squared distances to its 3 targets, at the
    scale where the median of these is 1: LMNN's first impostor search. A result must be the set of
    pairs of the definition; only pairs within rounding of the radius (1e-9 of it, 1e-5 in single
    precision) may be in it or not, and `on_the_edge` counts how many differ. Letter has integer
    features, and so many exact ties.
    """

    rivals = {
        OURS: Rival("with_likewise:radius_search"),
        "scikit-learn": Rival("with_sklearn:radius_search"),
        "NumPy blocks": Rival("with_numpy:radius_search"),
        "NumPy blocks, tuned": Rival("with_numpy:radius_search_tuned"),
    }
    facts = ("cpu_s", "peak_mb", "pairs", "on_the_edge")
    targets = (
        Target("letter*", "warm_s", times=3),
        Target("mnist*", "warm_s", times=2),
        Target("*", "peak_mb", below=1000),
    )

    def prepare(self, X, y, seed):
        target_sqdist = np.empty((len(X), N_TARGETS))
        for label in np.unique(y):
            rows = np.flatnonzero(y == label)
            search = NearestNeighbors(n_neighbors=N_TARGETS).fit(X[rows])
            target_sqdist[rows] = search.kneighbors()[0] ** 2  # excludes the row itself
        scale = 1 / np.median(target_sqdist)
        Z = (X - X.mean(axis=0)) * X.dtype.type(np.sqrt(scale))
        radius2 = 1 + scale * target_sqdist.max(axis=1)
        return {"Z": Z, "labels": y, "radius2": radius2.astype(X.dtype)}

    def reference(self, arrays):
        """Return the pairs inside, and the pairs on the edge, each as row · n + column, sorted."""
        Z = arrays["Z"].astype(np.float64)
        labels, radius2 = arrays["labels"], arrays["radius2"].astype(np.float64)
        n, edge = len(Z), 1e-9 if arrays["Z"].dtype == np.float64 else 1e-5
        inside, on_edge = [], []
        for start in range(0, n, 500):
            block = slice(start, start + 500)
            sqdist, limit = cdist(Z[block], Z, "sqeuclidean"), radius2[block, None]
            sqdist[labels[block, None] == labels] = np.inf
            inside.append(np.flatnonzero(sqdist < limit) + start * n)
            on_edge.append(np.flatnonzero(np.abs(sqdist - limit) <= edge * limit) + start * n)
        return np.concatenate(inside), np.concatenate(on_edge)

    def score(self, result, arrays, reference):
        inside, on_edge = reference
        found = result["rows"].astype(np.int64) * len(arrays["Z"]) + result["cols"]
        if len(np.unique(found)) < len(found):
            raise WrongAnswerError("a pair occurs twice")
        differing = np.setxor1d(found, inside, assume_unique=True)
        wrong = np.setdiff1d(differing, on_edge, assume_unique=True)
        if len(wrong):
            raise WrongAnswerError(f"{len(wrong)} of {len(inside)} pairs are missing or extra")
        return {"pairs": len(found), "on_the_edge": len(differing)}
