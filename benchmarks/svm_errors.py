"""Errors of the SVM-style metrics on the data of the chapter's Tables 2.2 and 2.4."""

from __future__ import annotations

import numpy as np

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark
from benchmarks.data import SMOKE_ROWS

# Number of rows → number of training rows, where the data come in two parts.
N_TRAIN = {10992: 7494, 9298: 7291, 70000: 60000, 6435: 4435, 267: 80, 20000: 16000}
FOLDS = 10
TRIPLETS, NCML, EUCLIDEAN = "TripletSVM", "NCML", "Euclidean"


def chosen(cone, components=None, **grid):
    grid = {"standardise": [False], **grid}
    options = {"cone": cone, "grid": grid, "components": components}
    return Rival("chosen_metrics:errors", options=options, ours=cone is not None)


def not_above(dataset, percent, n_tests, row=OURS):
    """Return the target of the chapter's error, plus at most one standard error."""
    error = percent / 100
    return Target(dataset, "error", below=error + (error * (1 - error) / n_tests) ** 0.5, row=row)


class ChosenErrors(Benchmark):
    measures = ("error",)
    averaged = ("error",)
    facts = ("error_se", "warm_s", "peak_mb")
    warm_below_s = 0

    def prepare(self, X, y, seed):
        _, y = np.unique(y, return_inverse=True)
        n_train = N_TRAIN.get(len(X))
        if n_train is None:
            # Stratified folds.
            order = np.random.default_rng(seed).permutation(len(X))
            order = order[np.argsort(y[order], kind="stable")]
            fold = np.empty(len(X), dtype=np.int64)
            fold[order] = np.arange(len(X)) % (2 if len(X) == SMOKE_ROWS else FOLDS)
        else:
            fold = np.where(np.arange(len(X)) < n_train, -1, 0)
        return {"X": X, "y": y, "fold": fold}

    def score(self, result, arrays, reference):
        tested = arrays["fold"] >= 0
        if result["labels"].shape != arrays["y"].shape:
            raise WrongAnswerError("the number of labels is not that of the rows")
        error = float(np.mean((result["labels"] != arrays["y"])[tested]))
        return {"error": error, "error_se": (error * (1 - error) / tested.sum()) ** 0.5}


UCI = {
    OURS: chosen(
        "symmetric",
        constraints=["doublets"],
        count=[1, 3],
        C=[1e-4, 1e-2, 1.0],
        standardise=[False, True],
    ),
    TRIPLETS: chosen(
        "symmetric",
        constraints=["triplets"],
        count=[1, 3],
        C=[1e-5, 1e-3, 1e-1],
        standardise=[False, True],
    ),
    EUCLIDEAN: chosen(None, standardise=[False, True]),
}


@benchmark(
    "svm-errors-uci",
    datasets=[
        "parkinsons",
        "sonar",
        "segment",
        "breast-tissue",
        "ilpd",
        "transfusion",
        "cardiotocography",
        "satimage-parts",
        "spectf-parts",
        "letter",
    ],
    repeats=1,
    threads=2,
    budget_s=280,
)
class UCIErrors(ChosenErrors):
    """1-NN errors of DoubletSVM (ours) and TripletSVM on the data of Table 2.4.

    The first seven in one run of 10 folds (the chapter: 10 runs), the others on their test parts.
    Original or standardised features, 1 or 3 neighbours of both kinds and C are chosen in 3 inner
    folds of at most 1000 training rows; the final fit has all of these. Targets are the chapter's
    errors plus one standard error. In %, DoubletSVM / TripletSVM: parkinsons 5.68
    / 7.89, sonar 13.07 / 14.29, segment 2.42 / 2.29, breast tissue 38.37 / 33.37, ilpd 32.09 /
    35.16, transfusion 29.47 / 34.37, cardiotocography 20.71 / 19.34, satimage 10.80 / 10.75, spectf
    27.27 / 33.69, letter 2.47 / 2.77. On transfusion all settings that were tried (five
    scalings, 1 to 3 neighbours, C of 1e-3 and 1) give 31 to 34 %, as does the Euclidean distance.
    """

    rivals = UCI
    targets = tuple(
        not_above(name, percent, n_tests, row)
        for name, n_tests, *both in (
            ("parkinsons", 195, 5.68, 7.89),
            ("sonar", 208, 13.07, 14.29),
            ("segment", 2310, 2.42, 2.29),
            ("breast-tissue", 106, 38.37, 33.37),
            ("ilpd", 583, 32.09, 35.16),
            ("transfusion", 748, 29.47, 34.37),
            ("cardiotocography", 2126, 20.71, 19.34),
            ("satimage-parts", 2000, 10.80, 10.75),
            ("spectf-parts", 187, 27.27, 33.69),
            ("letter", 4000, 2.47, 2.77),
        )
        for row, percent in zip((OURS, TRIPLETS), both, strict=True)
    )


