"""Every row picks a neighbour at random, near ones more often: what NCA and MCML are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likewise import _kernels
from likewise._memory import require_memory
from likewise._threads import run_blocks
from likewise.objectives._rows import product_over_rows

Array = NDArray[Any]
Index = NDArray[np.int64]

_GROUPS = 16  # sums over rows are taken in so many parts, whatever the number of threads
_BLOCK_VALUES = 1 << 20  # of the block of distances that a thread works on
# Where fewer weights are not negligible, leaving the others out beats a matrix product (measured).
_SPARSE = 0.15


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
class NeighbourChoice:
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
    own_start: Index
    own_stop: Index
    n_jobs: int | None = None

    @classmethod
    def of(cls, X: Array, codes: Index, n_jobs: int | None = None, *, size: float = 1.0) -> Self:
        """Sort and centre rows with class codes 0…c-1, and divide them by `size`."""
        n_rows, n_features = X.shape
        require_memory(
            8.0 * (3 * n_rows * n_features + _GROUPS * n_rows + 4 * _BLOCK_VALUES),
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
        self, L: Array, *, gains: bool, anchors: Index | None = None, in_matrix: bool = False
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
        if anchors is None:
            anchors = np.arange(len(self.X))
        Z = self._mapped(L)
        # The sums W X serve as W Z, too; sums of mapped rows are cheaper if those are short.
        narrow = 2 * len(L) < self.X.shape[1] and not in_matrix
        own_shares, log_sums, columns, sums, back = self._sums(
            Z, Z if narrow else self.X, anchors, gains=gains, back=narrow
        )
        every = len(anchors) == len(self.X)
        X_own = self.X if every else self.X[anchors]
        left, left_own = (self.X, X_own) if in_matrix else (Z, Z if every else Z[anchors])
        everywhere = left * columns[:, None]
        # The weights of a row sum to 0 or to 1.
        of_anchors = np.zeros_like(left_own) if gains else left_own.copy()
        if narrow:
            everywhere -= back
            of_anchors -= sums
        else:
            of_anchors -= sums if in_matrix else self._mapped(L, sums)
        slope = product_over_rows(everywhere, self.X, self.n_jobs)
        slope += product_over_rows(of_anchors, X_own, self.n_jobs)
        if not narrow:
            slope -= product_over_rows(left_own, sums, self.n_jobs)
        return Choices(own_shares, log_sums, (slope + slope.T) / 2 if in_matrix else 2 * slope)

    def _mapped(self, L: Array, rows: Array | None = None) -> Array:
        rows = self.X if rows is None else rows
        mapped = np.empty((len(rows), len(L)))

        def block(start: int, stop: int) -> None:
            mapped[start:stop] = rows[start:stop] @ L.T

        run_blocks(block, len(rows), 1024, self.n_jobs)
        return mapped

    def _sums(
        self, Z: Array, summed: Array, anchors: Index, *, gains: bool, back: bool
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Return shares, log sums, sums of weights by column, ``W summed``, ``WᵀZ`` if `back`."""
        n_rows, n_anchors = len(Z), len(anchors)
        sqnorm = np.einsum("ij,ij->i", Z, Z)
        own_start, own_stop = self.own_start[anchors], self.own_stop[anchors]
        own_shares, log_sums = np.empty(n_anchors), np.empty(n_anchors)
        sums = np.empty((n_anchors, summed.shape[1]))
        height = max(8, _BLOCK_VALUES // n_rows)

        def group(start: int, stop: int) -> tuple[Array, Array]:
            columns = np.zeros(n_rows)
            returned = np.zeros(Z.shape if back else (0, 0))
            buffer = np.empty((min(height, stop - start), n_rows))
            for first in range(start, stop, height):
                part = slice(first, min(first + height, stop))
                rows = Z[anchors[part]]
                weights = np.matmul(rows, Z.T, out=buffer[: len(rows)])
                found = _kernels.softmax_rows(
                    weights,
                    sqnorm,
                    anchors[part],
                    own_start[part],
                    own_stop[part],
                    columns,
                    gains=gains,
                )
                own_shares[part], log_sums[part] = found.own_shares, found.log_sums
                few = found.n_weights < _SPARSE * weights.size
                product = _kernels.weighted_sums if few else np.matmul
                sums[part] = product(weights, summed)
                if back:
                    returned += weights.T @ rows
            return columns, returned

        parts = run_blocks(group, n_anchors, max(height, -(-n_anchors // _GROUPS)), self.n_jobs)
        columns, returned = parts[0]
        for more_columns, more_returned in parts[1:]:
            columns += more_columns
            returned += more_returned
        return own_shares, log_sums, columns, sums, returned
