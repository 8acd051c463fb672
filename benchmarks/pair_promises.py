"""How often a promised false match rate is kept on items that nothing was learned from."""

from __future__ import annotations

import numpy as np

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark
from benchmarks.data import SMOKE_ROWS

N_REPEATS, N_SMOKE_REPEATS = 100, 2
N_REFERENCE_PAIRS = 520_000  # of which about 500,000 are different, with 26 classes
# The target, the units that are learned from (subjects, items or a share of items), and whether
# rows are scaled to length 1.
SETTINGS = {
    "olivetti": (0.05, "subjects", 30, False),
    "olivetti-dlib": (0.05, "subjects", 30, False),
    "digits": (0.01, "items", 900, False),
    "20news-minilm": (0.01, "items", 1000, True),
    "er-amazon-google-half": (0.01, "items", 1681, True),
    "er-dblp-acm-half": (0.01, "items", 2340, True),
    "er-dblp-acm-three-quarters": (0.01, "items", 3510, True),
}


def distances_of(X, pairs):
    """Return Euclidean distances in blocks."""
    found = np.empty(len(pairs), dtype=np.float32)
    for start in range(0, len(pairs), 50_000):
        block = pairs[start : start + 50_000]
        found[start : start + len(block)] = np.linalg.norm(X[block[:, 0]] - X[block[:, 1]], axis=1)
    return found


def promises_kept(rates, n_repeats, target):
    """Return how often a rate exceeds the target, how many are missing, and the median rate."""
    return {
        "broken": float((rates > target).mean()) if len(rates) else 0.0,
        "refused": 1 - len(rates) / n_repeats,
        "rate": float(np.median(rates) / target) if len(rates) else 0.0,
    }


@benchmark(
    "pair-promises",
    datasets=list(SETTINGS),
    smoke=["digits"],
    repeats=1,
    threads=1,
    budget_s=1800,
)
class PairPromises(Benchmark):
    """Thresholds for a false match rate of 5 % (faces) or 1 %, each from 100 random parts.

    `broken`: how often the rate is above the target, among those not `refused`. The rate is that of
    the items (of the faces, the people) outside the part, pooled over all repeats. `rate` is its
    median over the target. The distance is Euclidean, for texts and records between rows of length
    1. The pairs of *er-amazon-google* and *er-dblp-acm*, from half or three quarters of the items,
    are those that were judged. Rivals: Clopper and Pearson's bound as if the pairs were
    independent, and the largest threshold whose observed rate is at most the target.
    """

    rivals = {
        OURS: Rival("with_likewise_pairs:promised_thresholds"),
        "Clopper–Pearson of all pairs": Rival("with_numpy:thresholds_of_independent_pairs"),
        "observed rate": Rival("with_numpy:thresholds_of_observed_rates"),
    }
    measures = ("broken",)
    averaged = ("broken",)
    facts = ("refused", "rate", "warm_s")
    warm_below_s = 0
    targets = tuple(Target(dataset, "broken", below=0.11 + 1e-9) for dataset in SETTINGS) + tuple(
        Target(dataset, "refused", below=0.10 + 1e-9) for dataset in SETTINGS
    )

    def prepare(self, X, y, seed):
        smoke = len(X) == SMOKE_ROWS
        name = "digits" if smoke else self._name_of(X, y)
        target, unit, n_learned, scaled = SETTINGS[name]
        if scaled:
            X = X / np.linalg.norm(X, axis=1, keepdims=True)
        if y.ndim == 2:
            pairs, same = y[:, :2], y[:, 2].astype(bool)
        else:
            pairs = np.stack(np.triu_indices(len(X), 1), axis=1)
            same = y[pairs[:, 0]] == y[pairs[:, 1]]
        units = y.astype(np.int64) if unit == "subjects" else np.arange(len(X))
        if smoke:
            target, n_learned = 0.2, 40
        n_repeats = N_SMOKE_REPEATS if smoke else N_REPEATS
        learned = np.zeros((n_repeats, len(X)), dtype=bool)
        for repeat in range(n_repeats):
            rng = np.random.default_rng([seed, repeat])
            learned[repeat] = np.isin(units, rng.permutation(units.max() + 1)[:n_learned])
        return {
            "distances": distances_of(X, pairs),
            "pairs": pairs.astype(np.int32),
            "same": same,
            "units": units,
            "grouped": np.asarray(unit == "subjects"),
            "learned": learned,
            "target": np.asarray(target),
        }

    @staticmethod
    def _name_of(X, y):
        shapes = {(400, 4096): "olivetti", (400, 128): "olivetti-dlib", (1797, 64): "digits"}
        if y.ndim == 2:
            return next(name for name, setting in SETTINGS.items() if setting[2] == y[0, 3])
        return shapes.get(X.shape, "20news-minilm")

    def score(self, result, arrays, reference):
        thresholds, learned = result["thresholds"], arrays["learned"]
        if thresholds.shape != (len(learned),):
            raise WrongAnswerError("there must be one threshold for each repeat")
        different = ~arrays["same"]
        first, second = arrays["pairs"][different].T
        # How often both items of a pair were outside the part.
        weights = np.zeros(len(first))
        for part in ~learned:
            weights += part[first] & part[second]
        distances = arrays["distances"][different]
        kept = thresholds[np.isfinite(thresholds)]
        rates = np.array([weights[distances <= t].sum() / weights.sum() for t in kept])
        return promises_kept(rates, len(thresholds), float(arrays["target"]))