def digits(components):
    grid = {"constraints": ["doublets", "pairs"], "count": [1, 3], "C": [1e-3, 1e-2, 1e-1]}
    return {
        OURS: chosen("psd", components, **grid),
        NCML: chosen("conic", components, **grid),
        EUCLIDEAN: chosen(None, components),
    }


@benchmark("svm-errors-pendigits", datasets=["pendigits-parts"], repeats=1, threads=2, budget_s=280)
class PenDigitsErrors(ChosenErrors):
    """1-NN errors of PCML (ours) and NCML on pendigits' test part, in the original features.

    The pairs (nearest of the class, and farthest or nearest of the others), their number and C are
    chosen in 3 inner folds of at most 1000 rows. The chapter: 2.26 % Euclidean, 2.06 % PCML, 2.06 %
    NCML. With the farthest of the others, as in the chapter, no C gives less than 2.9 %.
    """

    rivals = digits(None)
    targets = (
        not_above("pendigits-parts", 2.06, 3498),
        not_above("pendigits-parts", 2.06, 3498, NCML),
    )


@benchmark("svm-errors-semeion", datasets=["semeion"], repeats=1, threads=2, budget_s=600)
class SemeionErrors(ChosenErrors):
    """1-NN errors of PCML (ours) and NCML on semeion, in 10 folds.

    As in `svm-errors-pendigits`, on the 100 leading principal axes of the training rows. The
    chapter: 8.54 % Euclidean, 4.83 % PCML, 5.53 % NCML (10 runs of 10 folds).
    """

    rivals = digits(100)
    targets = (not_above("semeion", 4.83, 1593), not_above("semeion", 5.53, 1593, NCML))


@benchmark("svm-errors-usps", datasets=["usps-parts"], repeats=1, threads=2, budget_s=600)
class USPSErrors(ChosenErrors):
    """1-NN errors of PCML (ours) and NCML on USPS's test part, as in `svm-errors-pendigits`.

    On the 100 leading principal axes of the training rows. The chapter: 5.08 % Euclidean,
    5.33 % PCML, 5.43 % NCML.
    """

    rivals = digits(100)
    targets = (not_above("usps-parts", 5.33, 2007), not_above("usps-parts", 5.43, 2007, NCML))


@benchmark("svm-errors-mnist", datasets=["mnist-parts"], repeats=1, threads=2, budget_s=900)
class MNISTErrors(ChosenErrors):
    """1-NN errors of PCML (ours) and NCML on MNIST's test part, as in `svm-errors-pendigits`.

    On the 100 leading principal axes of the 60000 training rows. The chapter: 2.87 %
    Euclidean, 3.85 % PCML, 2.80 % NCML.
    """

    rivals = digits(100)
    targets = (
        not_above("mnist-parts", 3.85, 10_000),
        not_above("mnist-parts", 2.80, 10_000, NCML),
    )
