"""An orthonormal basis of differences in feature space, which grows with the pairs it is shown.

Gram–Schmidt on ``δ = φ(a) - φ(b)`` needs only inner products, which the kernel gives: with
``G = C Cᵀ`` the Gram matrix of the kept differences and its Cholesky factor, the coordinates of a
further δ are ``C⁻¹ g``, ``g_i = ⟨δ_i, δ⟩``, and what is left of its length is a new direction.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_triangular

from likewise import _files
from likewise._runtime.arrays import FloatArray
from likewise.kernels import Kernel
from likewise.online._pair_state import PairState

_FIRST_ROOM = 8
# A direction has to stand out of the rounding errors of the kernel values that it comes from.
_NOISE = 64 * np.finfo(np.float64).eps


@_files.record
@dataclass
class KernelBasis:
    """The kept differences and the triangular factor of their Gram matrix.

    There is room for more than `count`: beyond it `factor` is the identity.
    """

    first: FloatArray
    second: FloatArray
    factor: FloatArray
    count: int = 0

    @classmethod
    def empty(cls, n_features: int, room: int) -> KernelBasis:
        """Return a basis without directions."""
        points = np.zeros((room, n_features))
        return cls(points, points.copy(), np.eye(room))

    @property
    def room(self) -> int:
        """How many directions fit."""
        return len(self.factor)

    def grow(self, room: int) -> None:
        """Make room for more directions."""
        more = room - self.room
        self.first = np.pad(self.first, ((0, more), (0, 0)))
        self.second = np.pad(self.second, ((0, more), (0, 0)))
        factor = np.eye(room)
        factor[: self.room, : self.room] = self.factor
        self.factor = factor

    def append(self, a: FloatArray, b: FloatArray, coordinates: FloatArray, height: float) -> None:
        """Keep a difference, given its coordinates and what stands out of the span."""
        j = self.count
        self.first[j], self.second[j] = a, b
        self.factor[j, :j], self.factor[j, j] = coordinates, height
        self.count += 1

    def kernel_values(self, kernel: Kernel, X: FloatArray) -> FloatArray:
        """Return the kernel of each row of X with both points of each kept difference."""
        if not self.count:
            return np.empty((len(X), 0))
        return kernel(X, np.concatenate([self.first[: self.count], self.second[: self.count]]))

    def products(self, kernel: Kernel, X: FloatArray) -> FloatArray:
        """Return ``⟨φ(x), δ_i⟩`` up to a constant a column, which cancels in differences."""
        values = self.kernel_values(kernel, np.asarray(X, dtype=np.float64))
        return values[:, : self.count] - values[:, self.count :]

    def coordinates(self, products: FloatArray) -> FloatArray:
        """Turn products with the kept differences into coordinates, one column a direction."""
        padded = np.zeros((self.room, len(products)))
        padded[: self.count] = products.T
        # All of the factor: a part of it would have to be copied for LAPACK first.
        solved = solve_triangular(
            self.factor, padded, lower=True, overwrite_b=True, check_finite=False
        )
        return np.ascontiguousarray(solved[: self.count].T)


def squared_lengths(kernel: Kernel, A: FloatArray, B: FloatArray) -> FloatArray:
    """Return ``‖φ(a) - φ(b)‖²`` of each pair of rows."""
    return np.maximum(_own_products(kernel, A, B)[0].diagonal(), 0)


def _own_products(kernel: Kernel, A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the Gram matrix of the differences of pairs, and the kernel values behind it."""
    points = np.concatenate([A, B])
    values = kernel(points, points)
    n = len(A)
    gram = (values[:n, :n] - values[:n, n:]) - (values[n:, :n] - values[n:, n:])
    equal = (A == B).all(axis=1)
    gram[equal], gram[:, equal] = 0, 0  # in spite of rounding
    return gram, np.abs(values)


