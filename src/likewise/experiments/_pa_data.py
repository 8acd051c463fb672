"""Data sets of the paper on online metrics: rows and classes with the counts of its Table 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise.datasets import Dataset
from likewise.experiments._data import load_once
from likewise.experiments._rows import all_rows

DATA: Mapping[str, str] = MappingProxyType(
    {
        "soyS": "soybean_complete",
        "wine": "wine",
        "glass": "glass",
        "ecoli": "ecoli",
        "iono": "ionosphere",
        "balance": "balance",
        "breast": "breast_wisconsin",
        "mor": "mfeat_mor",
        "spam": "spambase",
        "satellite": "satimage",
        "soyL": "soybean_complete",
        "usps": "usps",
    }
)
"""The name that `likewise.datasets.load` knows each set by, in the order of the paper."""
STAND_INS: Mapping[str, str] = MappingProxyType(
    {
        "usps": "1000 digits of USPS, 100 of each, averaged over 2 × 2 pixels, in place of the "
        "2000 digits of nist16 with 16 × 16 pixels."
    }
)
"""Data sets that are not the paper's."""

_N_SOYBEANS = 266
_SOYBEANS_SMALL = (0, 4, 9, 11)
_ECOLI = ("cp", "im", "pp")
_N_WINDOW_GLASS = 3  # types of glass before those that are merged
_N_PER_DIGIT = 100

Labelled = tuple[Array, Array]


def samples(dataset: str) -> tuple[FloatArray, IndexArray]:
    """Return the rows of a data set of the paper and the numbers of their classes."""
    X, y = _PARTS.get(dataset, _training)(load_once(DATA[dataset]))
    _, codes = np.unique(y, return_inverse=True)
    return np.asarray(X, dtype=np.float64), codes


def _training(data: Dataset) -> Labelled:
    return data.X, np.asarray(data.y)


def _soybeans(data: Dataset) -> Labelled:
    X, y = _training(data)
    return X[:_N_SOYBEANS], y[:_N_SOYBEANS]


def _soybeans_of_four_classes(data: Dataset) -> Labelled:
    X, y = _soybeans(data)
    chosen = np.isin(y, _SOYBEANS_SMALL)
    return X[chosen], y[chosen]


def _glass(data: Dataset) -> Labelled:
    X, y = _training(data)
    return X, np.minimum(y, _N_WINDOW_GLASS)


def _ecoli(data: Dataset) -> Labelled:
    assert data.classes is not None
    X, y = _training(data)
    chosen = np.isin(np.array(data.classes)[y], _ECOLI)
    return X[chosen], y[chosen]


def _digits(data: Dataset) -> Labelled:
    """Return half as many digits as nist16 has, averaged over 2 × 2 pixels."""
    X, y = _training(data)
    rows = np.concatenate([np.flatnonzero(y == digit)[:_N_PER_DIGIT] for digit in np.unique(y)])
    blocks = X[rows].reshape(len(rows), 8, 2, 8, 2)
    return blocks.mean(axis=(2, 4)).reshape(len(rows), 64), y[rows]


_PARTS: Mapping[str, Callable[[Dataset], Labelled]] = MappingProxyType(
    {
        "soyS": _soybeans_of_four_classes,
        "soyL": _soybeans,
        "glass": _glass,
        "ecoli": _ecoli,
        "satellite": all_rows,
        "usps": _digits,
    }
)
