"""Every row picks a neighbour at random, near ones more often: what NCA and MCML are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from likewise import _loops
from likewise._loops.softmax.types import NEGLIGIBLE
from likewise._numerics.products import product_over_rows
from likewise._runtime.arrays import Array, Float32Array, IndexArray
from likewise._runtime.memory import require_memory
from likewise._runtime.threads import count_threads, run_blocks, single_threaded_blas

_GROUPS = 16  # sums over rows are taken in so many parts, whatever the number of threads
_BLOCK_BYTES = 1 << 23  # of the block of distances that a thread works on, if high enough
_ROWS_A_PART = 1024  # at most, unless the parts would be too many
_LEAST_HEIGHT = 128  # with fewer rows a product is mostly spent on reading what it multiplies
# Where a smaller share of the others counts, finding them first is faster (measured).
_FEW = 0.1
_ASKED = 32  # rows that are asked what that share is
_LOOSE = 4.0  # a screen that is wrong by more than this keeps too many


class Choices(NamedTuple):
    """What the rows pick under some L.

    Attributes
    ----------
    own_shares : array of shape (m,)
        The probability that a row picks one of its own class.
    log_sums : array of shape (m,)
        ``log Σ_j exp(-‖L(x_i - x_j)‖²)``.
    slope : array
        ``2 Σ_ij w_ij L (x_i - x_j)(x_i - x_j)ᵀ`` for the weights asked for, of the shape of L; or
        that without 2L, square.
    """

    own_shares: Array
    log_sums: Array
    slope: Array


@dataclass(frozen=True, eq=False)
class _Screen:
    """Squared distances in single precision, up to a constant a row: enough to drop most.

    Attributes
    ----------
    points : float32 array of shape (n_rows, n_components + 1)
        z, and in the last column ``‖z‖²``.
    slack : float
        By how much the difference of two distances from a row may be wrong.
    """

    points: Float32Array
    slack: float

    @classmethod
    def of(cls, Z: Array, sqnorm: Array) -> Self | None:
        """Return the screen of rows z, or None where single precision would say too little."""
        # Rounding of k + 1 products, of their factors, and of their sum, whose terms are together
        # 3 max ‖z‖² at most; in two distances.
        slack = 2 * (Z.shape[1] + 4) * 2.0**-24 * 3 * float(sqnorm.max())
        if not slack <= _LOOSE:
            return None
        points = np.empty((len(Z), Z.shape[1] + 1), np.float32)
        points[:, :-1], points[:, -1] = Z, sqnorm
        return cls(points, slack)

    def distances(self, anchors: IndexArray, out: Float32Array) -> Float32Array:
        """Return ``‖z_j‖² - 2 z_i·z_j`` for rows i of `anchors` and all j."""
        left = -2 * self.points[anchors]
        left[:, -1] = 1
        return np.matmul(left, self.points.T, out=out)


def _few_count(Z: Array, sqnorm: Array, anchors: IndexArray) -> bool:
    """Return whether of the others few are near enough to count, going by some of the anchors."""
    asked = anchors[:: max(8, -(-len(anchors) // _ASKED))]
    with single_threaded_blas():
        distances = sqnorm - 2 * Z[asked] @ Z.T
    distances[np.arange(len(asked)), asked] = np.inf
    near = distances <= distances.min(axis=1, keepdims=True) + NEGLIGIBLE
    return bool(near.mean() < _FEW)


@dataclass(frozen=True, eq=False)
class SoftmaxNeighbours:
    """Labelled rows that pick each other: ``p_ij`` in proportion to ``exp(-‖L(x_i - x_j)‖²)``.

    No row picks itself. No array of all rows by all rows is ever made: blocks of rows are compared
    with all, and what is negligible is skipped.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        Rows in the order of their classes, about their mean, in float64; see `of`.
    own_start, own_stop : int arrays of shape (n_rows,)
        The range of the rows of each row's class.
    n_jobs : int or None
        Threads; None uses all cores.
    """

    X: Array
    own_start: IndexArray
    own_stop: IndexArray
    n_jobs: int | None = None

    @classmethod
    def of(
        cls, X: Array, codes: IndexArray, n_jobs: int | None = None, *, size: float = 1.0
    ) -> Self:
        """Sort and centre rows with class codes 0…c-1, and divide them by `size`."""
        n_rows, n_features = X.shape
        blocks = min(max(_BLOCK_BYTES, 8 * _LEAST_HEIGHT * n_rows), 8 * n_rows**2)
        require_memory(
            8.0 * (4 * n_rows * n_features + _GROUPS * n_rows) + count_threads(n_jobs) * blocks,
            f"Comparing {n_rows} rows of {n_features} features with each other",
        )
        order = np.argsort(codes, kind="stable")
        stop = np.cumsum(np.bincount(codes))
        start = np.concatenate([[0], stop[:-1]])
        rows = np.subtract(X[order], X.mean(axis=0, dtype=np.float64), dtype=np.float64)
        rows /= size
        own = codes[order]
        return cls(np.ascontiguousarray(rows), start[own], stop[own], n_jobs)

    def choices(
        self, L: Array, *, gains: bool, anchors: IndexArray | None = None, in_matrix: bool = False
    ) -> Choices:
        """Return what rows pick, and the slope for weights ``w_ij``.

        Parameters
        ----------
        L : array of shape (n_components, n_features)
        gains : bool
            True for weights ``p_ij ([same class] - own share)``: the slope is then that of minus
            the sum of own shares. False for ``p_ij``: that of minus the sum of `log_sums`.
        anchors : int array, optional
            The rows that pick; None is all.
        in_matrix : bool
            Return the slope in ``M = LᵀL`` instead of that in L.
        """
        Z = self._mapped(L)
        # The sums of mapped rows are cheaper if those are short.
        narrow = 2 * len(L) < self.X.shape[1] and not in_matrix
        every = np.arange(len(self.X))
        own_shares, log_sums, columns, sums, back = self._sums(
            Z, Z if narrow else self.X, every if anchors is None else anchors, gains, back=narrow
        )
        # In M the slope is A = Σ_j c_j x_j x_jᵀ + Σ_i r_i x_i x_iᵀ - Σ_i (x_i s_iᵀ + s_i x_iᵀ)
        # with the weights' sums by column c and by row r, and weighted sums of rows s: a matrix
        # plus its transpose. From mapped rows, LA needs both halves of the last sum.
        half, rows = (1.0, Z) if narrow else (0.5, self.X)
        of_all = (half * columns)[:, None] * rows
        if back is not None:
            of_all -= back
        if not gains:  # the weights of a row sum to 1, else to 0
            sums -= half * (rows if anchors is None else rows[anchors])
        if anchors is None:
            of_all -= sums
            slope = product_over_rows(of_all, self.X, self.n_jobs)
        else:
            slope = product_over_rows(of_all, self.X, self.n_jobs)
            slope -= product_over_rows(sums, self.X[anchors], self.n_jobs)
        if narrow:
            slope *= 2
        else:
            slope += slope.T.copy()
            slope = slope if in_matrix else 2 * L @ slope
        return Choices(own_shares, log_sums, slope)

    def _mapped(self, L: Array, rows: Array | None = None) -> Array:
        rows = self.X if rows is None else rows
        mapped = np.empty((len(rows), len(L)))

        def block(start: int, stop: int) -> None:
            mapped[start:stop] = rows[start:stop] @ L.T

        run_blocks(block, len(rows), 1024, self.n_jobs)
        return mapped

    def _sums(
        self, Z: Array, summed: Array, anchors: IndexArray, gains: bool, *, back: bool
    ) -> tuple[Array, Array, Array, Array, Array | None]:
        """Return shares, log sums, sums of weights by column, ``W summed``, ``WᵀZ`` if `back`."""
        n_rows, n_anchors = len(Z), len(anchors)
        own_start, own_stop = self.own_start[anchors], self.own_stop[anchors]
        own_shares, log_sums = np.empty(n_anchors), np.empty(n_anchors)
        sums = np.empty((n_anchors, summed.shape[1]))
        sqnorm = np.einsum("ij,ij->i", Z, Z)
        screen = _Screen.of(Z, sqnorm) if _few_count(Z, sqnorm, anchors) else None
        dtype = np.dtype(np.float64 if screen is None else np.float32)
        height = max(_LEAST_HEIGHT, _BLOCK_BYTES // (dtype.itemsize * n_rows))

        def group(start: int, stop: int) -> tuple[Array, Array | None]:
            columns = np.zeros(n_rows)
            returned = np.zeros(Z.shape) if back else None
            buffer = np.empty((min(height, stop - start), n_rows), dtype)
            for first in range(start, stop, height):
                part = slice(first, min(first + height, stop))
                block, place = buffer[: part.stop - first], anchors[part]
                who = place, own_start[part], own_stop[part]
                if screen is None:
                    weights = np.matmul(Z[place], Z.T, out=block)
                    found = _loops.softmax_rows(weights, sqnorm, *who, columns, gains=gains)
                    sums[part] = weights @ summed
                    if returned is not None:
                        returned += weights.T @ Z[place]
                else:
                    found = _loops.near_softmax(
                        screen.distances(place, out=block),
                        screen.slack,
                        Z,
                        summed,
                        *who,
                        columns,
                        sums[part],
                        returned,
                        gains=gains,
                    )
                log_sums[part], own_shares[part] = found
            return columns, returned

        # An even number of even parts, or one thread would wait for another with a larger one.
        n_parts = min(_GROUPS, 2 * -(-n_anchors // (2 * _ROWS_A_PART)))
        parts = run_blocks(group, n_anchors, -(-n_anchors // n_parts), self.n_jobs)
        columns, returned = parts[0]
        for more_columns, more_returned in parts[1:]:
            columns += more_columns
            if returned is not None:
                returned += more_returned
        return own_shares, log_sums, columns, sums, returned