@_files.record
@dataclass
class KernelState(PairState):
    """The model over the directions of a basis, with zeros in the room for further ones."""

    basis: KernelBasis = field(default_factory=lambda: KernelBasis.empty(0, 1))

    @classmethod
    def begin(cls, n_features: int, budget: int | None) -> KernelState:
        """Return the state before the first event: no metric and no direction."""
        room = min(_FIRST_ROOM, budget or _FIRST_ROOM)
        state = cls.start(np.zeros((room, room)), 0.0, "each")
        assert isinstance(state, KernelState)
        state.basis = KernelBasis.empty(n_features, room)
        return state

    def grow(self, budget: int | None) -> None:
        """Make room for more directions, which the metric does not see yet."""
        room = self.basis.room
        wider = room + max(_FIRST_ROOM, room // 4)
        wider = min(wider, budget or wider)
        grown = PairState.start(np.pad(self.dense(), (0, wider - room)), self.b, "each")
        self.matrix, self.form = grown.matrix, grown.form
        self.basis.grow(wider)


class Arrivals:
    """Pairs on their way into a basis, in coordinates that follow as the basis grows.

    All kernel values are computed here at once, so that nothing can fail later.

    Parameters
    ----------
    state : KernelState
        Grows as directions are kept.
    kernel : callable
        See `kernel_function`.
    A, B : float64 arrays of shape (n, n_features)
        The two sides of the pairs.
    scale : float
        What lengths in feature space are multiplied by.
    tolerance : float
        A difference that stands out of the basis by less than this share of its length is
        projected on it.
    budget : int, optional
        The same happens to all further ones once there are so many directions.
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
        self._gram, self._sizes = _own_products(kernel, A, B)
        length2 = np.maximum(self._gram.diagonal(), 0)
        known = basis.kernel_values(kernel, np.concatenate([A, B]))
        products = known[:n] - known[n:]
        products = products[:, : basis.count] - products[:, basis.count :]
        products[(A == B).all(axis=1)] = 0
        self._coordinates = np.zeros((n, basis.room))
        self._coordinates[:, : basis.count] = basis.coordinates(products)
        self.longest2 = float(length2.max()) * scale**2
        self._left = length2 - np.square(self._coordinates).sum(axis=1)
        self._least = tolerance**2 * length2
        largest = np.abs(known).max(axis=1, initial=0.0)
        for rows, columns in ((0, 0), (0, n), (n, n)):
            own = self._sizes[rows : rows + n, columns : columns + n].diagonal()
            largest[:n] = np.maximum(largest[:n], own)
        self._size = np.maximum(largest[:n], largest[n:])

    def __len__(self) -> int:
        return len(self._left)

    def rows(self, start: int, stop: int) -> FloatArray:
        """Return pairs in the coordinates of the basis as it is now."""
        return self._coordinates[start:stop] * self._scale

    def offer(self, k: int) -> FloatArray:
        """Return pair k as a row, with the coordinate that would be its own direction's."""
        if self._is_new(k) and self._state.basis.count == self._state.basis.room:
            self._state.grow(self._budget)
            more = self._state.basis.room - self._coordinates.shape[1]
            self._coordinates = np.pad(self._coordinates, ((0, 0), (0, more)))
        row = self._coordinates[k] * self._scale
        if self._is_new(k):
            row[self._state.basis.count] = self._scale * self._left[k] ** 0.5
        return np.asarray(row)

    def keep(self, k: int) -> None:
        """Take the direction of pair k into the basis, if it has one, and tell the later pairs."""
        if not self._is_new(k):
            return
        basis, n, later = self._state.basis, len(self), slice(k + 1, None)
        j, height = basis.count, self._left[k] ** 0.5
        own = self._coordinates[k, :j]
        basis.append(self._points[0][k], self._points[1][k], own, height)
        along = (self._gram[k, later] - self._coordinates[later, :j] @ own) / height
        self._coordinates[later, j] = along
        self._left[later] -= np.square(along)
        sizes = np.maximum(self._sizes[k], self._sizes[n + k])
        self._size[later] = np.maximum(self._size[later], np.maximum(sizes[:n], sizes[n:])[later])

    def _is_new(self, k: int) -> bool:
        room = self._budget is None or self._state.basis.count < self._budget
        return room and bool(self._left[k] > max(self._least[k], _NOISE * self._size[k]))
