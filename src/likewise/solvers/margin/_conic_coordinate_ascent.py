"""Coordinate ascent over the conic hull of the constraint matrices, ``M = Σ αₗXₗ`` with α ≥ 0."""

from __future__ import annotations

from functools import partial

import numpy as np

from likewise._runtime.arrays import FloatArray
from likewise.solvers.margin._coordinate_ascent import CoordinateAscent
from likewise.solvers.margin._run import BoundMatrix, MarginRun
from likewise.solvers.margin.problem import ConstraintOperator

_WEIGHT_SWEEPS = 5  # after each sweep over the multipliers; more do not improve the weights
_TINY = 1e-300


class ConicBound:
    """Lower bounds over the hull ``Σ αₗXₗ, α ≥ 0``, from a Y with ``⟨Y, X⟩ ≥ 0`` for all X.

    The dual objective with ``‖A(λ) + Y‖²`` in place of ``‖P(A(λ))‖²`` is a lower bound for every Y
    of the dual cone. Near the optimum ``M - A(λ)`` is almost in the dual cone. It is moved there
    by multiplying M, or by adding a multiple of a matrix of the dual cone's interior, whichever
    gives the smaller norm.
    """

    def __init__(self, matrices: ConstraintOperator) -> None:
        self.matrices = matrices
        traces = matrices.inner(np.eye(matrices.n_features))
        self.interior = matrices.combine(1 / np.maximum(traces, _TINY))
        self.interior_inner = np.maximum(matrices.inner(self.interior), _TINY)

    def slack(self, M: FloatArray, multipliers: FloatArray) -> FloatArray:
        """Return ``⟨M - A(λ), X⟩`` of every X, relative to that of the interior matrix."""
        Y = M - self.matrices.combine(multipliers * self.matrices.sign)
        return np.asarray(self.matrices.inner(Y) / self.interior_inner)

    def matrix(self, M: FloatArray, multipliers: FloatArray) -> FloatArray:
        """Return ``A(λ) + Y`` for a Y of the dual cone."""
        A = self.matrices.combine(multipliers * self.matrices.sign)
        required, present = self.matrices.inner(A), self.matrices.inner(M)
        missing = max(0.0, float(((required - present) / self.interior_inner).max(initial=0.0)))
        shifted = M + missing * self.interior
        with np.errstate(over="ignore"):
            multiple = float((required / np.maximum(present, _TINY)).max(initial=0.0))
        use_multiple = multiple * float(np.linalg.norm(M)) < float(np.linalg.norm(shifted))
        return np.asarray(multiple * M if use_multiple else shifted)


class ConicCoordinateAscent(CoordinateAscent):
    """`CoordinateAscent` with the projection on the hull: non-negative least squares.

    The weights α, too, are updated one after the other, from those of the last evaluation.
    """

    def __init__(self, run: MarginRun, start: FloatArray | None) -> None:
        super().__init__(run, start)
        self.bound = ConicBound(self.matrices)
        n = len(self.matrices)
        self.weights, self.generators = np.zeros(n), np.arange(n)
        self.M = self.matrices.combine(self.weights)

    def _evaluate(self) -> tuple[FloatArray, FloatArray]:
        A = self.matrices.combine(self.multipliers * self.matrices.sign)
        self.M = self.matrices.combine(self.weights)
        inner = self.matrices.inner(self.M - A)
        self.generators = np.flatnonzero((self.weights > 0) | (inner < 0))
        for _ in range(_WEIGHT_SWEEPS):
            self._project(A)
        self.M = self.matrices.combine(self.weights)
        return self.M, self.matrices.inner(self.M)

    def _visits_per_projection(self) -> int:
        return max(super()._visits_per_projection(), len(self.generators))

    def _project(self, A: FloatArray) -> FloatArray:
        """Return the member of the hull after one sweep over the weights of the generators."""
        before = self.sweeps.working_copy(self.M - A)
        Y, ones = before.copy(), np.ones(len(self.weights))
        # With b = 1 and h = 1 a sweep asks for ⟨Y, X⟩ ≥ 0, with equality where α > 0.
        order = self.generators[self.random.permutation(len(self.generators))]
        self.sweeps.sweep(Y, ones, self.weights, np.zeros_like(ones), order, b=1.0)
        self.M = self.M + (Y - before)[: len(A), : len(A)]
        return self.M

    def _bound_matrix(self, M: FloatArray) -> BoundMatrix:
        return partial(self.bound.matrix, M)
