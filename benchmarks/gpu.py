"""Fits and searches on one GPU, with the rows already there: ``python -m benchmarks run gpu-``.

The goals are for an NVIDIA H200. Without a GPU a row says so.
"""

from __future__ import annotations

import os
import warnings

import numpy as np
from scipy.spatial.distance import cdist

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark
from benchmarks.data import SMOKE_ROWS
from benchmarks.growth import GrowthOfFits
from benchmarks.growth_data import ROWS, rows_name
from benchmarks.lmnn import LMNNFit
from benchmarks.nca import NCA
from benchmarks.scale import ManyRows
from likewise import PAMetric
from likewise.constraints import random_pairs

MEASURES = ("device_s", "device_mb")
FACTS = ("cold_s", "peak_mb")
ON_HOST = "likewise, on the host"
CHECKED_ROWS = 100
NEIGHBOURS = 10


def on_device(result) -> dict[str, float]:
    return {name: float(result[name]) for name in MEASURES}


@benchmark(
    "gpu-lmnn",
    datasets=["mnist-164-60000/float32"],
    smoke=["mnist-164-2000/float32"],
    repeats=1,  # a call repeats itself
    budget_s=600,
)
class LMNNOnGPU(LMNNFit):
    """Fit LMNN on all 60000 training rows of MNIST, 164 features, to a duality gap of 1 %."""

    official = True
    warm_below_s = 0.0
    measures = (*MEASURES, "objective", "error")
    facts = (*FACTS, "error_se", "rank")
    rivals = {OURS: Rival("on_gpu:lmnn")}
    targets = (Target("*", "device_s", below=0.5), Target("*", "error", below=0.014))

    def score(self, result, arrays, reference):
        if len(arrays["X"]) > SMOKE_ROWS and not result["converged"]:
            raise WrongAnswerError("the fit did not converge")
        return {**super().score(result, arrays, reference), **on_device(result)}


@benchmark(
    "gpu-lmnn-rows",
    datasets=["mnist-50-960000/float32", "mnist-rotated-50-10000000/float32"],
    smoke=["mnist-50-960000/float32"],
    repeats=1,
    budget_s=3600,
)
class LMNNOfManyRowsOnGPU(ManyRows):
    """Fit LMNN on shifted copies of MNIST, 50 features, to a duality gap of 1 %.

    Ten million of them are also rotated.
    """

    measures = (*MEASURES, "objective")
    facts = ("rows", *FACTS)
    rivals = {OURS: Rival("on_gpu:lmnn")}
    targets = (
        Target("mnist-50-960000/*", "device_s", below=8),
        Target("mnist-rotated-50-10000000/*", "device_s", below=480),
        Target("mnist-rotated-50-10000000/*", "device_mb", below=100_000),
    )

    def score(self, result, arrays, reference):
        return {**super().score(result, arrays, reference), **on_device(result)}


@benchmark(
    "gpu-nca",
    datasets=["mnist-pca-164-60000/float32"],
    smoke=["standard-wine/float32"],
    repeats=1,  # a call repeats itself
    budget_s=600,
)
class NCAOnGPU(NCA):
    """Fit NCA from the identity on all 60000 training rows of MNIST, 50 steps of L-BFGS."""

    warm_below_s = 0.0
    measures = (*MEASURES, "expected_error")
    facts = FACTS
    rivals = {OURS: Rival("on_gpu:nca")}
    targets = (Target("*", "device_s", below=3),)

    def score(self, result, arrays, reference):
        return {**super().score(result, arrays, reference), **on_device(result)}


@benchmark(
    "gpu-online",
    datasets=[f"clusters-{d}-20000/float32" for d in (512, 1024, 2048)],
    repeats=1,  # a call repeats itself
    threads=os.cpu_count() or 1,
    budget_s=900,
)
class OnlineOnGPU(Benchmark):
    """Learn online from 20,000 pairs of 20,000 rows in one batch, on the device and on the host.

    PA-I (-), from no model: the batch includes the scale of the stream, and the eigenvectors of M
    for the warning at its end. On the host `device_s` is the time of the same call with arrays; its
    products use one thread, whatever the number of cores. M must be that of the host.
    """

    psd = "end"
    warm_below_s = 0.0
    measures = MEASURES
    facts = ("pairs_per_s", "active_share", *FACTS)
    rivals = {
        OURS: Rival("on_gpu:online"),
        ON_HOST: Rival("on_gpu:online", options={"on_host": True}, ours=True),
    }
    targets = (Target("*", "device_s", times=1, against=ON_HOST),)

    def prepare(self, X, y, seed):
        pairs, same = random_pairs(y, len(X), random_state=seed)
        return {"X": X, "pairs": pairs, "same": same, "psd": np.asarray(self.psd)}

    def reference(self, arrays):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = PAMetric(psd=self.psd)
            return model.partial_fit_pairs(arrays["X"], arrays["pairs"], arrays["same"])

    def score(self, result, arrays, reference):
        M = reference._state.dense()
        error = np.abs(result["M"] - M).max() / np.abs(M).max()
        if not error < 1e-8:
            raise WrongAnswerError(f"M differs by {error:.1e} from that of the host")
        n_pairs = len(arrays["pairs"])
        rate = n_pairs / float(result["device_s"])
        share = float(result["n_updates"]) / n_pairs
        return {**on_device(result), "pairs_per_s": rate, "active_share": share}


