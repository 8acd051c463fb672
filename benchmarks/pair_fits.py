"""Fits to 10,000 pairs of 50 features, now and in an older checkout."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark

N_PAIRS = 10_000
DATASETS = ["mnist-pca-50", "gaussians-50"]


class PairFit(Benchmark):
    """A fit at the defaults to 10,000 random pairs, half of them similar.

    `before` is an older checkout with an environment of its own, see `benchmarks/environments.py`.
    `order_error` is the share of similar pairs that are farther apart than a different one, over
    all such combinations, computed here from the returned metric.
    """

    facts = ("cpu_s", "peak_mb", "order_error")

    def prepare(self, X, y, seed):
        from likewise.constraints import random_pairs

        pairs, same = random_pairs(y, N_PAIRS, random_state=seed)
        distinct = (X[pairs[:, 0]] != X[pairs[:, 1]]).any(axis=1)
        return {"X": X, "pairs": pairs[distinct], "same": same[distinct]}

    def score(self, result, arrays, reference):
        first, second = arrays["pairs"].T
        mapped = (arrays["X"][first] - arrays["X"][second]) @ result["L"].T
        distance = np.linalg.norm(mapped, axis=1)
        if not np.isfinite(distance).all():
            raise WrongAnswerError("some distances are not finite")
        return {"order_error": 1 - float(roc_auc_score(~arrays["same"], distance))}


class CertifiedPairFit(PairFit):
    """The same, to a duality gap of 1e-3."""

    facts = ("cpu_s", "peak_mb", "order_error", "gap")

    def score(self, result, arrays, reference):
        gap = float(result["gap"])
        if not gap <= 1e-3:
            raise WrongAnswerError(f"the duality gap is {gap:.1e}")
        return {**super().score(result, arrays, reference), "gap": gap}


def now_and_before(name):
    options = {"name": name}
    return {
        OURS: Rival("with_likewise:fit_pairs", options=options),
        "before": Rival("with_likewise:fit_pairs", "before", options=options),
    }


@benchmark("pairs-fit-pcml", datasets=DATASETS, repeats=3)
class PCMLPairs(CertifiedPairFit):
    """PCML at the defaults on 10,000 random pairs, half of them similar."""

    rivals = now_and_before("PCML")
    targets = tuple(Target(dataset, "warm_s", times=4) for dataset in DATASETS)


@benchmark("pairs-fit-ldml", datasets=DATASETS, repeats=3)
class LDMLPairs(CertifiedPairFit):
    """LDML at the defaults on 10,000 random pairs, half of them similar."""

    rivals = now_and_before("LDML")
    targets = tuple(Target(dataset, "warm_s", times=4) for dataset in DATASETS)


@benchmark("pairs-fit-ncml", datasets=DATASETS, repeats=3)
class NCMLPairs(CertifiedPairFit):
    """NCML at the defaults on 10,000 random pairs, half of them similar."""

    rivals = {OURS: Rival("with_likewise:fit_pairs", options={"name": "NCML"})}
    targets = tuple(Target(dataset, "warm_s", below=60) for dataset in DATASETS)


@benchmark("pairs-fit-itml", datasets=DATASETS, repeats=1, budget_s=200)
class ITMLPairs(PairFit):
    """ITML at the defaults on 10,000 random pairs, half of them similar."""

    rivals = now_and_before("ITML")
    targets = tuple(Target(dataset, "warm_s", below=5) for dataset in DATASETS)


@benchmark("pairs-fit-pola", datasets=DATASETS, repeats=1, budget_s=200)
class POLAPairs(PairFit):
    """POLA at the defaults on 10,000 random pairs, half of them similar."""

    rivals = now_and_before("POLA")
    targets = tuple(Target(dataset, "warm_s", times=4) for dataset in DATASETS)
