"""Whether the probabilities of pairs of unseen rows, or people, are those that come true."""

from __future__ import annotations

import numpy as np

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark
from benchmarks.data import SMOKE_ROWS

N_TESTED = 20_000  # pairs of each split, half of them same
# Rows, or with classes as subjects people, that are learned from, and the number of splits.
SETTINGS = {1797: (1200, False, 20), 400: (30, True, 30), SMOKE_ROWS: (35, False, 2)}


def balanced_errors(probability, same, n_bins=10):
    """Return expected calibration error and Brier skill where half of the pairs are same."""
    weights = np.where(same, 0.5 / same.sum(), 0.5 / (~same).sum())
    bins = np.minimum((probability * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(bins, weights * (probability - same), minlength=n_bins)
    brier = (weights * (probability - same) ** 2).sum()
    return float(np.abs(gaps).sum()), float(1 - brier / 0.25)


@benchmark(
    "pair-calibration",
    datasets=["digits", "olivetti-dlib"],
    repeats=1,
    threads=1,
    budget_s=600,
)
class PairCalibration(Benchmark):
    """Probabilities of pairs of rows (digits, 20 splits) or people (faces, 30 splits) not seen.

    Ours is `PairClassifier` with `RCA`; further rows have the Euclidean distance and `FDA`.
    `calibration` is the expected calibration error over the pairs of all splits, at balanced
    prevalence, and `calibration_mean` the mean of those of single splits, of which the share
    `above_002` is above 0.02. `brier_loss` is 1 less the Brier skill.
    """

    rivals = {
        OURS: Rival("with_likewise_pairs:pair_probabilities", options={"metric": "RCA"}),
        "Euclidean": Rival("with_likewise_pairs:pair_probabilities", ours=True),
        "FDA": Rival(
            "with_likewise_pairs:pair_probabilities", options={"metric": "FDA"}, ours=True
        ),
    }
    measures = ("calibration", "brier_loss")
    averaged = measures
    facts = ("calibration_mean", "above_002", "warm_s")
    warm_below_s = 0
    targets = tuple(
        Target("*", measure, below=below + 1e-9, row=row)
        for row in rivals
        for measure, below in (("calibration", 0.02), ("brier_loss", 0.7))
    )

    def prepare(self, X, y, seed):
        n_learned, grouped, n_splits = SETTINGS[len(X)]
        units = y.astype(np.int64) if grouped else np.arange(len(X))
        learned = np.zeros((n_splits, len(X)), dtype=bool)
        tested = []
        for split in range(n_splits):
            rng = np.random.default_rng([seed, split])
            learned[split] = np.isin(units, rng.permutation(units.max() + 1)[:n_learned])
            rows = np.flatnonzero(~learned[split])
            pairs = rows[np.stack(np.triu_indices(len(rows), 1), axis=1)]
            same = y[pairs[:, 0]] == y[pairs[:, 1]]
            half = min(N_TESTED // 2, same.sum(), (~same).sum())
            drawn = [rng.permutation(np.flatnonzero(kind)) for kind in (same, ~same)]
            tested.append(np.concatenate([pairs[numbers[:half]] for numbers in drawn]))
        fewest = min(map(len, tested)) // 2
        tested = [np.concatenate([one[:fewest], one[-fewest:]]) for one in tested]
        return {
            "X": X,
            "y": y,
            "learned": learned,
            "tested": np.array(tested),
            "grouped": np.asarray(grouped),
        }

    def score(self, result, arrays, reference):
        found, tested = result["probabilities"], arrays["tested"]
        if found.shape != tested.shape[:2] or ((found < 0) | (found > 1)).any():
            raise WrongAnswerError("there must be one probability for each tested pair")
        labels = arrays["y"][tested]
        same = labels[..., 0] == labels[..., 1]
        calibration, skill = balanced_errors(found.ravel(), same.ravel())
        of_splits = np.array([balanced_errors(*one)[0] for one in zip(found, same, strict=True)])
        return {
            "calibration": calibration,
            "brier_loss": 1 - skill,
            "calibration_mean": float(of_splits.mean()),
            "above_002": float((of_splits > 0.02).mean()),
        }
