"""Pairs and triplets as symmetric matrices: ``vvᵀ`` of a pair, a difference of two of a triplet.

The matrix of a constraint is never formed. All products are computed from the differences v, in
fixed blocks and summed in a fixed order, so that results do not depend on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from likewise import _loops
from likewise._loops.checks import padded
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.threads import run_blocks
from likewise.constraints import Pairs, Triplets
from likewise.solvers.margin import ProjectionJacobian

_BLOCK = 2048
_SUMS = 16


@dataclass(frozen=True, eq=False)
class ConstraintMatrices:
    """Symmetric matrices X₁ … X_n, one per constraint, each with its sign.

    Attributes
    ----------
    differences : array of shape (n_differences, n_features)
        The difference v of each distinct pair of samples.
    far_and_near : two int arrays of shape (n_constraints,), or None
        For triplets, the rows of `differences` that belong to anchor and negative, and to anchor
        and positive: X is ``vvᵀ`` of the first less ``vvᵀ`` of the second. None for pairs, where
        row l is constraint l.
    sign : array of shape (n_constraints,)
        +1 for *different* pairs and for triplets, -1 for *same* pairs.
    n_jobs : int or None
        The number of threads; None uses all cores.
    """

    differences: FloatArray
    far_and_near: tuple[IndexArray, IndexArray] | None
    sign: FloatArray
    n_jobs: int | None = None

    @classmethod
    def from_pairs(cls, X: Array, pairs: Pairs, n_jobs: int | None = None) -> ConstraintMatrices:
        """Ask for *different* pairs beyond a free threshold, and *same* pairs below it."""
        sign = np.where(pairs.same, -1.0, 1.0)
        return cls(_differences(X, pairs.index), None, sign, n_jobs)

    @classmethod
    def from_triplets(
        cls, X: Array, triplets: Triplets, n_jobs: int | None = None
    ) -> ConstraintMatrices:
        """Ask for the negative to be farther from the anchor than the positive."""
        anchor, near, far = triplets.index.T
        keys = np.concatenate([far, near]) * len(X) + np.tile(anchor, 2)
        distinct, place = np.unique(keys, return_inverse=True)
        index = np.column_stack([distinct % len(X), distinct // len(X)])
        n = len(anchor)
        far_and_near = place[:n].astype(np.int64), place[n:].astype(np.int64)
        return cls(_differences(X, index), far_and_near, np.ones(n), n_jobs)

    def __len__(self) -> int:
        return len(self.sign)

    @property
    def has_intercept(self) -> bool:
        """Whether b is free: pairs have an intercept, triplets have none."""
        return self.far_and_near is None

    @property
    def n_features(self) -> int:
        """The number of rows of a constraint's matrix."""
        return int(self.differences.shape[1])

    @property
    def n_entries(self) -> int:
        """The number of free entries of a symmetric matrix."""
        return self.n_features * (self.n_features + 1) // 2

    @property
    def similar(self) -> FloatArray:
        """The differences of *same* pairs, or of anchors and positives."""
        if self.far_and_near is None:
            return self.differences[self.sign < 0]
        return self.differences[np.unique(self.far_and_near[1])]

    def scaled(self, factor: float) -> ConstraintMatrices:
        """Return the same constraints with all differences multiplied by `factor`."""
        return replace(self, differences=self.differences * factor)

    def subset(self, chosen: IndexArray) -> ConstraintMatrices:
        """Return the chosen constraints."""
        if self.far_and_near is not None:
            far, near = self.far_and_near
            return replace(self, far_and_near=(far[chosen], near[chosen]), sign=self.sign[chosen])
        return replace(self, differences=self.differences[chosen], sign=self.sign[chosen])

    def inner(self, M: FloatArray) -> FloatArray:
        """Return ``⟨M, X⟩`` for every constraint."""
        q = np.empty(len(self.differences))

        def block(start: int, stop: int) -> None:
            V = self.differences[start:stop]
            q[start:stop] = np.einsum("nd,nd->n", V @ M, V)

        run_blocks(block, len(q), _BLOCK, self.n_jobs)
        if self.far_and_near is None:
            return q
        far, near = self.far_and_near
        return np.asarray(q[far] - q[near])

    def squared_norms(self) -> FloatArray:
        """Return ``‖X‖²`` for every constraint: ``‖v‖⁴`` for pairs."""
        V = self.differences
        fourth_powers = np.square(np.einsum("nd,nd->n", V, V))
        if self.far_and_near is None:
            return np.asarray(fourth_powers)
        far, near = self.far_and_near
        products = np.empty(len(self))

        def block(start: int, stop: int) -> None:
            products[start:stop] = np.einsum("nd,nd->n", V[far[start:stop]], V[near[start:stop]])

        run_blocks(block, len(self), _BLOCK, self.n_jobs)
        return np.asarray(fourth_powers[far] + fourth_powers[near] - 2 * np.square(products))

    def combine(self, weights: FloatArray) -> FloatArray:
        """Return ``Σ weights[l] Xₗ``."""
        if self.far_and_near is not None:
            far, near = (
                np.bincount(rows, weights, len(self.differences)) for rows in self.far_and_near
            )
            weights = np.asarray(far - near, dtype=np.float64)
        used = np.flatnonzero(weights)
        d = self.n_features

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

    def coordinates(self, jacobian: ProjectionJacobian, chosen: IndexArray) -> FloatArray:
        """Return the coordinates of the chosen X under a Jacobian, one row per constraint."""
        coordinates = np.empty((len(chosen), jacobian.n_coordinates))

        def block(start: int, stop: int) -> None:
            rows = chosen[start:stop]
            if self.far_and_near is None:
                coordinates[start:stop] = jacobian.coordinates(self.differences[rows])
            else:
                far, near = (self.differences[side[rows]] for side in self.far_and_near)
                coordinates[start:stop] = jacobian.coordinates(far)
                coordinates[start:stop] -= jacobian.coordinates(near)

        run_blocks(block, len(chosen), _BLOCK // 4, self.n_jobs)
        return coordinates

    def gram(self, chosen: IndexArray) -> FloatArray:
        """Return the inner products of the chosen X with each other: ``(u·v)²`` for pairs."""
        if self.far_and_near is None:
            terms = [(1.0, self.differences[chosen])]
        else:
            far, near = (self.differences[side[chosen]] for side in self.far_and_near)
            terms = [(1.0, far), (-1.0, near)]
        products = np.zeros((len(chosen), len(chosen)))

        def block(start: int, stop: int) -> None:
            for first, U in terms:
                for second, V in terms:
                    products[start:stop] += first * second * np.square(U[start:stop] @ V.T)

        run_blocks(block, len(chosen), 256, self.n_jobs)
        return (products + products.T) / 2

    def coordinate_sweeps(self) -> ConstraintSweeps:
        """Return what coordinate ascent on the multipliers needs."""
        return ConstraintSweeps(self)


class ConstraintSweeps:
    """Coordinate ascent on the multipliers of the constraints, with M explicit.

    A visit to one constraint costs ``n_features²`` multiplications. The differences are padded to
    whole vector registers, so that no row has to be copied. The methods are described in
    `likewise.solvers.margin.CoordinateSweeps`.
    """

    V: FloatArray
    squared_norms: FloatArray
    far: IndexArray
    near: IndexArray | None

    def __init__(self, matrices: ConstraintMatrices) -> None:
        d = matrices.n_features
        self.V = np.pad(matrices.differences, ((0, 0), (0, padded(d) - d)))
        self.squared_norms = matrices.squared_norms()
        if matrices.far_and_near is None:
            self.far, self.near = np.arange(len(matrices)), None
        else:
            self.far, self.near = matrices.far_and_near

    def working_copy(self, M: FloatArray) -> FloatArray:
        """Return a copy of M with as many rows and columns as the padded differences have."""
        padded_M = np.zeros((self.V.shape[1],) * 2)
        padded_M[: len(M), : len(M)] = M
        return padded_M

    def sweep(
        self,
        M: FloatArray,
        sign: FloatArray,
        multipliers: FloatArray,
        gradient: FloatArray,
        order: IndexArray,
        *,
        b: float,
        upper_bound: float = np.inf,
        curvature: float = 0.0,
        penalty: float = 0.0,
    ) -> float:
        """Visit the constraints in `order` once, and return the new b."""
        return _loops.margin_sweep(
            M,
            self.V,
            self.far,
            self.near,
            sign,
            self.squared_norms,
            multipliers,
            gradient,
            order,
            b=b,
            upper_bound=upper_bound,
            curvature=curvature,
            penalty=penalty,
        )


def _differences(X: Array, index: IndexArray) -> FloatArray:
    # Differences come before any product: products of the rows themselves would lose digits.
    return np.subtract(X[index[:, 0]], X[index[:, 1]], dtype=np.float64)
