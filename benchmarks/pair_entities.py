"""F1 of decisions about records: entities from pairs, against cosine with a tuned threshold."""

from __future__ import annotations

import numpy as np
import scipy.stats

from benchmarks.base import OURS, Benchmark, Rival, WrongAnswerError, benchmark
from benchmarks.data import SMOKE_ROWS
from likewise.statistics import PairSplit, dyadic_variance

N_SPLITS, TEST_SIZE = 2, 0.4
N_JUDGED, N_SMOKE_JUDGED = 2000, 150


def f1_and_influence(decided, same):
    """Return F1, and the influence of each pair on it, summed over the splits."""
    hits, entries = 2.0 * (decided & same), decided.astype(float) + same
    f1 = hits.sum() / entries.sum()
    return f1, (hits - f1 * entries).sum(axis=0) / entries.sum()


def threshold_of_best_f1(distances, same):
    """Return the distance up to which accepted pairs have the highest F1."""
    order = np.argsort(distances)
    right = np.cumsum(same[order])
    f1 = 2 * right / (np.arange(1, len(same) + 1) + same.sum())
    return distances[order][f1.argmax()]


def decide(distances, arrays):
    """Decide about the tested pairs of each split by the threshold of its judged pairs."""
    decided = np.zeros_like(arrays["tested"])
    for split, (of_pairs, judged) in enumerate(zip(distances, arrays["judged"], strict=True)):
        threshold = threshold_of_best_f1(of_pairs[judged], arrays["same"][judged])
        decided[split] = arrays["tested"][split] & (of_pairs <= threshold)
    return decided


def standard_error(influence, pairs):
    """Return that over draws of items, and the factor for an interval of 95 %."""
    found = dyadic_variance(influence, pairs)
    return found.variance**0.5, scipy.stats.t.ppf(0.975, found.degrees_of_freedom)


@benchmark(
    "pair-entities",
    datasets=["judged-products", "judged-papers"],
    repeats=1,
    threads=2,
    budget_s=600,
)
class PairEntities(Benchmark):
    """Records of products (er_amazon_google) and papers (er_dblp_acm), split by record.

    From 2000 judged pairs, decisions about the pairs of other records, in two splits. Ours:
    `PairClassifier(RCA(), "accuracy")`, whose decisions `cluster_pairs` makes entities of. `LDML`
    and the adapter, which are ours too, and cosine have the threshold of the highest F1 on the
    judged pairs. `error` is 1 - F1, `margin` half of its 95 % interval over draws of records;
    `gain` is the difference of F1 to cosine, with its own margin.
    """

    rivals = {
        OURS: Rival("with_likewise_pairs:entities"),
        "LDML": Rival("with_likewise_pairs:learned_distances", ours=True),
        "adapter": Rival(
            "with_likewise_pairs:learned_distances", options={"adapted": True}, ours=True
        ),
        "cosine": Rival("with_numpy:cosine_distances"),
    }
    measures = ("error",)
    averaged = ("error",)
    facts = ("f1", "margin", "gain", "gain_margin", "error_se", "warm_s")
    warm_below_s = 0

    def prepare(self, X, y, seed):
        n_judged = N_JUDGED
        if len(X) == SMOKE_ROWS:
            pairs = np.stack(np.triu_indices(SMOKE_ROWS, 1), axis=1)
            same, n_judged = y[pairs[:, 0]] == y[pairs[:, 1]], N_SMOKE_JUDGED
        else:
            pairs, same = y[:, :2], y[:, 2].astype(bool)
        judged = np.zeros((N_SPLITS, len(pairs)), dtype=bool)
        tested = judged.copy()
        splits = PairSplit(N_SPLITS, test_size=TEST_SIZE, random_state=seed).split(pairs)
        for number, (train, test) in enumerate(splits):
            judged[number, np.random.default_rng(number).permutation(train)[:n_judged]] = True
            tested[number, test] = True
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        return {"X": unit, "pairs": pairs, "same": same, "judged": judged, "tested": tested}

    def reference(self, arrays):
        first, second = arrays["pairs"].T
        cosine = 1 - (arrays["X"][first] * arrays["X"][second]).sum(axis=1)
        decided = decide([cosine] * N_SPLITS, arrays)
        return f1_and_influence(decided, arrays["tested"] & arrays["same"])

    def score(self, result, arrays, reference):
        tested = arrays["tested"]
        if "distances" in result and result["distances"].shape != tested.shape:
            raise WrongAnswerError("there must be one distance for each pair and split")
        decided = result["decided"] if "decided" in result else decide(result["distances"], arrays)
        if decided.shape != tested.shape or (decided & ~tested).any():
            raise WrongAnswerError("there must be one decision for each tested pair")
        f1, influence = f1_and_influence(decided, tested & arrays["same"])
        error, factor = standard_error(influence, arrays["pairs"])
        found = {"f1": f1, "error": 1 - f1, "error_se": error, "margin": factor * error}
        change = influence - reference[1]
        gain_error, factor = standard_error(change, arrays["pairs"])
        return found | {"gain": f1 - reference[0], "gain_margin": factor * gain_error}
