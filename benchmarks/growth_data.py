"""The same images with more and more rows, features or pairs."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from benchmarks.scale_data import shifted_mnist
from likewise.constraints import random_pairs

FEATURES = 50
ROWS = (1000, 3000, 10_000, 30_000, 100_000, 300_000)
ROWS_OF_FEATURES = 2000
N_FEATURES = (25, 50, 100, 200, 400)
ROWS_OF_PAIRS = 20_000
N_PAIRS = (300, 1000, 3000, 10_000, 30_000, 100_000)


def rows_name(n):
    return f"images-{n}x{FEATURES}/float32"


def features_name(d):
    return f"images-{ROWS_OF_FEATURES}x{d}/float32"


def pairs_name(m):
    return f"images-{m}-pairs"


@cache
def _images(n_components, n_rows):
    return shifted_mnist(n_components, n_rows)


def _pairs(m):
    """Return rows, and in place of labels random pairs of them and whether these are similar."""
    X, y = _images(FEATURES, ROWS_OF_PAIRS)
    pairs, same = random_pairs(y, m, random_state=0)
    return X, np.column_stack([pairs, same])


def growth_datasets():
    """Return the data sets by name, each with its number of features and its loader."""
    tables = [(n, FEATURES) for n in ROWS] + [(ROWS_OF_FEATURES, d) for d in N_FEATURES]
    return {
        **{f"images-{n}x{d}": (d, partial(shifted_mnist, d, n)) for n, d in tables},
        **{pairs_name(m): (FEATURES, partial(_pairs, m)) for m in N_PAIRS},
    }
