"""Constraints as matrices: ⟨M, X⟩ of a pair's ``X = vvᵀ``, or the difference of two for triplets.

No matrix of a constraint is ever formed: everything goes through the differences v, in fixed
blocks of rows and in a fixed order, so that the bits do not depend on threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.threads import run_blocks
from likewise.constraints import Pairs, Triplets

_BLOCK = 2048
_SUMS = 16


class Coordinates(Protocol):
    """Coordinates of outer products: what a face of a cone makes of the differences v."""

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        ...

    def of(self, differences: FloatArray) -> FloatArray:
        """Return one row of coordinates of vvᵀ for each v."""
        ...


@dataclass(frozen=True, eq=False)
class ConstraintMatrices:
    """Symmetric matrices X₁ … X_N, one a constraint, each with its sign.

    Attributes
    ----------
    differences : array of shape (n_differences, n_features)
        The v of the distinct pairs of rows.
    sides : two int arrays of shape (n_constraints,), or None
        For triplets: constraint l is ``vvᵀ`` of the row in the first, less that of the row in the
        second. None for pairs, where row l is constraint l.
    sign : array of shape (n_constraints,)
        +1 for *different* (and for triplets), -1 for *same*.
    """

    differences: FloatArray
    sides: tuple[IndexArray, IndexArray] | None
    sign: FloatArray
    n_jobs: int | None = None

    @classmethod
    def from_pairs(cls, X: Array, pairs: Pairs, n_jobs: int | None = None) -> ConstraintMatrices:
        """Want *different* pairs apart and *same* pairs together, about a free threshold."""
        sign = np.where(pairs.same, -1.0, 1.0)
        return cls(_differences(X, pairs.index), None, sign, n_jobs)

    @classmethod
    def from_triplets(
        cls, X: Array, triplets: Triplets, n_jobs: int | None = None
    ) -> ConstraintMatrices:
        """Want the negative farther from the anchor than the positive."""
        anchor, near, far = triplets.index.T
        keys = np.concatenate([far, near]) * len(X) + np.tile(anchor, 2)
        distinct, place = np.unique(keys, return_inverse=True)
        index = np.column_stack([distinct % len(X), distinct // len(X)])
        n = len(anchor)
        sides = place[:n].astype(np.int64), place[n:].astype(np.int64)
        return cls(_differences(X, index), sides, np.ones(n), n_jobs)

    def __len__(self) -> int:
        return len(self.sign)

    @property
    def has_intercept(self) -> bool:
        """Whether the constraints are about a threshold: pairs have one, triplets do not."""
        return self.sides is None

    @property
    def n_entries(self) -> int:
        """How many numbers a symmetric matrix over the features has."""
        d = int(self.differences.shape[1])
        return d * (d + 1) // 2

    @property
    def near_sides(self) -> IndexArray:
        """The differences of anchors and positives, where the constraints are triplets."""
        return np.empty(0, np.int64) if self.sides is None else np.unique(self.sides[1])

    def times(self, factor: float) -> ConstraintMatrices:
        """Return the same constraints with all differences multiplied."""
        return replace(self, differences=self.differences * factor)

    def of(self, chosen: IndexArray) -> ConstraintMatrices:
        """Return some of the constraints."""
        if self.sides is not None:
            sides = self.sides[0][chosen], self.sides[1][chosen]
            return replace(self, sides=sides, sign=self.sign[chosen])
        return replace(self, differences=self.differences[chosen], sign=self.sign[chosen])

    def inner(self, M: FloatArray) -> FloatArray:
        """Return ⟨M, X⟩ of every constraint."""
        q = np.empty(len(self.differences))

        def block(start: int, stop: int) -> None:
            V = self.differences[start:stop]
            q[start:stop] = np.einsum("nd,nd->n", V @ M, V)

        run_blocks(block, len(q), _BLOCK, self.n_jobs)
        return q if self.sides is None else q[self.sides[0]] - q[self.sides[1]]

    def squared_norms(self) -> FloatArray:
        """Return ``‖X‖²`` of every constraint's matrix."""
        V = self.differences
        lengths4 = np.square(np.einsum("nd,nd->n", V, V))
        if self.sides is None:
            return np.asarray(lengths4)
        plus, minus = self.sides
        products = np.empty(len(self))

        def block(start: int, stop: int) -> None:
            far, near = plus[start:stop], minus[start:stop]
            products[start:stop] = np.einsum("nd,nd->n", V[far], V[near])

        run_blocks(block, len(self), _BLOCK, self.n_jobs)
        return np.asarray(lengths4[plus] + lengths4[minus] - 2 * np.square(products))

    def combine(self, weights: FloatArray) -> FloatArray:
        """Return ``Σ weights[l] Xₗ``."""
        if self.sides is not None:
            plus, minus = (np.bincount(side, weights, len(self.differences)) for side in self.sides)
            weights = np.asarray(plus - minus, dtype=np.float64)
        used = np.flatnonzero(weights)
        d = self.differences.shape[1]

        def block(start: int, stop: int) -> FloatArray:
            total = np.zeros((d, d))
            for first in range(start, stop, _BLOCK):
                rows = used[first : min(first + _BLOCK, stop)]
                V = self.differences[rows]
                total += (V * weights[rows, None]).T @ V
            return total

        total = np.zeros((d, d))
        for part in run_blocks(block, len(used), max(_BLOCK, -(-len(used) // _SUMS)), self.n_jobs):
            total += part
        return (total + total.T) / 2

    def coordinates(self, face: Coordinates, chosen: IndexArray) -> FloatArray:
        """Return the coordinates of the chosen constraints' matrices, one row each."""
        found = np.empty((len(chosen), face.size))

        def block(start: int, stop: int) -> None:
            rows = chosen[start:stop]
            if self.sides is None:
                found[start:stop] = face.of(self.differences[rows])
            else:
                found[start:stop] = face.of(self.differences[self.sides[0][rows]])
                found[start:stop] -= face.of(self.differences[self.sides[1][rows]])

        run_blocks(block, len(chosen), _BLOCK // 4, self.n_jobs)
        return found

    def gram(self, chosen: IndexArray) -> FloatArray:
        """Return the inner products of the chosen constraints' matrices: ``(u·v)²`` for pairs."""
        if self.sides is None:
            sides = [(1.0, self.differences[chosen])]
        else:
            plus, minus = (self.differences[side[chosen]] for side in self.sides)
            sides = [(1.0, plus), (-1.0, minus)]
        found = np.zeros((len(chosen), len(chosen)))

        def block(start: int, stop: int) -> None:
            for first, U in sides:
                for second, V in sides:
                    found[start:stop] += first * second * np.square(U[start:stop] @ V.T)

        run_blocks(block, len(chosen), 256, self.n_jobs)
        return (found + found.T) / 2


def _differences(X: Array, index: IndexArray) -> FloatArray:
    # The difference is taken in the precision of X's rows, and no product before it.
    return np.subtract(X[index[:, 0]], X[index[:, 1]], dtype=np.float64)
