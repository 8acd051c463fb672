"""The linear system of an interior-point step, in whichever of its two sizes is smaller."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.memory import require_memory
from likewise._runtime.threads import run_blocks, single_threaded_blas
from likewise.solvers.margin.problem import ConstraintOperator, ProjectionJacobian

MAX_GRAM_SIZE = 10_000  # rows and columns of a matrix of inner products: 2.4 GB with its factor
_TILE = 192
_BLOCK = 4096
_NEGLIGIBLE = 0.01

CholeskyFactor: TypeAlias = tuple[FloatArray, bool]
"""What `scipy.linalg.cho_factor` returns; the factor is in the lower triangle."""


def system_fits(n_constraints: int, n_entries: int) -> bool:
    """Return whether the smaller form of the system is at most `MAX_GRAM_SIZE` wide."""
    return min(n_constraints, n_entries) <= MAX_GRAM_SIZE


class NormalEquations:
    """``(1/θ + HBBᵀH) x = rhs`` for coordinates B, signs H and positive weights θ.

    B has one row per constraint. With fewer coordinates than constraints ``I + BᵀθB`` is factored,
    else the matrix itself. Where the Jacobian is the identity, the coordinates or their inner
    products are computed once.
    """

    def __init__(self, matrices: ConstraintOperator, chosen: IndexArray, sign: FloatArray) -> None:
        self.matrices, self.chosen, self.sign = matrices, chosen, sign
        self.coordinates: FloatArray | None = None
        self.gram: FloatArray | None = None
        self.weights = np.zeros(0)
        self.factors: CholeskyFactor = (np.zeros((0, 0)), True)

    def factor(self, jacobian: ProjectionJacobian, weights: FloatArray) -> None:
        """Factor the system with weights θ."""
        n, size = len(self.chosen), jacobian.n_coordinates
        self.weights = weights
        fixed = jacobian.is_identity
        if size <= n:
            if self.coordinates is None or not fixed:
                require_memory(16 * n * size + 8 * size**2, f"{n} constraints of {size} entries")
                self.coordinates = self.matrices.coordinates(jacobian, self.chosen)
                self.squared_norms = np.einsum("ij,ij->i", self.coordinates, self.coordinates)
            kept = _significant_rows(weights * self.squared_norms)
            scaled = self.coordinates[kept] * np.sqrt(weights[kept])[:, None]
            matrix = gram_of_columns(scaled, self.matrices.n_jobs)
            diagonal = np.ones(size)
        else:
            self.coordinates = None
            if self.gram is None or not fixed:
                self.gram = self._gram_of_constraints(jacobian)
            matrix = self.gram * self.sign * self.sign[:, None]
            diagonal = 1 / weights
        if len(matrix):
            self.factors = factor_with_diagonal(matrix, diagonal)

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x."""
        n_jobs = self.matrices.n_jobs
        with single_threaded_blas():
            if self.coordinates is None:
                return np.asarray(cho_solve(self.factors, rhs, check_finite=False))
            scaled = self.weights * rhs
            if not self.coordinates.size:  # the Jacobian is 0
                return scaled
            reduced_rhs = weighted_row_sum(self.coordinates, self.sign * scaled, n_jobs)
            reduced = cho_solve(self.factors, reduced_rhs, check_finite=False)
        products = row_products(self.coordinates, reduced, n_jobs)
        return scaled - self.weights * self.sign * products

    def _gram_of_constraints(self, jacobian: ProjectionJacobian) -> FloatArray:
        n = len(self.chosen)
        require_memory(24 * n**2, f"The inner products of {n} constraints")
        if jacobian.is_identity:
            return np.asarray(self.matrices.gram(self.chosen))
        coordinates = self.matrices.coordinates(jacobian, self.chosen)
        return gram_of_columns(coordinates.T, self.matrices.n_jobs)


def row_products(rows: FloatArray, vector: FloatArray, n_jobs: int | None) -> FloatArray:
    """Return ``rows @ vector``."""
    products = np.empty(len(rows))

    def block(start: int, stop: int) -> None:
        products[start:stop] = rows[start:stop] @ vector

    run_blocks(block, len(rows), _BLOCK, n_jobs)
    return products


def weighted_row_sum(rows: FloatArray, weights: FloatArray, n_jobs: int | None) -> FloatArray:
    """Return ``weights @ rows``."""

    def block(start: int, stop: int) -> FloatArray:
        return np.asarray(weights[start:stop] @ rows[start:stop])

    total = np.zeros(rows.shape[1])
    for part in run_blocks(block, len(rows), _BLOCK, n_jobs):
        total += part
    return total


def factor_with_diagonal(matrix: FloatArray, diagonal: FloatArray) -> CholeskyFactor:
    """Return the Cholesky factor of ``matrix + diag(diagonal)``, regularised if rounding needs it.

    Near the optimum the weights differ by many orders of magnitude, and the diagonal may be lost in
    the rounding of the matrix.
    """
    exact = matrix.diagonal() + diagonal
    rounding = np.finfo(np.float64).eps * len(matrix) * float(exact.max(initial=0.0))
    with single_threaded_blas():
        for added in (0.0, rounding, 100 * rounding, 1e4 * rounding, 1e6 * rounding):
            matrix[np.diag_indices_from(matrix)] = exact + added
            try:
                factor, lower = cho_factor(matrix, lower=True, check_finite=False)
            except LinAlgError:
                continue
            return factor, lower
    raise FloatingPointError("The system of a Newton step is not positive definite.")


def _significant_rows(contributions: FloatArray) -> IndexArray:
    """Return the rows whose omission would change ``I + BᵀθB`` by more than `_NEGLIGIBLE`.

    Most multipliers soon stay near a bound, and their rows then have tiny weights.
    """
    order = np.argsort(contributions)
    n_omitted = np.searchsorted(np.cumsum(contributions[order]), _NEGLIGIBLE)
    return np.sort(order[n_omitted:])


def gram_of_columns(rows: FloatArray, n_jobs: int | None) -> FloatArray:
    """Return the lower triangle of ``rowsᵀ rows``, in tiles of columns."""
    size = rows.shape[1]
    gram = np.zeros((size, size))

    def block(start: int, stop: int) -> None:
        gram[start:, start:stop] = rows[:, start:].T @ rows[:, start:stop]

    run_blocks(block, size, _TILE, n_jobs)
    return gram
