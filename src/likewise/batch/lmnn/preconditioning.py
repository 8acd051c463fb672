"""What LMNN learns on: centred rows, in coordinates that suit the solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from likewise import _loops
from likewise._numerics.centring import robust_centre
from likewise._numerics.products import map_rows
from likewise._runtime.arrays import Array
from likewise._runtime.threads import single_threaded_blas
from likewise.objectives import GroupedPairs, LargeMargin

# Directions are stretched until all are pulled alike, but those that hardly vary not without end.
_LEAST_PULL = 1e-6


@dataclass(frozen=True, eq=False)
class CentredRows:
    """X about a point amid it, in its own precision: differences are all that counts.

    Attributes
    ----------
    rows : array of shape (n_rows, n_features)
        ``scale (X - centre)``.
    centre : array of shape (n_features,)
    scale : float
    """

    rows: Array
    centre: Array
    scale: float

    @classmethod
    def of(cls, X: Array) -> CentredRows:
        """Centre rows, and divide them by a power of two that makes the largest about 1."""
        largest = float(np.abs(X).max(initial=0.0))
        size = _power_of_two(largest)
        centre = robust_centre(X).astype(np.float64)
        rows = _about(X, centre, 1 / size)
        spread = _power_of_two(float(np.abs(rows).max(initial=0.0)))
        rows /= X.dtype.type(spread)
        return cls(rows, centre, 1 / size / spread)

    def scaled(self, scale: float) -> CentredRows:
        """Return the same at another scale."""
        return CentredRows(self.rows * self.rows.dtype.type(scale / self.scale), self.centre, scale)

    def scale_of_unit_distances(self, pairs: GroupedPairs, L: Array, n_jobs: int | None) -> float:
        """Return what the user's X is multiplied by if the median square of pairs is to be 1."""
        mapped = self.mapped(L, n_jobs)
        squares = _loops.pair_sqdist(mapped, pairs.rows, pairs.cols, n_jobs=n_jobs)
        middle = float(np.median(squares))
        if middle == 0:  # more than half of them are duplicates
            middle = float(squares.mean())
        return self.scale / float(np.sqrt(middle)) if middle > 0 else self.scale

    def like(self, X: Array) -> Array:
        """Return other rows about the same centre, at the same scale."""
        return _about(X, self.centre, self.scale)

    def mapped(self, L: Array, n_jobs: int | None) -> Array:
        """Return the rows through L."""
        return map_rows(self.rows, L, n_jobs)


def _about(X: Array, centre: Array, scale: float) -> Array:
    return ((X.astype(np.float64) - centre) * scale).astype(X.dtype)


def _power_of_two(value: float) -> float:
    return float(2.0 ** np.frexp(value)[1]) if value > 0 else 1.0


class Coordinates(NamedTuple):
    """Coordinates in which all directions are pulled alike, and the way back.

    L-BFGS needs many steps where some directions are pulled a thousand times as hard as others.

    Attributes
    ----------
    X : array of shape (n_rows, n_features)
        The rows in them.
    forth, back : arrays of shape (n_features, n_features)
        ``L_here = L @ back`` and ``L = L_here @ forth``.
    """

    X: Array
    forth: Array
    back: Array

    @classmethod
    def as_they_are(cls, objective: LargeMargin) -> Coordinates:
        """Keep the features."""
        same = np.eye(objective.X.shape[1])
        return cls(objective.X, same, same)

    @classmethod
    def pulled_alike(cls, objective: LargeMargin) -> Coordinates:
        """Stretch the principal directions of the pull to equal strength."""
        with single_threaded_blas():
            values, vectors = eigh(objective.pull_slope())
        values = np.maximum(values, 0)
        if not values.any():
            return cls.as_they_are(objective)
        stretch = 1 / np.sqrt(values / values.mean() + _LEAST_PULL)
        forth = stretch[:, None] * vectors.T
        rows = map_rows(objective.X, forth, objective.n_jobs)
        return cls(rows, forth, vectors / stretch)
