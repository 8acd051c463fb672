"""SVM-style metrics: against LIBSVM on the same problem, and the times of the larger fits."""

from __future__ import annotations

import numpy as np

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark
from likewise import DoubletSVM
from likewise.constraints import doublets


@benchmark(
    "doublet-svm",
    datasets=["standard-segment", "standard-satimage", "standard-letter-16000"],
    repeats=3,
    threads=2,
    budget_s=360,
)
class AgainstLibsvm(Benchmark):
    """The SVM of doublet-SVM, C = 1, two pairs of each kind per row, to 1e-4 of the best dual.

    Features are standardised and scaled so that the median distance of same pairs is 1. LIBSVM has
    a cache of 2 GB; the search for the pairs is not timed.
    """

    rivals = {
        OURS: Rival("with_likewise:doublet_svm"),
        "LIBSVM (scikit-learn)": Rival("with_sklearn:doublet_svm"),
    }
    facts = ("cpu_s", "peak_mb", "dual_error")
    targets = (
        Target("standard-segment", "warm_s", times=3),
        Target("standard-satimage", "warm_s", times=20),
        Target("standard-letter-16000", "warm_s", times=50),
    )

    def prepare(self, X, y, seed):
        index, same = doublets(X, y, 2, 2)
        sqdist = np.square(X[index[:, 0]] - X[index[:, 1]]).sum(axis=1)
        return {"X": X / np.sqrt(np.median(sqdist[same])), "pairs": index, "same": same}

    def reference(self, arrays):
        model = DoubletSVM(psd=False, scale=1.0, tol=2e-6)
        return float(model.fit_pairs(*arrays.values()).history_["dual"].max())

    def score(self, result, arrays, reference):
        V = arrays["X"][arrays["pairs"][:, 0]] - arrays["X"][arrays["pairs"][:, 1]]
        sign = np.where(arrays["same"], -1.0, 1.0)
        multipliers = result["multipliers"]
        M = (V * (multipliers * sign)[:, None]).T @ V
        if abs(multipliers @ sign) > 1e-6 * multipliers.sum() or multipliers.min() < 0:
            raise WrongAnswerError("the multipliers are infeasible")
        dual = multipliers.sum() - np.square(M).sum() / 2
        error = 1 - dual / reference
        if error > 1e-4:
            raise WrongAnswerError(f"the dual objective is {error:.1e} below the best")
        return {"dual_error": error}


class TimedFit(Benchmark):
    """A fit to a given duality gap."""

    method = ""
    options: dict = {}
    gap = 1e-3
    facts = ("cpu_s", "peak_mb", "gap", "n_iter")

    def prepare(self, X, y, seed):
        return {"X": X, "y": y}

    def score(self, result, arrays, reference):
        if not result["gap"] <= self.gap:
            raise WrongAnswerError(f"the duality gap is {result['gap']:.1e}")
        return {"gap": float(result["gap"]), "n_iter": float(result["n_iter"])}


def fit(name, **options):
    return Rival("with_likewise:margin_fit", options={"name": name, **options}, ours=True)


@benchmark("triplet-svm-fit", datasets=["standard-letter-16000"], repeats=3)
class TripletFit(TimedFit):
    """TripletSVM on 64000 triplets to a duality gap of 1e-3, with the search for the triplets."""

    rivals = {OURS: fit("TripletSVM")}
    targets = (Target("standard-letter-16000", "warm_s", below=5),)


@benchmark("pcml-fit", datasets=["standard-pendigits"], repeats=3)
class PCMLFit(TimedFit):
    """PCML on pendigits to a duality gap of 1e-3, k = 1, 2 and 3, with the search for the pairs."""

    rivals = {
        OURS: fit("PCML", n_neighbors=1),
        "likewise, k = 2": fit("PCML", n_neighbors=2),
        "likewise, k = 3": fit("PCML", n_neighbors=3),
    }
    targets = tuple(Target("standard-pendigits", "warm_s", below=3, row=row) for row in rivals)


@benchmark("ncml-fit", datasets=["standard-pendigits"], repeats=1, budget_s=200)
class NCMLFit(TimedFit):
    """NCML on pendigits to a duality gap of 1e-3, k = 1, 2 and 3, with the search for the pairs."""

    rivals = {
        OURS: fit("NCML", n_neighbors=1),
        "likewise, k = 2": fit("NCML", n_neighbors=2),
        "likewise, k = 3": fit("NCML", n_neighbors=3),
    }
    targets = tuple(Target("standard-pendigits", "warm_s", below=20, row=row) for row in rivals)


@benchmark("pcml-fit-large", datasets=["mnist-pca-100"], repeats=1, budget_s=280)
class LargePCMLFit(TimedFit):
    """PCML on 60000 rows of 100 features (120000 pairs), to a duality gap of 1e-2."""

    gap = 1e-2
    rivals = {OURS: fit("PCML", tol=1e-2)}
    targets = (
        Target("mnist-pca-100", "warm_s", below=120),
        Target("mnist-pca-100", "peak_mb", below=2000),
    )
