"""The span of the differences of constraints, in which the best metric lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import qr
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.threads import single_threaded_blas
from likewise.constraints import Pairs, Triplets
from likewise.metric import with_positive_peaks


@dataclass(frozen=True, eq=False)
class ConstraintSpan:
    """Coordinates in the span of the differences, where it has fewer dimensions than the features.

    With P the projection on the span, PMP has the same distances of the pairs as M and no larger
    norm, and is in the cone if M is. So the minimum of ``½‖M‖² + C Σ loss`` is within the span:
    learning there is exact.

    Attributes
    ----------
    basis : array of shape (n_features, n_dimensions)
        Orthonormal columns whose span contains all differences.
    """

    basis: FloatArray

    @classmethod
    def of(cls, X: Array, constraints: Pairs | Triplets) -> Self | None:
        """Return the span, or None if it may be the whole space.

        It is known to be smaller where there are fewer pairs, or fewer samples in them, than
        features.
        """
        index = _pairs(constraints)
        n_features = X.shape[1]
        if len(index) > n_features:
            if len(np.unique(index)) > n_features:
                return None
            index = _shortest_forest(X, index)
        if len(index) >= n_features:
            return None
        differences = np.subtract(X[index[:, 0]], X[index[:, 1]], dtype=np.float64)
        with single_threaded_blas():
            return cls(np.asarray(qr(differences.T, mode="economic")[0], dtype=np.float64))

    def map(self, differences: FloatArray) -> FloatArray:
        """Return the coordinates of differences."""
        return np.asarray(differences @ self.basis)

    def components(self, L: FloatArray) -> FloatArray:
        """Return L over the features, with as many rows as features, from L over the span."""
        n_features = len(self.basis)
        components = np.zeros((n_features, n_features))
        components[: len(L)] = with_positive_peaks(L @ self.basis.T)
        return components

    def matrix(self, M: FloatArray) -> FloatArray:
        """Return M over the features from M over the span."""
        return np.asarray(self.basis @ M @ self.basis.T)


def _pairs(constraints: Pairs | Triplets) -> IndexArray:
    """Return the pairs of samples whose differences occur."""
    if isinstance(constraints, Pairs):
        return constraints.index
    return np.concatenate([constraints.index[:, :2], constraints.index[:, ::2]])


def _shortest_forest(X: Array, index: IndexArray) -> IndexArray:
    """Return a minimum spanning forest of the pairs: their differences span those of all pairs.

    Every other difference is a sum of some that are no longer than itself, and so keeps its digits
    beside differences of outliers.
    """
    first, second = np.sort(index, axis=1).T
    keys, place = np.unique(first * len(X) + second, return_index=True)
    first, second = first[place], second[place]
    differences = np.subtract(X[first], X[second], dtype=np.float64)
    largest = np.abs(differences).max(initial=0.0) or 1.0
    lengths = np.linalg.norm(differences / largest, axis=1)
    # Ranks in place of lengths: the graph has no edges of length 0.
    ranks = np.empty(len(keys))
    ranks[np.argsort(lengths, kind="stable")] = np.arange(1, len(keys) + 1)
    forest = minimum_spanning_tree(coo_array((ranks, (first, second)), shape=(len(X), len(X))))
    chosen = forest.tocoo()
    return np.column_stack([chosen.row, chosen.col]).astype(np.int64)
