"""Fits of LMNN: time, objective and 3-NN error."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sklearn.neighbors import NearestNeighbors

from benchmarks.base import OURS, Benchmark, Growth, Rival, Target, WrongAnswerError, benchmark

N_NEIGHBORS = 3
MNIST_SIZES = [f"mnist-164-{n}" for n in (2000, 5000, 10000, 20000)]
OFFICIAL_TEST = 10_000  # rows of MNIST's test part, which follow the training rows
CONVERGED = "likewise, converged"
PYLMNN = Rival("with_pylmnn:lmnn", "pylmnn")
OURS_CONVERGED = Rival("with_likewise:lmnn", ours=True)


def ours_stopped_after(max_iter: int) -> Rival:
    return Rival("with_likewise:lmnn", options={"max_iter": max_iter})


def target_neighbours(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    targets = np.empty((len(X), N_NEIGHBORS), dtype=np.int64)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        search = NearestNeighbors(n_neighbors=N_NEIGHBORS).fit(X[rows])
        targets[rows] = rows[search.kneighbors(return_distance=False)]  # excludes the row itself
    return targets


def paper_objective(X: np.ndarray, y: np.ndarray, targets: np.ndarray, L: np.ndarray) -> float:
    """Return Eq. 14 with μ = ½ over all triplets, from blocks of the distance matrix."""
    Z = X.astype(np.float64) @ L.T.astype(np.float64)
    square = np.einsum("ij,ij->i", Z, Z)
    near = np.square(Z[:, None] - Z[targets]).sum(axis=2)

    def push(start: int) -> float:
        block = slice(start, start + 500)
        far = square[block, None] + square - 2 * Z[block] @ Z.T
        far[y[block, None] == y] = np.inf
        return sum(
            float(np.maximum(1 + near[block, k, None] - far, 0).sum()) for k in range(N_NEIGHBORS)
        )

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return 0.5 * float(near.sum()) + 0.5 * sum(pool.map(push, range(0, len(Z), 500)))


def knn_error(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, L) -> float:
    """Return the 3-NN error; of three different labels that of the nearest is predicted."""
    search = NearestNeighbors(n_neighbors=N_NEIGHBORS, algorithm="brute").fit(X @ L.T)
    first, second, third = y[search.kneighbors(X_test @ L.T, return_distance=False)].T
    return float(np.mean(np.where(second == third, second, first) != y_test))


class LMNNFit(Benchmark):
    measures = ("warm_s", "cold_s", "added_mb", "objective", "error")
    averaged = ("error",)
    facts = ("error_se", "cpu_s", "peak_mb", "rank")
    official = False  # whether the last rows are the test rows, or a random 30 %

    def prepare(self, X, y, seed):
        if self.official:
            n_test = OFFICIAL_TEST if len(X) > OFFICIAL_TEST else len(X) // 5
        else:
            n_test = 3 * len(X) // 10
            order = np.random.default_rng(seed).permutation(len(X))
            X, y = X[order], y[order]
        _, y = np.unique(y, return_inverse=True)
        train, test = slice(0, len(X) - n_test), slice(len(X) - n_test, None)
        targets = target_neighbours(X[train], y[train])
        sqdist = np.square(X[train][:, None] - X[train][targets]).sum(axis=2)
        X = (X - X[train].mean(axis=0)) * X.dtype.type(1 / np.sqrt(np.median(sqdist)))
        arrays = {"X": X[train], "y": y[train], "X_test": X[test], "y_test": y[test]}
        return {**arrays, "targets": targets}

    def score(self, result, arrays, reference):
        L, X, y = result["L"], arrays["X"], arrays["y"]
        if L.ndim != 2 or L.shape[1] != X.shape[1] or not np.isfinite(L).all():
            raise WrongAnswerError("L is not a finite matrix with one column per feature")
        error = knn_error(X, y, arrays["X_test"], arrays["y_test"], L)
        return {
            "objective": paper_objective(X, y, arrays["targets"], L),
            "error": error,
            "error_se": (error * (1 - error) / len(arrays["y_test"])) ** 0.5,
            "rank": int(np.linalg.matrix_rank(L)),
        }


@benchmark("lmnn", datasets=["digits", "letter"], smoke=["digits"], repeats=1, budget_s=60)
class LMNNAgainstAll(LMNNFit):
    """Fit LMNN on 70 % of the rows, with k = 3 and otherwise the defaults of each package.

    All packages get the same centred data, scaled so that the median squared distance to a target
    is 1, since the margin is 1 for all. `objective` is the paper's Eq. 14 over all triplets,
    computed by the benchmark, and `error` the 3-NN error on the other 30 %. NCA has another
    objective and is included for its error. For several splits see `lmnn-reach`.
    """

    rivals = {
        OURS: OURS_CONVERGED,
        "pylmnn": PYLMNN,
        "metric-learn": Rival("with_metric_learn:lmnn", "metric-learn"),
        "mlpack": Rival("with_mlpack:lmnn", "mlpack"),
        "scikit-learn NCA": Rival("with_sklearn:nca_by_default"),
    }
    targets = (
        Target("*", "objective", times=1),
        Target("*", "error", times=1, standard_error="error_se"),
    )


@benchmark("lmnn-reach", datasets=["digits", "letter"], smoke=["digits"], seeds=range(5), repeats=1)
class LMNNReach(LMNNFit):
    """Time to reach pylmnn's objective: ours stops after 6 steps; means over 5 splits.

    As in `lmnn`. The second row of ours is the default fit, which goes on until its duality gap is
    1 %: it takes longer and reaches a lower objective. The targets are a tenth of pylmnn's time,
    and for both rows an objective and an error that are not higher (the error: by more than two
    standard errors).
    """

    rivals = {OURS: ours_stopped_after(6), CONVERGED: OURS_CONVERGED, "pylmnn": PYLMNN}
    targets = (
        Target("*", "warm_s", times=10, against="pylmnn"),
        *(
            target
            for row in (OURS, CONVERGED)
            for target in (
                Target("*", "objective", times=1, against="pylmnn", row=row),
                Target("*", "error", 1, against="pylmnn", row=row, standard_error="error_se"),
            )
        ),
    )


@benchmark(
    "lmnn-reach-mnist", datasets=MNIST_SIZES[:3], smoke=["mnist-164-2000"], repeats=2, budget_s=180
)
class LMNNReachMNIST(LMNNReach):
    """As `lmnn-reach`, on the first n training rows of MNIST; ours stops after 11 steps.

    The images are deskewed and projected on 164 principal axes; the error is that on the 10000 test
    rows.
    """

    official = True
    warm_below_s = 10
    rivals = {OURS: ours_stopped_after(11), CONVERGED: OURS_CONVERGED, "pylmnn": PYLMNN}


@benchmark(
    "lmnn-reach-mnist-most",
    datasets=MNIST_SIZES[3:],
    smoke=["mnist-164-2000"],
    repeats=1,
    budget_s=600,
)
class LMNNReachMostOfMNIST(LMNNReachMNIST):
    """As `lmnn-reach-mnist`, on 20000 rows, one run each; ours stops after 13 steps."""

    rivals = {OURS: ours_stopped_after(13), CONVERGED: OURS_CONVERGED, "pylmnn": PYLMNN}


@benchmark(
    "lmnn-mnist-whole",
    datasets=["mnist-164-60000/float32"],
    smoke=["mnist-164-60000/float32"],
    repeats=3,
    budget_s=600,
)
class LMNNOnAllOfMNIST(LMNNFit):
    """Fit LMNN on all 60000 training rows of MNIST, 164 features, in single precision.

    `before` is an older checkout, measured by turns: see `benchmarks/environments.py`.
    """

    official = True
    rivals = {OURS: OURS_CONVERGED, "before": Rival("with_likewise:lmnn", "before")}
    targets = (
        Target("*", "cpu_s", times=2, against="before"),
        Target("*", "warm_s", times=2, against="before"),
        Target("*", "warm_s", below=120),
        Target("*", "peak_mb", below=2500),
        Target("*", "error", below=0.014),
    )


@benchmark(
    "lmnn-before", datasets=["digits", "letter"], smoke=["digits"], seeds=range(3), repeats=2
)
class LMNNBefore(LMNNFit):
    """Fit LMNN as in `lmnn`, now and before the impostor search left tiles early.

    `before` is an older checkout, measured by turns: see `benchmarks/environments.py`. With 16
    features nothing can be gained; neither data set should take longer.
    """

    rivals = {OURS: OURS_CONVERGED, "before": Rival("with_likewise:lmnn", "before")}
    targets = (
        Target("*", "cpu_s", times=1 / 1.05, against="before", note="5 % are noise"),
        Target("*", "error", times=1, against="before", standard_error="error_se"),
    )


@benchmark(
    "lmnn-pixels",
    datasets=["mnist-pixels-16000/float32"],
    smoke=["mnist-pixels-16000/float32"],
    repeats=1,
    budget_s=300,
)
class LMNNOnPixels(LMNNFit):
    """Fit LMNN on 16,000 images of MNIST, raw pixels in single precision, now and before.

    `before` is an older checkout, stopped after 100 steps: see `benchmarks/environments.py`.
    """

    official = True
    warm_below_s = 60
    rivals = {
        OURS: OURS_CONVERGED,
        "before": Rival("with_likewise:lmnn", "before", options={"max_iter": 100}),
    }
    targets = (
        Target("*", "warm_s", below=30),
        Target("*", "error", times=1, against="before", standard_error="error_se"),
    )


@benchmark(
    "lmnn-growth",
    datasets=[f"{name}/float32" for name in (*MNIST_SIZES, "mnist-164-60000")],
    repeats=1,
    budget_s=300,
)
class LMNNGrowth(Benchmark):
    """Growth of the parts of a fit with n on MNIST, 164 features, over the first 20 steps.

    An exact impostor search compares all rows, and should grow as n²; the rest of a step as n.
    """

    measures = ("search_s", "step_s")
    facts = ("rows", "searches", "steps", "warm_s", "peak_mb")
    plot = Growth("rows", {"search_s": 2, "step_s": 1})
    rivals = {OURS: Rival("with_likewise:lmnn_parts", options={"max_iter": 20})}

    def prepare(self, X, y, seed):
        n_train = len(X) - OFFICIAL_TEST if len(X) > OFFICIAL_TEST else len(X)
        return {"X": X[:n_train], "y": y[:n_train]}

    def score(self, result, arrays, reference):
        named = ("search_s", "step_s", "searches", "steps")
        return {**{name: float(result[name]) for name in named}, "rows": len(arrays["X"])}
