"""Rows in memory that are assigned to classes or clusters, by cosine under a metric."""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp

from likewise._numerics.products import product_over_rows
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise.adapter._lengths import blocks, lengths_of

# What directions count in assigning rows to classes and clusters.
ASSIGNMENT_WEIGHT = 2.0


class RowsInMemory:
    """Centred rows, of which the first may be labelled.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
    labelled : int array, optional
        The classes of the first rows, 0…c-1; by default no row has one.
    """

    def __init__(self, rows: Array, labelled: IndexArray | None = None) -> None:
        self.rows = rows
        self.labelled = np.empty(0, dtype=np.int64) if labelled is None else labelled

    @classmethod
    def centred(
        cls, rows: Array, labelled: IndexArray | None, n_jobs: int | None
    ) -> tuple[Self, FloatArray, FloatArray]:
        """Subtract the mean from rows, in place; return them, the mean and the covariance."""
        mean = rows.mean(axis=0, dtype=np.float64)
        rows -= mean.astype(rows.dtype)
        covariance = product_over_rows(rows, rows, n_jobs) / len(rows)
        return cls(rows, labelled), mean, covariance

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, numbers: IndexArray) -> Array:
        """Return rows by their numbers."""
        return np.asarray(self.rows[numbers])

    def space(self, F: FloatArray, scale: float) -> SpaceInMemory:
        """Return the rows under the metric of the directions F."""
        return SpaceInMemory(self.rows, F, scale, self.labelled)

    def class_means(self, assigned: IndexArray, n_classes: int) -> tuple[FloatArray, IndexArray]:
        """Return the mean and the number of the rows that are assigned to each class."""
        sums, counts = class_sums(self.rows, assigned, n_classes)
        return sums / np.maximum(counts, 1)[:, None], counts

    def class_scatter(self, n_classes: int) -> tuple[FloatArray, IndexArray, FloatArray]:
        """Return means and numbers of labelled rows, in float64, and the scatter about them."""
        rows = self.rows[: len(self.labelled)].astype(np.float64)
        sums, counts = class_sums(rows, self.labelled, n_classes)
        means = sums / np.maximum(counts, 1)[:, None]
        return means, counts, scatter_about(rows, self.labelled, means)


class SpaceInMemory:
    """Rows under the metric ``M = I / s + 2 FᵀF``, compared by cosine.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
    F : array of shape (n_directions, n_features)
    scale : float
        s.
    labelled : int array
        The classes of the first rows, which they keep.
    """

    def __init__(self, rows: Array, F: FloatArray, scale: float, labelled: IndexArray) -> None:
        self.rows, self.F, self.scale = rows, F.astype(rows.dtype), scale
        self.labelled = labelled

    @cached_property
    def inverse_lengths(self) -> Array:
        """1 / √(xᵀMx) of each row; 1 for rows of length 0."""
        lengths = self._lengths(self.rows)
        return np.asarray(1 / np.where(lengths > 0, lengths, 1))

    def means(self, assigned: IndexArray, n_classes: int) -> Array:
        """Return the sums of the first rows, scaled to length 1, of each class; -1 is none."""
        n_used = len(assigned)
        weights = self.inverse_lengths[:n_used]
        return np.asarray(_members(assigned, weights, n_classes) @ self.rows[:n_used])

    def assign(self, centres: Array) -> IndexArray:
        """Return the centre of largest cosine for each row; labelled rows keep their class."""
        lengths = self._lengths(centres)
        # Mc, so that images of all rows need not be in memory.
        mapped = centres / self.scale + ASSIGNMENT_WEIGHT * (centres @ self.F.T) @ self.F
        mapped /= np.where(lengths > 0, lengths, 1)[:, None]
        found = np.concatenate([(rows @ mapped.T).argmax(axis=1) for rows in blocks(self.rows)])
        found[: len(self.labelled)] = self.labelled
        return found

    def _lengths(self, rows: Array) -> Array:
        """Return √(xᵀMx) of each row."""
        of_images = np.concatenate([lengths_of(block @ self.F.T) for block in blocks(rows)])
        squares = lengths_of(rows) ** 2 / self.scale + ASSIGNMENT_WEIGHT * of_images**2
        return np.asarray(np.sqrt(squares))


def class_sums(rows: Array, codes: IndexArray, n_classes: int) -> tuple[FloatArray, IndexArray]:
    """Return the sum and the number of the rows of each class; -1 is no class."""
    counts = np.bincount(codes[codes >= 0], minlength=n_classes)
    members = _members(codes, np.ones(len(codes), dtype=rows.dtype), n_classes)
    return np.asarray(members @ rows, dtype=np.float64), counts


def scatter_about(rows: FloatArray, codes: IndexArray, means: FloatArray) -> FloatArray:
    """Return the scatter of rows about the means of their classes."""
    deviations = rows - means[codes]
    return np.asarray(deviations.T @ deviations)


def _members(codes: IndexArray, weights: Array, n_classes: int) -> sp.csr_array:
    """Return the matrix that sums the rows of each class, with their weights."""
    used = np.flatnonzero(codes >= 0)
    shape = (n_classes, len(codes))
    return sp.csr_array((weights[used], (codes[used], used)), shape=shape)
