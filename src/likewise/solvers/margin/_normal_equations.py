"""The linear system of an interior-point step, in whichever of its two sizes is smaller."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.memory import require_memory
from likewise._runtime.threads import run_blocks, single_threaded_blas

LARGEST_TABLE = 10_000  # rows and columns of a table of inner products: 2.4 GB with its factor
_TILE = 192
_ROWS = 4096
_NEGLIGIBLE = 0.01


def table_fits(n: int, size: int) -> bool:
    """Return whether a step on n constraints of so many entries needs no table beyond the limit."""
    return min(n, size) <= LARGEST_TABLE


class NormalEquations:
    """``(1/θ + HBBᵀH) x = r`` for rows B of coordinates, signs H and positive weights θ.

    With fewer coordinates than rows, ``I + BᵀθB`` is factored, else the matrix as it stands.
    Where the coordinates do not depend on the face (all symmetric matrices) they or their inner
    products are computed once.
    """

    def __init__(self, matrices: Any, chosen: IndexArray, sign: FloatArray) -> None:
        self.matrices, self.chosen, self.sign = matrices, chosen, sign
        self.rows: FloatArray | None = None
        self.gram: FloatArray | None = None
        self.weights = np.zeros(0)
        self.factors: Any = None

    def factor(self, face: Any, weights: FloatArray) -> None:
        """Prepare to solve at a face of the cone with weights θ."""
        n, size = len(self.chosen), face.size
        self.weights = weights
        fixed = face.basis is None
        if size <= n:
            if self.rows is None or not fixed:
                require_memory(16 * n * size + 8 * size**2, f"{n} constraints of {size} entries")
                self.rows = self.matrices.coordinates(face, self.chosen)
                self.lengths2 = np.einsum("ij,ij->i", self.rows, self.rows)
            kept = _what_matters(weights * self.lengths2)
            scaled = self.rows[kept] * np.sqrt(weights[kept])[:, None]
            matrix = gram(scaled, self.matrices.n_jobs)
            shift = np.ones(size)
        else:
            self.rows = None
            if self.gram is None or not fixed:
                self.gram = self._products(face, fixed)
            matrix = self.gram * self.sign * self.sign[:, None]
            shift = 1 / weights
        self.factors = factored(matrix, shift) if len(matrix) else None

    def solve(self, right: FloatArray) -> FloatArray:
        """Return x."""
        n_jobs = self.matrices.n_jobs
        with single_threaded_blas():
            if self.rows is None:
                return np.asarray(cho_solve(self.factors, right, check_finite=False))
            scaled = self.weights * right
            if not self.rows.size:  # every matrix is seen as zero
                return scaled
            inner = cho_solve(
                self.factors, sums(self.rows, self.sign * scaled, n_jobs), check_finite=False
            )
        return scaled - self.weights * self.sign * products(self.rows, inner, n_jobs)

    def _products(self, face: Any, fixed: bool) -> FloatArray:
        n = len(self.chosen)
        require_memory(24 * n**2, f"The inner products of {n} constraints")
        if fixed:
            return np.asarray(self.matrices.gram(self.chosen))
        return gram(self.matrices.coordinates(face, self.chosen).T, self.matrices.n_jobs)


def products(rows: FloatArray, coordinates: FloatArray, n_jobs: int | None) -> FloatArray:
    """Return ``rows @ coordinates``."""
    found = np.empty(len(rows))

    def block(start: int, stop: int) -> None:
        found[start:stop] = rows[start:stop] @ coordinates

    run_blocks(block, len(rows), _ROWS, n_jobs)
    return found


def sums(rows: FloatArray, weights: FloatArray, n_jobs: int | None) -> FloatArray:
    """Return ``weights @ rows``."""

    def block(start: int, stop: int) -> FloatArray:
        return np.asarray(weights[start:stop] @ rows[start:stop])

    total = np.zeros(rows.shape[1])
    for part in run_blocks(block, len(rows), _ROWS, n_jobs):
        total += part
    return total


def factored(matrix: FloatArray, shift: FloatArray) -> Any:
    """Return the factors of ``matrix + diag(shift)``, raised as far as rounding asks for it.

    Towards the end the weights differ by many orders of magnitude, and the shift may be lost in
    the rounding of the matrix.
    """
    diagonal = matrix.diagonal() + shift
    rounding = np.finfo(np.float64).eps * len(matrix) * float(diagonal.max(initial=0.0))
    with single_threaded_blas():
        for raised in (0.0, rounding, 100 * rounding, 1e4 * rounding, 1e6 * rounding):
            matrix[np.diag_indices_from(matrix)] = diagonal + raised
            try:
                return cho_factor(matrix, lower=True, check_finite=False)
            except LinAlgError:
                continue
    raise FloatingPointError("The system of a Newton step is not positive definite.")


def _what_matters(contributions: FloatArray) -> IndexArray:
    """Return the rows whose leaving out would change a matrix ``I + …`` by more than a little.

    Most multipliers soon come to rest at a bound, and their rows then weigh next to nothing.
    """
    order = np.argsort(contributions)
    left_out = np.searchsorted(np.cumsum(contributions[order]), _NEGLIGIBLE)
    return np.sort(order[left_out:])


def gram(rows: FloatArray, n_jobs: int | None) -> FloatArray:
    """Return the lower triangle of ``rowsᵀ rows``, tile by tile of its columns."""
    size = rows.shape[1]
    found = np.zeros((size, size))

    def block(start: int, stop: int) -> None:
        found[start:, start:stop] = rows[:, start:].T @ rows[:, start:stop]

    run_blocks(block, size, _TILE, n_jobs)
    return found
