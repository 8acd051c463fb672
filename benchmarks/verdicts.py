"""How often the test behind `compare` errs over fresh data sets: its size and its power."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark
from benchmarks.data import SMOKE_ROWS
from likewise.statistics import stratified_folds

N_METHODS = 13
N_REPEATS, N_FOLDS, N_NEIGHBORS = 2, 5, 3
N_SETS, N_SMOKE_SETS = 300, 3

# A method is a function of the training rows, their labels and a generator, to a map of rows.
Learn = Callable[[NDArray, NDArray, np.random.Generator], NDArray]


def two_classes(rng: np.random.Generator, n_rows: int, n_features: int, shift: float):
    """Return two Gaussian classes whose means differ by `shift` in every feature."""
    y = rng.permutation(np.arange(n_rows) % 2)
    return rng.normal(size=(n_rows, n_features)) + shift * y[:, None], y


def subset(columns: NDArray) -> Learn:
    """Return a fixed choice of features."""
    return lambda X, y, rng: np.eye(X.shape[1])[:, columns]


def projection(n_components: int) -> Learn:
    """Return random directions, drawn again in every fit."""
    return lambda X, y, rng: rng.normal(size=(X.shape[1], n_components))


def within_class_whitening(columns: NDArray) -> Learn:
    """Return the metric of the inverse within-class covariance of some features."""

    def learn(X, y, rng):
        rows = X[:, columns]
        centred = np.concatenate([rows[y == label] - rows[y == label].mean(0) for label in (0, 1)])
        values, axes = np.linalg.eigh(centred.T @ centred / len(rows))
        L = np.zeros((X.shape[1], len(columns)))
        L[columns] = axes / np.sqrt(values)
        return L

    return learn


def feature_subsets(rng: np.random.Generator, n_rows: int):
    """All methods choose 8 of 24 features that are alike: none is better in expectation."""
    X, y = two_classes(rng, n_rows, 24, 0.55)
    return X, y, [subset(rng.choice(24, 8, replace=False)) for _ in range(N_METHODS + 1)]


def private_noise(rng: np.random.Generator, n_rows: int):
    """All methods learn a metric of the same 6 features and of 4 noise features of their own."""
    X, y = two_classes(rng, n_rows, 6, 0.7)
    noise = rng.normal(size=(n_rows, 4 * (N_METHODS + 1)))
    own = [np.r_[0:6, 6 + 4 * j : 10 + 4 * j] for j in range(N_METHODS + 1)]
    return np.c_[X, noise], y, [within_class_whitening(columns) for columns in own]


def redrawn_projections(rng: np.random.Generator, n_rows: int):
    """All methods project on 6 random directions, drawn again in every fit."""
    X, y = two_classes(rng, n_rows, 20, 0.5)
    return X, y, [projection(6) for _ in range(N_METHODS + 1)]


def eight_points(rng: np.random.Generator, n_rows: int):
    """One method has all 15 features, the others 8 of these: an error lower by 8 points."""
    X, y = two_classes(rng, n_rows, 15, 0.8)
    others = [subset(rng.choice(15, 8, replace=False)) for _ in range(N_METHODS)]
    return X, y, [*others, subset(np.arange(15))]


KINDS = {
    "feature-subsets": (feature_subsets, 300),
    "private-noise": (private_noise, 300),
    "redrawn-projections": (redrawn_projections, 300),
    "eight-points": (eight_points, 850),
}


def wrong_rows(X: NDArray, y: NDArray, methods: list[Learn], rng: np.random.Generator):
    """Return which rows each method gets wrong in each repeat, and the rows' folds."""
    folds = np.array(
        [stratified_folds(y, N_FOLDS, random_state=rng) for _ in range(N_REPEATS)], dtype=np.int8
    )
    wrong = np.empty((N_REPEATS, len(y), len(methods)), dtype=bool)
    for repeat, fold in np.ndindex(N_REPEATS, N_FOLDS):
        test = folds[repeat] == fold
        for j, learn in enumerate(methods):
            L = learn(X[~test], y[~test], rng)
            train, tested = X[~test] @ L, X[test] @ L
            distance = (train**2).sum(1) - 2 * tested @ train.T
            nearest = np.argpartition(distance, N_NEIGHBORS, axis=1)[:, :N_NEIGHBORS]
            wrong[repeat, test, j] = (y[~test][nearest].mean(axis=1) > 0.5) != y[test]
    return wrong, folds


@benchmark("verdict-errors", datasets=list(KINDS), repeats=1, threads=1, budget_s=900)
class VerdictErrors(Benchmark):
    """Wrong verdicts over 300 fresh data sets: 13 methods against a baseline, 3-NN, 2×5 folds.

    In the first three (300 rows each) no method is better than the baseline in expectation: the
    choice of features that are alike; metrics learned from common features and noise features of
    their own; random projections, drawn again in every fit. Every claim is wrong. In the last one
    (850 rows) one method has an error lower by 8 points, and every set without a claim is wrong.
    `row_variance` is the variance of a row's difference to the best method, averaged over repeats.
    Rivals: sign flips of rows that take their variance as it is, and Nadeau and Bengio's corrected
    t-test over the folds with Bonferroni's factor.
    """

    rivals = {
        OURS: Rival("with_likewise:verdicts"),
        "sign flips of rows": Rival("with_numpy:row_sign_flips"),
        "corrected t-test": Rival("with_numpy:corrected_t_tests"),
    }
    measures = ("wrong_verdicts",)
    averaged = ("wrong_verdicts",)
    facts = ("gain", "row_variance", "warm_s")
    warm_below_s = 0
    targets = (
        *(Target(name, "wrong_verdicts", below=0.07) for name in list(KINDS)[:3]),
        Target("eight-points", "wrong_verdicts", below=0.10),
    )

    def prepare(self, X, y, seed):
        kind = int(X[0, 0])
        simulate, n_rows = list(KINDS.values())[kind]
        smoke = len(X) == SMOKE_ROWS
        outcomes = []
        for number in range(N_SMOKE_SETS if smoke else N_SETS):
            rng = np.random.default_rng([seed, kind, number])
            rows, labels, methods = simulate(rng, SMOKE_ROWS if smoke else n_rows)
            outcomes.append(wrong_rows(rows, labels, methods, rng))
        wrong, folds = map(np.array, zip(*outcomes, strict=True))
        return {"wrong": wrong, "folds": folds, "null": np.asarray(kind < 3)}

    def score(self, result, arrays, reference):
        claims, wrong = result["claims"], arrays["wrong"]
        if claims.shape != wrong.shape[:1]:
            raise WrongAnswerError("there must be one verdict for each data set")
        difference = wrong[..., 0].mean(axis=1) - wrong[..., -1].mean(axis=1)
        return {
            "wrong_verdicts": float(np.mean(claims if arrays["null"] else ~claims)),
            "gain": float(difference.mean()),
            "row_variance": float(np.mean(difference.var(axis=1))),
        }
