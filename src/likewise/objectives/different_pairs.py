"""How far different pairs are apart, as concave functions of a metric: MMC and DML-eig."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from likewise import _loops
from likewise._numerics.products import map_rows, product_over_rows
from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.threads import run_blocks
from likewise.constraints import Pairs

_BLOCK_PAIRS = 2048
_KEPT = 1 << 22  # numbers


class Spread(Protocol):
    """A concave, increasing function of the squared distances of pairs."""

    def value_and_derivative(self, squares: Array) -> tuple[float, Array]:
        """Return the value, and its derivative in each squared distance."""
        ...


@dataclass(frozen=True)
class SumOfDistances:
    """``Σ √D``, as MMC has it."""

    def value_and_derivative(self, squares: Array) -> tuple[float, Array]:
        """Return the sum of roots; a distance of 0 counts as the smallest that is a number."""
        roots = np.sqrt(np.maximum(squares, np.finfo(np.float64).tiny))
        return float(roots.sum()), 0.5 / roots


@dataclass(frozen=True)
class SoftMinimum:
    """``-μ log Σ exp(-D/μ)``, the smoothed least D of DML-eig.

    Parameters
    ----------
    mu : float
        μ: the least D is underestimated by at most μ times the logarithm of the number of pairs.
    """

    mu: float

    def value_and_derivative(self, squares: Array) -> tuple[float, Array]:
        """Return the value, and the softmax of ``-D/μ``."""
        least = float(squares.min())
        shares = np.exp((least - squares) / self.mu)
        total = float(shares.sum())
        return least - self.mu * float(np.log(total)), shares / total


@dataclass(frozen=True, eq=False)
class DifferentPairs:
    """A concave function of ``D = ‖F(x - x')‖²`` over pairs.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        Rows in float64.
    first, second : int arrays of shape (n_pairs,)
        The two rows of each pair.
    spread : Spread
        What the squared distances are worth together.
    """

    X: Array
    first: IndexArray
    second: IndexArray
    spread: Spread

    @classmethod
    def of(cls, X: Array, pairs: Pairs, spread: Spread) -> Self:
        """Take the pairs that are different, and of X only the rows they need."""
        return cls(*_different(X, pairs), spread)

    def squares(self, F: Array) -> Array:
        """Return the squared distance of each pair."""
        return _loops.pair_sqdist(map_rows(self.X, F, None), self.first, self.second)

    def value_and_slope(self, F: Array) -> tuple[float, Array]:
        """Return the value and its slope in ``FᵀF``."""
        value, weights = self.spread.value_and_derivative(self.squares(F))
        spread = _loops.laplacian_apply(self.X, self.first, self.second, weights)
        slope = product_over_rows(self.X, spread, None)
        return value, (slope + slope.T) / 2


@dataclass(frozen=True, eq=False)
class WeightedFeatures:
    """``Σ √D`` over pairs with ``D = Σ_f n_f (x_f - x'_f)²``: a concave function of weights n.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        Rows in float64.
    first, second : int arrays of shape (n_pairs,)
        The two rows of each pair.
    """

    X: Array
    first: IndexArray
    second: IndexArray
    kept: Array | None = None  # all squared differences, where they take little room

    @classmethod
    def of(cls, X: Array, pairs: Pairs) -> Self:
        """Take the pairs that are different, and of X only the rows they need."""
        found = cls(*_different(X, pairs))
        if found.first.size * X.shape[1] > _KEPT:
            return found
        return replace(found, kept=found._squares(0, len(found.first)))

    def value_slope_and_curvature(self, weights: Array) -> tuple[float, Array, Array]:
        """Return the value, its slope, and minus its second derivative."""

        def block(start: int, stop: int) -> tuple[float, Array, Array]:
            squares = self._squares(start, stop)
            roots = np.sqrt(squares @ weights)
            # Rows that are equal in all features that have weight stay so, whatever the weights.
            slopes = np.divide(0.5, roots, out=np.zeros_like(roots), where=roots > 0)
            # (√D)'' = -¼ D^(-3/2) = -2 (½ D^(-½))³
            scaled = squares * np.sqrt(2 * slopes**3)[:, None]
            return float(roots.sum()), slopes @ squares, scaled.T @ scaled

        values, slopes, curvatures = zip(
            *run_blocks(block, len(self.first), _BLOCK_PAIRS), strict=True
        )
        return math.fsum(values), np.sum(slopes, axis=0), np.sum(curvatures, axis=0)

    def _squares(self, start: int, stop: int) -> Array:
        if self.kept is not None:
            return self.kept[start:stop]
        squares = self.X[self.first[start:stop]]
        squares -= self.X[self.second[start:stop]]
        squares *= squares
        return squares


def _different(X: Array, pairs: Pairs) -> tuple[Array, IndexArray, IndexArray]:
    """Return the rows that different pairs need, and of each pair the two places in them."""
    rows, places = np.unique(pairs.index[~pairs.same], return_inverse=True)
    first, second = np.ascontiguousarray(places.reshape(-1, 2).T)
    return np.ascontiguousarray(X[rows]), first, second
