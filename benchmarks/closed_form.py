"""Metrics in closed form, from one eigendecomposition: they should cost one pass over the data."""

from __future__ import annotations

import numpy as np

from benchmarks.base import OURS, Benchmark, Rival, WrongAnswerError, benchmark

DATASETS = ["digits", "mnist-pca-50"]


def class_centred(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    _, codes = np.unique(y, return_inverse=True)
    means = np.stack([X[codes == code].mean(axis=0) for code in range(codes.max() + 1)])
    return X - means[codes]


def distance_from_white(Z: np.ndarray) -> float:
    """Return the largest deviation from 1 of the variances of centred rows, over all directions.

    Directions without variance are left out: rank-deficient data cannot be white in them.
    """
    variances = np.linalg.eigvalsh(Z.T @ Z / len(Z))
    return float(np.minimum(np.abs(variances), np.abs(variances - 1)).max())


class ClosedForm(Benchmark):
    facts = ("cpu_s", "peak_mb", "rank")

    def quality(self, L: np.ndarray, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
        raise NotImplementedError

    def score(self, result, arrays, reference):
        L, X, y = result["L"], arrays["X"], arrays["y"]
        if not np.isfinite(L).all():
            raise WrongAnswerError("L is not finite")
        return {**self.quality(L, X, y), "rank": int(np.linalg.matrix_rank(L))}


@benchmark("closed-form-whitening", datasets=DATASETS, smoke=["iris"])
class Whitening(ClosedForm):
    """Whitening: after the transformation, the data have variance 1 in every direction.

    `not_white` is the largest deviation of a variance from 1 (or from 0, where the data have none).
    """

    rivals = {
        OURS: Rival("with_likewise:fit", options={"name": "Whitening"}),
        "scikit-learn PCA(whiten)": Rival("with_sklearn:whitening"),
        "metric-learn Covariance": Rival("with_metric_learn:covariance", "metric-learn"),
    }
    facts = ("cpu_s", "peak_mb", "rank", "not_white")

    def quality(self, L, X, y):
        return {"not_white": distance_from_white((X - X.mean(axis=0)) @ L.T)}


@benchmark("closed-form-rca", datasets=DATASETS, smoke=["iris"])
class RelevantComponents(ClosedForm):
    """RCA: after the transformation, the within-class variance is 1 in every direction.

    Every class is one chunk, for all packages. `not_white` is the largest deviation of a
    within-class variance from 1 (or from 0, where there is none).
    """

    rivals = {
        OURS: Rival("with_likewise:fit", options={"name": "RCA"}),
        "metric-learn RCA": Rival("with_metric_learn:rca", "metric-learn"),
    }
    facts = ("cpu_s", "peak_mb", "rank", "not_white")

    def quality(self, L, X, y):
        return {"not_white": distance_from_white(class_centred(X, y) @ L.T)}


@benchmark("closed-form-fda", datasets=DATASETS, smoke=["iris"])
class Discriminant(ClosedForm):
    """FDA: the directions with the largest ratio of between-class to within-class scatter.

    `within_share` is the within-class part of the total scatter, averaged over the directions of
    the learned subspace; less is better, and it does not depend on the basis.
    """

    rivals = {
        OURS: Rival("with_likewise:fit", options={"name": "FDA"}),
        "scikit-learn LDA(eigen)": Rival("with_sklearn:discriminant", options={"solver": "eigen"}),
        "scikit-learn LDA(svd)": Rival("with_sklearn:discriminant", options={"solver": "svd"}),
    }
    facts = ("cpu_s", "peak_mb", "rank", "within_share")

    def quality(self, L, X, y):
        total, within = ((Z @ L.T) for Z in (X - X.mean(axis=0), class_centred(X, y)))
        share = np.linalg.lstsq(total.T @ total, within.T @ within, rcond=None)[0]
        return {"within_share": float(np.trace(share)) / int(np.linalg.matrix_rank(L))}
