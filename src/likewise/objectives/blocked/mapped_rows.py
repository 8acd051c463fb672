"""Rows in blocks, mapped by a matrix that is not applied before it must be."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from likewise._loops.distances.frames import SearchFrame, frame_of_mapped
from likewise._numerics.products import map_rows
from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.blocks.engines import Engine
from likewise._runtime.blocks.rows import BlockedRows


@dataclass(frozen=True, eq=False)
class MappedRows:
    """``X @ map.T`` for rows X in blocks: only the matrix `map` is kept, here.

    Attributes
    ----------
    rows : BlockedRows
        X, centred; its groups are the classes.
    map : array of shape (n_columns, n_features)
    cached_moments : list
        The moments of X once they are known, shared by all maps of the same rows.
    """

    rows: BlockedRows
    map: Array
    cached_moments: list[tuple[Array, Array, Array]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns after the map."""
        return len(self.rows), len(self.map)

    @property
    def engine(self) -> Engine:
        """Where the blocks are."""
        return self.rows.engine

    def mapped(self, L: Array) -> MappedRows:
        """Return the mapped rows mapped by L."""
        return replace(self, map=np.asarray(L @ self.map))

    def scaled(self, factor: float) -> MappedRows:
        """Return the mapped rows times a factor."""
        return replace(self, map=self.map * factor)

    def moments(self, features: IndexArray, axes: Array) -> tuple[Array, Array, Array]:
        """Return means, covariance and largest magnitudes of ``rows[:, features] @ axes.T``."""
        L = np.asarray(axes @ self.map[features])
        n_jobs = self.engine.n_jobs
        means = self.rows.total(partial(_sums, L, n_jobs)) / len(self)
        products = self.rows.total(partial(_products, L, means, n_jobs)) / len(self)
        largest = np.max(self.rows.map(partial(_largest, L, n_jobs)), axis=0)
        return np.asarray(means), np.asarray(products), np.asarray(largest)

    def search_frame(self) -> SearchFrame:
        """Return the frame in which searches compare the mapped rows."""
        if not self.cached_moments:
            identity = np.eye(self.rows.n_features)
            every = MappedRows(self.rows, identity)
            self.cached_moments.append(every.moments(np.arange(len(identity)), identity))
        means, covariance, largest = self.cached_moments[0]
        norm = float(np.linalg.norm(largest))
        return frame_of_mapped(self.map, len(self), means, covariance, norm)


def _sums(L: Array, n_jobs: int | None, rows: Array, codes: IndexArray) -> Any:
    return map_rows(rows, L, n_jobs).sum(axis=0, dtype=np.float64)


def _products(L: Array, means: Array, n_jobs: int | None, rows: Array, codes: IndexArray) -> Any:
    centred = map_rows(rows, L, n_jobs) - means
    return centred.T @ centred


def _largest(L: Array, n_jobs: int | None, rows: Array, codes: IndexArray) -> Any:
    return np.abs(map_rows(rows, L, n_jobs)).max(axis=0, initial=0.0).astype(np.float64)
