"""An orthonormal basis of differences in the feature space of a kernel, which grows on demand.

Gram–Schmidt on ``δ = φ(a) - φ(b)`` needs only inner products, which the kernel gives. Let
``G = C Cᵀ`` be the Gram matrix of the differences in the basis and its Cholesky factor. The
coordinates of another δ are ``C⁻¹ g`` with ``g_i = ⟨δ_i, δ⟩``. Its residual, the part outside the
span of the basis, is a new direction.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_triangular

from likewise import _files
from likewise._runtime.arrays import FloatArray
from likewise._runtime.invariants import require, require_array, require_count
from likewise.kernels import Kernel
from likewise.online._pair_state import PairState

_INITIAL_CAPACITY = 8
# A residual must exceed the rounding errors of the kernel values that it is computed from.
_NOISE = 64 * np.finfo(np.float64).eps


@_files.record
@dataclass
class KernelBasis:
    """Differences and the triangular factor of their Gram matrix.

    The arrays have a capacity beyond `count`, where `factor` is the identity.
    """

    first: FloatArray
    second: FloatArray
    factor: FloatArray
    count: int = 0

    @classmethod
    def empty(cls, n_features: int, capacity: int) -> KernelBasis:
        """Return a basis without directions."""
        points = np.zeros((capacity, n_features))
        return cls(points, points.copy(), np.eye(capacity))

    def check(self) -> None:
        """Raise a ValueError if the fields are not valid."""
        capacity = self.capacity
        require(capacity > 0)
        require_array(self.first, capacity, None)
        require_array(self.second, *self.first.shape)
        require_array(self.factor, capacity, capacity)
        require(bool(self.factor.diagonal().all()))
        require_count(self.count, most=capacity)

    @property
    def capacity(self) -> int:
        """Number of directions that fit into the arrays."""
        return len(self.factor)

    def grow(self, capacity: int) -> None:
        """Enlarge the arrays."""
        more = capacity - self.capacity
        self.first = np.pad(self.first, ((0, more), (0, 0)))
        self.second = np.pad(self.second, ((0, more), (0, 0)))
        factor = np.eye(capacity)
        factor[: self.capacity, : self.capacity] = self.factor
        self.factor = factor

    def append(
        self, a: FloatArray, b: FloatArray, coordinates: FloatArray, residual: float
    ) -> None:
        """Add a difference, given its coordinates and the length of its residual."""
        j = self.count
        self.first[j], self.second[j] = a, b
        self.factor[j, :j], self.factor[j, j] = coordinates, residual
        self.count += 1

    def kernel_values(self, kernel: Kernel, X: FloatArray) -> FloatArray:
        """Return the kernel of each row of X with both points of each difference in the basis."""
        if not self.count:
            return np.empty((len(X), 0))
        return kernel(X, np.concatenate([self.first[: self.count], self.second[: self.count]]))

    def products(self, kernel: Kernel, X: FloatArray) -> FloatArray:
        """Return ``⟨φ(x), δ_i⟩`` up to a constant per column, which cancels in differences."""
        values = self.kernel_values(kernel, np.asarray(X, dtype=np.float64))
        return values[:, : self.count] - values[:, self.count :]

    def coordinates(self, products: FloatArray) -> FloatArray:
        """Turn products with the differences into coordinates, one column per direction."""
        padded = np.zeros((self.capacity, len(products)))
        padded[: self.count] = products.T
        # The whole factor: LAPACK would need a copy of a part of it.
        solved = solve_triangular(
            self.factor, padded, lower=True, overwrite_b=True, check_finite=False
        )
        return np.ascontiguousarray(solved[: self.count].T)


def squared_lengths(kernel: Kernel, A: FloatArray, B: FloatArray) -> FloatArray:
    """Return ``‖φ(a) - φ(b)‖²`` of each pair of rows."""
    return np.maximum(_gram_matrix(kernel, A, B)[0].diagonal(), 0)


def _gram_matrix(kernel: Kernel, A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the Gram matrix of the differences of pairs, and the sizes of the kernel values."""
    points = np.concatenate([A, B])
    values = kernel(points, points)
    n = len(A)
    gram = (values[:n, :n] - values[:n, n:]) - (values[n:, :n] - values[n:, n:])
    equal = (A == B).all(axis=1)
    gram[equal], gram[:, equal] = 0, 0  # exactly, in spite of rounding
    return gram, np.abs(values)


