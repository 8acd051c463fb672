"""Summaries and pages that several tests look at, made once."""

import functools

import numpy as np

import likewise as lw
from likewise.constraints import random_pairs
from likewise.report import render, summarise

HOSTILE = (
    "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
    "<svg onload=window.hacked=3>\"'&</title></style>{{ 7*7 }}$a$"
)
WINE = lw.datasets.load("wine")
DIGITS = lw.datasets.load("digits")


def _labels():
    return summarise(
        DIGITS.X[:700],
        DIGITS.y[:700],
        methods=["Euclidean", "RCA", "LMNN", "cosine"],
        n_repeats=1,
        image_shape=(8, 8),
        feature_names=DIGITS.feature_names,
        name="digits",
        loading='data = lw.datasets.load("digits")\nX, y = data.X[:700], data.y[:700]',
    )


def _pairs():
    index, same = random_pairs(WINE.y, 1200, distinct=True, random_state=0)
    return summarise(
        WINE.X,
        pairs=index,
        same=same,
        methods=["Euclidean", "ITML"],
        n_repeats=1,
        name="wine pairs",
    )


def _hostile():
    labels = np.array([f"{HOSTILE} {code}" for code in range(3)])[WINE.y]
    return summarise(
        WINE.X,
        labels,
        methods={"Euclidean": lw.Euclidean(), HOSTILE: lw.RCA()},
        n_repeats=1,
        feature_names=[f"{HOSTILE} {i}" for i in range(13)],
        texts=[f"{HOSTILE} {i}" for i in range(len(labels))],
        name=HOSTILE,
        loading=HOSTILE,
    )


def _many():
    """Enough test rows for a picture of points, groups, and a class that cannot be tested."""
    rng = np.random.default_rng(0)
    y = np.append(rng.integers(3, size=11_999), 3)
    X = rng.normal(size=(4, 6))[y] + rng.normal(size=(12_000, 6))
    X[:, 5] = 1.0
    return summarise(
        X,
        y,
        groups=np.arange(12_000) // 2,
        methods=["Euclidean", "RCA"],
        n_repeats=1,
        name="many rows",
    )


CASES = {"labels": _labels, "pairs": _pairs, "hostile": _hostile, "many": _many}


@functools.cache
def summary_of(case):
    return CASES[case]()


@functools.cache
def page_of(case):
    return render(summary_of(case))
