"""Concave functions of the distances of dissimilar pairs: what MMC and DML-eig maximise."""

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
_MAX_STORED_VALUES = 1 << 22


class Separation(Protocol):
    """A concave, increasing function of the squared distances of pairs."""

    def value_and_derivative(self, sqdist: Array) -> tuple[float, Array]:
        """Return the value and its derivative in each squared distance."""
        ...


@dataclass(frozen=True)
class SumOfDistances:
    """``Σ √D``, the objective of MMC."""

    def value_and_derivative(self, sqdist: Array) -> tuple[float, Array]:
        """Return the sum; a squared distance of 0 counts as the smallest positive number."""
        roots = np.sqrt(np.maximum(sqdist, np.finfo(np.float64).tiny))
        return float(roots.sum()), 0.5 / roots


@dataclass(frozen=True)
class SoftMinimum:
    """``-μ log Σ exp(-D/μ)``, the smoothed minimum of D: the objective of DML-eig.

    Parameters
    ----------
    mu : float
        μ: the minimum is underestimated by at most ``μ log(n_pairs)``.
    """

    mu: float

    def value_and_derivative(self, sqdist: Array) -> tuple[float, Array]:
        """Return the value and the softmax of ``-D/μ``."""
        least = float(sqdist.min())
        weights = np.exp((least - sqdist) / self.mu)
        total = float(weights.sum())
        return least - self.mu * float(np.log(total)), weights / total


@dataclass(frozen=True, eq=False)
class DissimilarPairs:
    """A concave function of the squared distances ``D = ‖F(x - x')‖²`` of pairs.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        In float64.
    first, second : int arrays of shape (n_pairs,)
        The two samples of each pair.
    separation : Separation
        The function of the squared distances.
    """

    X: Array
    first: IndexArray
    second: IndexArray
    separation: Separation

    @classmethod
    def of(cls, X: Array, pairs: Pairs, separation: Separation) -> Self:
        """Select the dissimilar pairs and the samples that occur in them."""
        return cls(*_dissimilar(X, pairs), separation)

    def sqdist(self, F: Array) -> Array:
        """Return the squared distance of each pair."""
        return _loops.pair_sqdist(map_rows(self.X, F, None), self.first, self.second)

    def value_and_matrix_gradient(self, F: Array) -> tuple[float, Array]:
        """Return the value and its gradient in ``FᵀF``."""
        value, weights = self.separation.value_and_derivative(self.sqdist(F))
        laplacian = _loops.laplacian_apply(self.X, self.first, self.second, weights)
        gradient = product_over_rows(self.X, laplacian, None)
        return value, (gradient + gradient.T) / 2


@dataclass(frozen=True, eq=False)
class WeightedFeatures:
    """``Σ √D`` over pairs with ``D = Σ_f w_f (x_f - x'_f)²``: a concave function of weights w.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        In float64.
    first, second : int arrays of shape (n_pairs,)
        The two samples of each pair.
    """

    X: Array
    first: IndexArray
    second: IndexArray
    stored: Array | None = None  # all squared differences, if they take little memory

    @classmethod
    def of(cls, X: Array, pairs: Pairs) -> Self:
        """Select the dissimilar pairs and the samples that occur in them."""
        objective = cls(*_dissimilar(X, pairs))
        if objective.first.size * X.shape[1] > _MAX_STORED_VALUES:
            return objective
        return replace(objective, stored=objective._squares(0, len(objective.first)))

    def value_gradient_and_curvature(self, weights: Array) -> tuple[float, Array, Array]:
        """Return the value, its gradient, and minus its Hessian."""

        def block(start: int, stop: int) -> tuple[float, Array, Array]:
            squares = self._squares(start, stop)
            roots = np.sqrt(squares @ weights)
            # A pair that is equal in all features with positive weight has no derivative here.
            derivatives = np.divide(0.5, roots, out=np.zeros_like(roots), where=roots > 0)
            # (√D)'' = -¼ D^(-3/2) = -2 (½ D^(-½))³
            scaled = squares * np.sqrt(2 * derivatives**3)[:, None]
            return float(roots.sum()), derivatives @ squares, scaled.T @ scaled

        values, gradients, curvatures = zip(
            *run_blocks(block, len(self.first), _BLOCK_PAIRS), strict=True
        )
        return math.fsum(values), np.sum(gradients, axis=0), np.sum(curvatures, axis=0)

    def _squares(self, start: int, stop: int) -> Array:
        """Return the squared differences of some pairs, feature by feature."""
        if self.stored is not None:
            return self.stored[start:stop]
        squares = self.X[self.first[start:stop]]
        squares -= self.X[self.second[start:stop]]
        squares *= squares
        return squares


def _dissimilar(X: Array, pairs: Pairs) -> tuple[Array, IndexArray, IndexArray]:
    """Return the samples in dissimilar pairs, and the two positions of each pair among them."""
    samples, positions = np.unique(pairs.index[~pairs.same], return_inverse=True)
    first, second = np.ascontiguousarray(positions.reshape(-1, 2).T)
    return np.ascontiguousarray(X[samples]), first, second