@benchmark(
    "pair-promises-learned",
    datasets=["letter"],
    repeats=1,
    threads=1,
    budget_s=1800,
)
class LearnedPairPromises(Benchmark):
    """A false match rate of 1 %, promised by `PairClassifier` with a learned metric, `RCA`.

    From each of 100 random parts of 1200 rows, of which half are for the metric and half for the
    threshold. `broken`: how often the rate is above the target, among those not `refused`. The rate
    is that of 500,000 random pairs of different classes outside the part; `rate` is its median over
    the target. The rival learns the metric from all 1200 rows, and takes the largest threshold
    whose observed rate on pairs of the same rows is at most the target.
    """

    rivals = {
        OURS: Rival("with_likewise_pairs:thresholds_of_learned_metrics"),
        "observed rate of training pairs": Rival(
            "with_likewise_pairs:thresholds_of_learned_metrics", options={"held_out": False}
        ),
    }
    measures = ("broken",)
    averaged = ("broken",)
    facts = ("refused", "rate", "warm_s")
    warm_below_s = 0
    targets = (
        Target("letter", "broken", below=0.11 + 1e-9),
        Target("letter", "refused", below=0.10 + 1e-9),
    )

    def prepare(self, X, y, seed):
        smoke = len(X) == SMOKE_ROWS
        n_repeats, n_learned, target = (
            (N_SMOKE_REPEATS, 40, 0.3) if smoke else (N_REPEATS, 1200, 0.01)
        )
        learned = np.zeros((n_repeats, len(X)), dtype=bool)
        for repeat in range(n_repeats):
            chosen = np.random.default_rng([seed, repeat]).permutation(len(X))[:n_learned]
            learned[repeat, chosen] = True
        codes = np.unique(y, return_inverse=True)[1]
        return {"X": X, "y": codes, "learned": learned, "target": np.asarray(target)}

    def score(self, result, arrays, reference):
        X, y, learned = arrays["X"], arrays["y"], arrays["learned"]
        thresholds = result["thresholds"]
        if thresholds.shape != (len(learned),):
            raise WrongAnswerError("there must be one threshold for each repeat")
        rates = []
        for repeat in np.flatnonzero(np.isfinite(thresholds)):
            rng = np.random.default_rng([1, repeat])
            first, second = rng.choice(np.flatnonzero(~learned[repeat]), (2, N_REFERENCE_PAIRS))
            different = y[first] != y[second]
            mapped = X @ result["components"][repeat].T
            distances = np.linalg.norm(mapped[first[different]] - mapped[second[different]], axis=1)
            rates.append((distances <= thresholds[repeat]).mean())
        return promises_kept(np.array(rates), len(thresholds), float(arrays["target"]))