@benchmark(
    "gpu-radius-search",
    datasets=["mnist-50-960000/float32"],
    smoke=["mnist-50-960000/float32"],
    repeats=1,  # a call repeats itself
    budget_s=900,
)
class RadiusSearchOnGPU(Benchmark):
    """Search LMNN's first impostors among 960,000 × 50 rows, exact distances included.

    The squared radius of a row is the median over all squared distances to the 3 targets plus the
    largest of its own. `tflops` counts n² · 64 operations; the goal is 150. The pairs of some rows
    are compared with brute force.
    """

    warm_below_s = 0.0
    measures = MEASURES
    facts = ("pairs", "tflops", *FACTS)
    rivals = {
        OURS: Rival("on_gpu:radius_search"),
        "likewise, plain PyTorch": Rival(
            "on_gpu:radius_search", options={"plain": True}, ours=True
        ),
    }
    targets = (Target("*", "device_s", below=960_000**2 * 64 / 150e12),)

    def prepare(self, X, y, seed):
        return {"Z": X, "labels": y}

    def score(self, result, arrays, reference):
        Z, labels = arrays["Z"].astype(np.float64), arrays["labels"]
        rows, cols, radius2 = result["rows"], result["cols"], result["radius2"]
        if (np.diff(rows * len(Z) + cols) <= 0).any():
            raise WrongAnswerError("pairs are not in order, or occur twice")
        checked = np.random.default_rng(0).permutation(len(Z))[:CHECKED_ROWS]
        sqdist = cdist(Z[checked], Z, "sqeuclidean")
        for row, distances in zip(checked, sqdist, strict=True):
            found = np.zeros(len(Z), dtype=bool)
            found[cols[slice(*np.searchsorted(rows, [row, row + 1]))]] = True
            inside = (distances < radius2[row]) & (labels != labels[row])
            clear = np.abs(distances - radius2[row]) > 1e-9 * radius2[row]
            if (found != inside)[clear].any():
                raise WrongAnswerError(f"pairs of row {row} are missing or extra")
        tflops = len(Z) ** 2 * 64 / float(result["device_s"]) / 1e12
        return {**on_device(result), "pairs": len(rows), "tflops": tflops}


@benchmark(
    "gpu-nearest",
    datasets=["clusters-128-1000000/float32"],
    smoke=["clusters-128-1000000/float32"],
    repeats=1,  # a call repeats itself
    budget_s=900,
)
class NearestOnGPU(Benchmark):
    """Search the 10 nearest of 1,000,000 × 128 rows for each of them.

    Ours is exact. Squared distances of some rows are compared with brute force; rivals may be off
    by what single precision loses. The goal is 1.5 times the time of the fastest.
    """

    warm_below_s = 0.0
    measures = MEASURES
    facts = FACTS
    rivals = {
        OURS: Rival("on_gpu:nearest"),
        "PyTorch top-k in tiles": Rival("on_gpu:nearest_by_topk"),
        "cuVS brute force": Rival("on_gpu:nearest_by_cuvs"),
    }
    targets = (Target("*", "device_s", times=1 / 1.5),)

    def prepare(self, X, y, seed):
        return {"X": X, "k": np.asarray(NEIGHBOURS)}

    def score(self, result, arrays, reference):
        X = arrays["X"].astype(np.float64)
        checked = np.random.default_rng(0).permutation(len(X))[:CHECKED_ROWS]
        exact = cdist(X[checked], X, "sqeuclidean")
        exact = np.sort(np.partition(exact, NEIGHBOURS, axis=1)[:, :NEIGHBOURS], axis=1)
        found = np.sort(result["sqdist"][checked], axis=1)
        size = np.square(X).sum(axis=1).max()
        if not np.allclose(found, exact, rtol=1e-4, atol=1e-5 * size):
            raise WrongAnswerError("distances are not those of the nearest rows")
        return on_device(result)


class GrowthOnGPU(GrowthOfFits):
    """Fits at the defaults; `fit_s` is the time of a fit of rows that are on the device."""

    facts = ("rows", "features", "pairs", "device_mb")

    def score(self, result, arrays, reference):
        found = super().score(result, arrays, reference)
        return {**found, "device_mb": float(result["device_mb"])}


@benchmark("gpu-growth-rows-lmnn", datasets=[*map(rows_name, ROWS)], repeats=1, budget_s=300)
class LMNNOverRowsOnGPU(GrowthOnGPU):
    """LMNN on a GPU, by the number of rows, as in `growth-rows-lmnn`."""

    rivals = {OURS: Rival("on_gpu:fit", options={"name": "LMNN"})}


@benchmark("gpu-growth-rows-nca", datasets=[*map(rows_name, ROWS)], repeats=1, budget_s=300)
class NCAOverRowsOnGPU(GrowthOnGPU):
    """NCA on a GPU, by the number of rows, as in `growth-rows-nca`."""

    rivals = {OURS: Rival("on_gpu:fit", options={"name": "NCA"})}


@benchmark("gpu-growth-rows-rca", datasets=[*map(rows_name, ROWS)], repeats=1, budget_s=300)
class RCAOverRowsOnGPU(GrowthOnGPU):
    """RCA on a GPU, by the number of rows, as in `growth-rows-rca`."""

    rivals = {OURS: Rival("on_gpu:fit", options={"name": "RCA"})}
