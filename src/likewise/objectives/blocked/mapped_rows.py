"""Rows in blocks, mapped by a matrix that is not applied before it must be."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

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
        if (np.count_nonzero(L, axis=1) <= 1).all():  # nothing is added, so nothing cancels
            means, covariance, largest = self._moments_of_rows()
            return L @ means, L @ covariance @ L.T, np.abs(L) @ largest
        return _moments(self.rows, L)

    def mean_square(self) -> float:
        """Return the mean of the squared norms of the mapped rows."""
        means, covariance, _ = self._moments_of_rows()
        products = self.map @ (covariance + np.outer(means, means))
        return max(0.0, float(np.vdot(self.map, products)))  # rounding could make it negative

    def _moments_of_rows(self) -> tuple[Array, Array, Array]:
        """Return the moments of the rows before the map, which are computed once."""
        if not self.cached_moments:
            self.cached_moments.append(_moments(self.rows, None))
        return self.cached_moments[0]

    def search_frame(self) -> SearchFrame:
        """Return the frame in which searches compare the mapped rows."""
        means, covariance, largest = self._moments_of_rows()
        norm = float(np.linalg.norm(largest))
        return frame_of_mapped(self.map, len(self), means, covariance, norm)


def _moments(rows: BlockedRows, L: Array | None) -> tuple[Array, Array, Array]:
    """Return means, covariance and largest magnitudes of the columns of ``rows @ L.T``, or rows."""
    n_jobs = rows.engine.n_jobs
    sums, largest = zip(*rows.map(partial(_sums_and_largest, L, n_jobs)), strict=True)
    means = np.sum(sums, axis=0) / len(rows)
    covariance = rows.total(partial(_products, L, means, n_jobs)) / len(rows)
    return means, np.asarray(covariance), np.max(largest, axis=0)


def _mapped(rows: Array, L: Array | None, n_jobs: int | None) -> Array:
    return rows if L is None else map_rows(rows, L, n_jobs)


def _sums_and_largest(
    L: Array | None, n_jobs: int | None, rows: Array, codes: IndexArray
) -> tuple[Array, Array]:
    Z = _mapped(rows, L, n_jobs)
    return Z.sum(axis=0, dtype=np.float64), np.abs(Z).max(axis=0, initial=0.0).astype(np.float64)


def _products(
    L: Array | None, means: Array, n_jobs: int | None, rows: Array, codes: IndexArray
) -> Array:
    centred = _mapped(rows, L, n_jobs) - means
    return np.asarray(centred.T @ centred)
