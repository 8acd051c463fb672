"""Rows of data sets: joined, drawn, scaled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise._runtime.arrays import Array, FloatArray, FloatingArray, IndexArray
from likewise.datasets import Dataset


class Split(NamedTuple):
    """Rows to learn from, and rows to be predicted."""

    X: FloatArray
    y: Array
    X_test: FloatArray
    y_test: Array


def held_out(X: FloatArray, y: Array, chosen: Array) -> Split:
    """Return the rows that are not chosen to learn from, and those that are to be predicted."""
    return Split(X[~chosen], y[~chosen], X[chosen], y[chosen])


def all_rows(data: Dataset) -> tuple[FloatingArray, Array]:
    """Return all rows of a data set with their labels, an official test part last."""
    X, y = data.X, np.asarray(data.y)
    if data.X_test is None or data.y_test is None:
        return X, y
    return np.concatenate([X, data.X_test]), np.concatenate([y, np.asarray(data.y_test)])


def random_rows(n_available: int, n_rows: int, random: np.random.Generator) -> IndexArray:
    """Return at most `n_rows` random row numbers, in their order."""
    if n_rows >= n_available:
        return np.arange(n_available)
    return np.sort(random.choice(n_available, n_rows, replace=False))


def divided_by_deviation(X: FloatArray, *others: FloatArray) -> tuple[FloatArray, ...]:
    """Return rows with features divided by the standard deviations of those of X."""
    deviation = X.std(axis=0)
    deviation[deviation == 0] = 1.0
    return tuple(rows / deviation for rows in (X, *others))


def unit_rows(X: FloatingArray) -> FloatArray:
    """Return rows of length 1; rows of zeros, such as empty documents, stay."""
    X = X.astype(np.float64)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.where(lengths > 0, lengths, 1.0))
