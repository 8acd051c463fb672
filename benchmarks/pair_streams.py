"""Online metric learning on streams of pairs, against a plain NumPy loop."""

from __future__ import annotations

import numpy as np

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark
from benchmarks.rivals.with_numpy import kernel_pola, pair_stream

WIDTHS = (16, 64, 164, 256, 768)


class PairStream(Benchmark):
    """One pass of PALS or PA-I over a stream of pairs."""

    variant = "PALS"
    C = 1.0
    psd = "end"
    max_pairs: dict[int, int] = {}
    flops_per_pair = 4  # times d²
    facts = ("cpu_s", "peak_mb", "pairs_per_s", "active_share", "dgemm_share")

    def prepare(self, X, y, seed):
        random = np.random.default_rng(seed)
        n_pairs = min(len(X) // 2, self.max_pairs.get(X.shape[1], len(X)))
        M, b, same = self.start(X[: 2 * n_pairs], random)
        options = {"variant": self.variant, "C": self.C, "psd": self.psd}
        return {"X": X[: 2 * n_pairs], "same": same, "M": M, "b": np.asarray(b)} | {
            name: np.asarray(value) for name, value in options.items()
        }

    def start(self, X, random):
        """Return the initial M and b, and the labels of the pairs: here at random."""
        d = X.shape[1]
        return np.zeros((d, d)), 0.0, random.random(len(X) // 2) < 0.5

    def reference(self, arrays):
        return pair_stream(threads=1)(arrays)

    def score(self, result, arrays, reference):
        error = np.abs(result["M"] - reference["M"]).max() / np.abs(reference["M"]).max()
        if not error < 1e-8:
            raise WrongAnswerError(f"M differs by {error:.1e} from the reference loop")
        return {"active_share": float(result["n_updates"]) / len(arrays["same"])}

    def rates(self, measured, arrays):
        rate = len(arrays["same"]) / measured["warm_s"]
        flops = self.flops_per_pair * arrays["X"].shape[1] ** 2 * rate
        return {"pairs_per_s": rate, "dgemm_share": flops / measured["product_flops"]}


def streams(*times):
    """Return one target per number of features."""
    return tuple(
        Target(f"stream-{width}", "warm_s", times=wanted)
        for width, wanted in zip(WIDTHS, times, strict=True)
    )


DATASETS = [f"stream-{width}" for width in WIDTHS]
SINGLE = [f"{name}/float32" for name in DATASETS]
RIVALS = {
    OURS: Rival("with_likewise:pair_stream"),
    "NumPy, one by one": Rival("with_numpy:pair_stream"),
}


@benchmark("pairs-all-update", datasets=[*DATASETS, *SINGLE], threads=1)
class AllUpdate(PairStream):
    """PALS (-): every pair is an update; the constraints are applied at the end.

    `dgemm_share` counts 4d² operations per pair, as a share of this run's matrix-product rate.
    """

    rivals = RIVALS
    targets = streams(12, 12, 12, 9, 12)


@benchmark("pairs-few-update", datasets=[*DATASETS, *SINGLE], threads=1)
class FewUpdate(PairStream):
    """PA-I (-), from a model that is mostly right: few pairs are updates.

    `dgemm_share` counts 2d² operations per pair, as a share of this run's matrix-product rate.
    """

    rivals = RIVALS
    variant = "PA-I"
    C = 1e-4  # small steps: the model stays mostly right
    flops_per_pair = 2
    targets = streams(8, 8, 5, 3, 2.5)

    def start(self, X, random):
        d = X.shape[1]
        difference = X[0::2] - X[1::2]
        length2 = np.square(difference).sum(axis=1)
        # At this start a pair of the usual length is on the threshold b. Lengths of one half and
        # of twice that are right by more than the margin; every twentieth label is wrong.
        same = random.random(len(length2)) < 0.5
        wanted = np.where(same, 0.25, 4.0) * np.median(length2)
        X[1::2] = X[0::2] - difference * np.sqrt(wanted / length2)[:, None]
        wrong = random.random(len(same)) < 0.05
        return np.eye(d) * 4 / np.median(length2), 4.0, same ^ wrong


@benchmark("pairs-all-projected", datasets=DATASETS, threads=1, repeats=3)
class AllProjected(PairStream):
    """PALS (+): every pair is an update, and the constraints are applied after each."""

    rivals = RIVALS
    psd = "each"
    max_pairs = {16: 4000, 64: 2000, 164: 800, 256: 500, 768: 128}
    facts = ("cpu_s", "peak_mb", "pairs_per_s", "active_share")
    targets = streams(5, 10, 10, 10, 15)


@benchmark("pairs-all-update-2", datasets=DATASETS, threads=2)
class AllUpdateOnTwoThreads(AllUpdate):
    """As `pairs-all-update`, with two threads for all.

    Ours gives the same bits with any number of threads, so each block's products use one.
    """

    targets = ()


@benchmark("pairs-few-update-2", datasets=DATASETS, threads=2)
class FewUpdateOnTwoThreads(FewUpdate):
    """As `pairs-few-update`, with two threads for all."""

    targets = ()


EMBEDDINGS = ["stream-384", "stream-768", "stream-1536"]


@benchmark("pairs-embeddings", datasets=EMBEDDINGS, threads=1, repeats=3)
class Embeddings(AllUpdate):
    """Numbers of features as of text and image embeddings; every pair is an update."""

    targets = ()


@benchmark("pairs-embeddings-few", datasets=EMBEDDINGS, threads=1, repeats=3)
class EmbeddingsFewUpdate(FewUpdate):
    """As `pairs-embeddings`, where few pairs are updates."""

    targets = ()


@benchmark("pairs-one-by-one", datasets=["stream-64"], threads=1)
class OneByOne(PairStream):
    """PALS (-), one pair at a time: `learn_pair`."""

    rivals = {
        OURS: Rival("with_likewise:pairs_one_by_one"),
        "NumPy, one by one": Rival("with_numpy:pair_stream"),
    }
    max_pairs = {64: 20_000}
    facts = ("cpu_s", "peak_mb", "pairs_per_s", "active_share")
    targets = (Target("stream-64", "warm_s", times=3),)


@benchmark("kernel-pola", datasets=["digits"], threads=1, repeats=1)
class KernelPOLA(Benchmark):
    """POLA with the kernel exp(-γ‖x - z‖²) on a stream of 2000 pairs of handwritten digits.

    The rival rebuilds its Gram matrix at every update.
    """

    rivals = {
        OURS: Rival("with_likewise:kernel_pola"),
        "NumPy, Gram matrix rebuilt": Rival("with_numpy:kernel_pola"),
    }
    facts = ("cpu_s", "peak_mb", "n_updates")
    targets = (Target("digits", "warm_s", times=10),)

    def prepare(self, X, y, seed):
        random = np.random.default_rng(seed)
        X = X / np.sqrt(np.square(X - X.mean(axis=0)).sum(axis=1).mean())
        X, y = X[: len(X) // 2 * 2], y[: len(X) // 2 * 2]
        pairs = random.integers(0, len(X), (4000, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]][: min(2000, 2 * len(X))]
        return {
            "X": X,
            "pairs": pairs,
            "same": y[pairs[:, 0]] == y[pairs[:, 1]],
            "gamma": np.asarray(0.5),
            "A": X[0::2],
            "B": X[1::2],
        }

    def reference(self, arrays):
        return kernel_pola(threads=1)(arrays)

    def score(self, result, arrays, reference):
        error = np.abs(result["distance"] - reference["distance"]).max()
        if not error < 1e-6 * reference["distance"].max():
            raise WrongAnswerError(f"distances differ by {error:.1e} from the reference loop")
        return {"n_updates": int(result["n_updates"])}
