"""How often the test behind `compare_pairs` errs over fresh items: its size and its power."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark
from benchmarks.data import PAIR_KINDS, SMOKE_ROWS
from benchmarks.verdicts import N_METHODS, Learn, projection, subset
from likewise.statistics import PairSplit

N_REPEATS, N_SPLITS = 3, 3
N_SETS, N_SMOKE_SETS = 200, 2
ENTITY = 3  # items of each entity
DIFFERENT = 5  # different pairs per item


def items_of_entities(rng: np.random.Generator, n_items: int, n_features: int, spread: float):
    """Return items around the centres of their entities; some items are noisier than others."""
    centres = spread * rng.normal(size=(n_items // ENTITY, n_features))
    noise = np.exp(0.4 * rng.normal(size=(n_items, 1)))
    return np.repeat(centres, ENTITY, axis=0) + noise * rng.normal(size=(n_items, n_features))


def judged_pairs(rng: np.random.Generator, n_items: int):
    """Return all pairs within entities, and random ones between them."""
    entity = np.arange(n_items) // ENTITY
    start = ENTITY * np.arange(n_items // ENTITY)
    within = [[i, j] for i in range(ENTITY) for j in range(i)]
    same = np.concatenate([start[:, None] + pair for pair in within])
    random = rng.integers(0, n_items, (2 * DIFFERENT * n_items, 2))
    random = random[entity[random[:, 0]] != entity[random[:, 1]]][: DIFFERENT * n_items]
    return np.concatenate([same, random]), np.arange(len(same) + len(random)) < len(same)


def within_pair_whitening(columns: NDArray) -> Learn:
    """Return the metric of the inverse covariance of differences of same pairs."""

    def learn(X, differences, rng):
        values, axes = np.linalg.eigh(np.cov(differences[:, columns].T))
        L = np.zeros((X.shape[1], len(columns)))
        L[columns] = axes / np.sqrt(values)
        return L

    return learn


def feature_subsets(rng: np.random.Generator, n_items: int):
    """All methods choose 8 of 24 features that are alike: none is better in expectation."""
    X = items_of_entities(rng, n_items, 24, 1.0)
    return X, [subset(rng.choice(24, 8, replace=False)) for _ in range(N_METHODS + 1)]


def private_noise(rng: np.random.Generator, n_items: int):
    """All methods learn a metric of the same 6 features and of 4 noise features of their own."""
    X = items_of_entities(rng, n_items, 6, 1.2)
    noise = rng.normal(size=(n_items, 4 * (N_METHODS + 1)))
    own = [np.r_[0:6, 6 + 4 * j : 10 + 4 * j] for j in range(N_METHODS + 1)]
    return np.c_[X, noise], [within_pair_whitening(columns) for columns in own]


def redrawn_projections(rng: np.random.Generator, n_items: int):
    """All methods project on 6 random directions, drawn again in every fit."""
    X = items_of_entities(rng, n_items, 20, 1.0)
    return X, [projection(6) for _ in range(N_METHODS + 1)]


def more_features(rng: np.random.Generator, n_items: int):
    """One method has all 15 features, the others 5 of these: an AUC higher by 6 points."""
    X = items_of_entities(rng, n_items, 15, 0.9)
    others = [subset(rng.choice(15, 5, replace=False)) for _ in range(N_METHODS)]
    return X, [*others, subset(np.arange(15))]


SIMULATIONS = (feature_subsets, private_noise, redrawn_projections, more_features)


def tested_pairs(X: NDArray, pairs: NDArray, same: NDArray, methods: list[Learn], seed: int, rng):
    """Return which pairs each split tests, their splits, and their distances by each method."""
    positions, splits, distances = [], [], []
    for repeat in range(N_REPEATS):
        for train, test in PairSplit(N_SPLITS, random_state=seed + repeat).split(pairs):
            left, right = X[pairs[train][same[train]]].transpose(1, 0, 2)
            ends = X[pairs[test]]
            maps = [learn(X, left - right, rng) for learn in methods]
            distances.append([np.linalg.norm((ends[:, 0] - ends[:, 1]) @ L, axis=1) for L in maps])
            splits.append(np.full(len(test), len(splits)))
            positions.append(test)
    return np.concatenate(positions), np.concatenate(splits), np.concatenate(distances, axis=1)


@benchmark("pair-verdict-errors", datasets=list(PAIR_KINDS), repeats=1, threads=1, budget_s=900)
class PairVerdictErrors(Benchmark):
    """Wrong verdicts on AUC over 200 fresh data sets: 13 methods against a baseline, 3×3 splits.

    Entities have 3 items, some noisier than others, so that pairs which share an item depend on
    each other. In the first three (300 items, 300 same and 1500 different pairs) no method is
    better than the baseline in expectation, and every claim is wrong: the choice of features that
    are alike; metrics learned from common features and noise features of their own; random
    projections, drawn again in every fit. In the last one (600 items) one method has all features
    and the others a third of them, and every set without a claim is wrong. The rival takes all
    tested pairs as independent (DeLong's variance).
    """

    rivals = {
        OURS: Rival("with_likewise:pair_verdicts"),
        "independent pairs": Rival("with_numpy:independent_pairs"),
    }
    measures = ("wrong_verdicts",)
    averaged = ("wrong_verdicts",)
    facts = ("gain", "warm_s")
    warm_below_s = 0
    targets = (
        *(Target(name, "wrong_verdicts", below=0.07) for name in list(PAIR_KINDS)[:3]),
        Target(PAIR_KINDS[3], "wrong_verdicts", below=0.10),
    )

    def prepare(self, X, y, seed):
        kind = int(X[0, 0])
        smoke = len(X) == SMOKE_ROWS
        n_items = 60 if smoke else (300, 300, 300, 600)[kind]
        sets = []
        for number in range(N_SMOKE_SETS if smoke else N_SETS):
            rng = np.random.default_rng([seed, kind, number])
            rows, methods = SIMULATIONS[kind](rng, n_items)
            pairs, same = judged_pairs(rng, n_items)
            sets.append((pairs, same, *tested_pairs(rows, pairs, same, methods, number, rng)))
        pairs, same, positions, splits, distances = zip(*sets, strict=True)
        return {
            "pairs": np.array(pairs),
            "same": np.array(same),
            "positions": np.concatenate(positions),
            "splits": np.concatenate(splits),
            "distances": np.concatenate(distances, axis=1),
            "starts": np.cumsum([0, *map(len, positions)]),
            "null": np.asarray(kind < 3),
        }

    def score(self, result, arrays, reference):
        claims = result["claims"]
        if claims.shape != arrays["same"].shape[:1]:
            raise WrongAnswerError("there must be one verdict for each data set")
        return {
            "wrong_verdicts": float(np.mean(claims if arrays["null"] else ~claims)),
            "gain": float(np.mean(result["gains"])),
        }
