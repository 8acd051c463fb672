"""Coordinates of pairs in the feature space of a kernel between pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from likewise._runtime.arrays import Array, FloatArray
from likewise._runtime.memory import require_memory
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import as_float_array
from likewise.objectives.working_memory import kernel_pca_bytes

_BLOCK = 512
_TOLERANCE = 1e-8  # relative to the largest kernel value, or eigenvalue

PairKernel = Callable[[FloatArray, FloatArray, FloatArray, FloatArray], Any]
"""``κ(A, B, C, D)``: the kernel of the pairs (A[i], B[i]) with the pairs (C[j], D[j])."""


@dataclass(frozen=True, eq=False)
class PairKernelSpace:
    """The subspace of a pair kernel's feature space that the training pairs span.

    Attributes
    ----------
    first, second : arrays of shape (n_pairs, n_features)
        The two sides of the training pairs.
    basis : array of shape (n_pairs, n_directions)
        Maps kernel values with the training pairs to coordinates.
    """

    first: FloatArray
    second: FloatArray
    basis: FloatArray

    @classmethod
    def from_pairs(
        cls, A: Array, B: Array, kernel: PairKernel
    ) -> tuple[PairKernelSpace, FloatArray]:
        """Return the space, and the coordinates of the pairs (A[i], B[i]).

        The kernel is refused if it is not one, or if its square gives no distance: this must not
        depend on the order of a pair, and be 0 for a pair of equal samples.
        """
        first, second = (np.ascontiguousarray(side, dtype=np.float64) for side in (A, B))
        n = len(first)
        require_memory(
            kernel_pca_bytes(n),
            f"The pair kernel of {n} pairs",
            "learn from fewer pairs instead",
        )
        values = _checked(kernel, first, second, first, second)
        largest = float(np.abs(values).max(initial=0.0))
        _refuse(np.abs(values - values.T).max(), largest, "not symmetric: κ(p, q) - κ(q, p)")
        swapped = _checked(kernel, second, first, first, second)
        _refuse(
            np.abs(np.abs(swapped) - np.abs(values)).max(),
            largest,
            "not the same up to its sign for (a, b) and (b, a): the difference",
        )
        equal = _checked(kernel, first, first, first, second)
        _refuse(np.abs(equal).max(), largest, "not 0 for a pair of equal samples: κ")
        with single_threaded_blas():
            eigenvalues, directions = eigh((values + values.T) / 2)
        _refuse(-eigenvalues[0], float(eigenvalues[-1]), "not positive semidefinite: -λ")
        tolerance = n * float(np.finfo(A.dtype).eps)
        kept = np.flatnonzero(eigenvalues > eigenvalues[-1] * tolerance)[::-1]
        if not len(kept):
            raise ValueError("pair_kernel is 0 for all pairs, but it must not be.")
        roots = np.sqrt(eigenvalues[kept])
        space = cls(first, second, np.ascontiguousarray(directions[:, kept] / roots))
        return space, np.ascontiguousarray(directions[:, kept] * roots)

    def coordinates(self, A: Array, B: Array, kernel: PairKernel) -> FloatArray:
        """Return the coordinates of the projections of other pairs."""
        coordinates = np.empty((len(A), self.basis.shape[1]))
        for start in range(0, len(A), _BLOCK):
            rows = slice(start, start + _BLOCK)
            first, second = (np.asarray(side[rows], dtype=np.float64) for side in (A, B))
            values = _checked(kernel, first, second, self.first, self.second)
            coordinates[rows] = values @ self.basis
        return coordinates


def _checked(kernel: PairKernel, *sides: FloatArray) -> FloatArray:
    """Return the kernel's values, after their shape and whether they are finite are checked."""
    values = as_float_array(kernel(*sides), "The result of pair_kernel")
    expected = len(sides[0]), len(sides[2])
    if values.shape != expected:
        raise ValueError(
            f"pair_kernel returned an array of shape {values.shape} for {expected[0]} and "
            f"{expected[1]} pairs, but it must be of shape {expected}."
        )
    if not np.isfinite(values).all():
        raise ValueError("pair_kernel returned NaN or infinity, but its values must be finite.")
    return values


def _refuse(excess: float, largest: float, what: str) -> None:
    if excess > _TOLERANCE * max(largest, 0.0):
        raise ValueError(
            f"pair_kernel is {what} is {excess:.3g}, where at most rounding errors are allowed."
        )