@_files.record
@dataclass
class KernelState(PairState):
    """The model over the directions of a basis, with zeros beyond their number."""

    basis: KernelBasis = field(default_factory=lambda: KernelBasis.empty(0, 1))

    @classmethod
    def empty(cls, n_features: int, budget: int | None) -> KernelState:
        """Return the state before the first event: M is zero and the basis has no direction."""
        capacity = min(_INITIAL_CAPACITY, budget or _INITIAL_CAPACITY)
        state = cls.start(np.zeros((capacity, capacity)), 0.0, "each")
        assert isinstance(state, KernelState)
        state.basis = KernelBasis.empty(n_features, capacity)
        return state

    def check(self) -> None:
        """Raise a ValueError if the fields are not valid."""
        super().check()
        require(isinstance(self.basis, KernelBasis))
        require(self.n_coordinates == self.basis.capacity)

    def grow(self, budget: int | None) -> None:
        """Enlarge the basis and M for further directions, along which M is zero."""
        capacity = self.basis.capacity
        larger = capacity + max(_INITIAL_CAPACITY, capacity // 4)
        larger = min(larger, budget or larger)
        grown = PairState.start(np.pad(self.dense(), (0, larger - capacity)), self.b, "each")
        self.matrix, self.eigenbasis = grown.matrix, grown.eigenbasis
        self.basis.grow(larger)


class KernelDifferences:
    """Differences ``φ(a) - φ(b)`` in the coordinates of a basis that grows with the updates.

    All kernel values are computed in the constructor, so that nothing can fail during the updates.

    Parameters
    ----------
    state : KernelState
        Its basis grows.
    kernel : callable
        See `kernel_function`.
    A, B : float64 arrays of shape (n_pairs, n_features)
        The two samples of each pair.
    scale : float
        Factor on lengths in feature space.
    tolerance : float
        A difference whose residual is shorter than this fraction of its length is projected onto
        the basis.
    budget : int, optional
        Maximum number of directions; further differences are projected onto the basis.
    """

    def __init__(
        self,
        state: KernelState,
        kernel: Kernel,
        A: FloatArray,
        B: FloatArray,
        *,
        scale: float,
        tolerance: float,
        budget: int | None,
    ) -> None:
        self._state, self._points = state, (A, B)
        self._scale, self._budget = scale, budget
        n, basis = len(A), state.basis
        self._gram, self._sizes = _gram_matrix(kernel, A, B)
        sqnorms = np.maximum(self._gram.diagonal(), 0)
        known = basis.kernel_values(kernel, np.concatenate([A, B]))
        products = known[:n] - known[n:]
        products = products[:, : basis.count] - products[:, basis.count :]
        products[(A == B).all(axis=1)] = 0
        self._coordinates = np.zeros((n, basis.capacity))
        self._coordinates[:, : basis.count] = basis.coordinates(products)
        self.max_sqnorm = float(sqnorms.max()) * scale**2
        self._residual2 = sqnorms - np.square(self._coordinates).sum(axis=1)
        self._min_residual2 = tolerance**2 * sqnorms
        largest = np.abs(known).max(axis=1, initial=0.0)
        for rows, columns in ((0, 0), (0, n), (n, n)):
            own = self._sizes[rows : rows + n, columns : columns + n].diagonal()
            largest[:n] = np.maximum(largest[:n], own)
        self._size = np.maximum(largest[:n], largest[n:])

    def __len__(self) -> int:
        return len(self._residual2)

    def rows(self, start: int, stop: int) -> FloatArray:
        """Return pairs `start` to `stop` in the coordinates of the current basis."""
        return self._coordinates[start:stop] * self._scale

    def row_for_update(self, k: int) -> FloatArray:
        """Return pair k in the basis, extended by the direction of its residual if that is new."""
        basis = self._state.basis
        if self._is_new(k) and basis.count == basis.capacity:
            self._state.grow(self._budget)
            more = basis.capacity - self._coordinates.shape[1]
            self._coordinates = np.pad(self._coordinates, ((0, 0), (0, more)))
        row = self._coordinates[k] * self._scale
        if self._is_new(k):
            row[basis.count] = self._scale * self._residual2[k] ** 0.5
        return np.asarray(row)

    def updated(self, k: int) -> None:
        """Add the residual of pair k to the basis, if it is new, and update the later pairs."""
        if not self._is_new(k):
            return
        basis, n, later = self._state.basis, len(self), slice(k + 1, None)
        j, residual = basis.count, self._residual2[k] ** 0.5
        own = self._coordinates[k, :j]
        basis.append(self._points[0][k], self._points[1][k], own, residual)
        along = (self._gram[k, later] - self._coordinates[later, :j] @ own) / residual
        self._coordinates[later, j] = along
        self._residual2[later] -= np.square(along)
        sizes = np.maximum(self._sizes[k], self._sizes[n + k])
        self._size[later] = np.maximum(self._size[later], np.maximum(sizes[:n], sizes[n:])[later])

    def _is_new(self, k: int) -> bool:
        """Return whether pair k has a residual beyond rounding, and the budget allows it."""
        allowed = self._budget is None or self._state.basis.count < self._budget
        noise = _NOISE * self._size[k]
        return allowed and bool(self._residual2[k] > max(self._min_residual2[k], noise))
