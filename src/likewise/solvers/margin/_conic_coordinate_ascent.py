"""Coordinate ascent where M is a sum of the pairs' own matrices, with weights above 0."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from likewise import _loops
from likewise._runtime.arrays import FloatArray
from likewise.solvers.margin._coordinate_ascent import CoordinateAscent
from likewise.solvers.margin._run import MarginRun

_SWEEPS = 5  # over the weights, after each over the multipliers: more would make them no truer


class ConicBound:
    """What proves a bound over the hull ``Σ αₗXₗ, α ≥ 0``: a Y with ``⟨Y, X⟩ ≥ 0`` for all X.

    The dual objective is then ``Σ λ - … - ½‖A(λ) + Y‖²``. Near the optimum ``M - A(λ)`` is such a
    Y but for a little. What is missing is made up by multiplying M, or by adding a matrix whose
    ⟨·, X⟩ are all positive, whichever comes out smaller.
    """

    def __init__(self, matrices: Any) -> None:
        self.matrices = matrices
        d = matrices.differences.shape[1]
        self.inside = matrices.combine(1 / np.maximum(matrices.inner(np.eye(d)), 1e-300))
        self.inside_inner = np.maximum(matrices.inner(self.inside), 1e-300)

    def room(self, M: FloatArray, multipliers: FloatArray) -> FloatArray:
        """Return ``⟨M - A(λ), X⟩`` for every X, in units of what makes up for it."""
        Y = M - self.matrices.combine(multipliers * self.matrices.sign)
        return np.asarray(self.matrices.inner(Y) / self.inside_inner)

    def matrix(self, M: FloatArray, multipliers: FloatArray) -> FloatArray:
        """Return ``A(λ) + Y`` for a Y that is allowed."""
        A = self.matrices.combine(multipliers * self.matrices.sign)
        wanted, there = self.matrices.inner(A), self.matrices.inner(M)
        lacking = max(0.0, float(((wanted - there) / self.inside_inner).max(initial=0.0)))
        added = M + lacking * self.inside
        with np.errstate(over="ignore"):
            multiple = float((wanted / np.maximum(there, 1e-300)).max(initial=0.0))
        smaller = multiple * float(np.linalg.norm(M)) < float(np.linalg.norm(added))
        return np.asarray(multiple * M if smaller else added)


class ConicCoordinateAscent(CoordinateAscent):
    """`CoordinateAscent` with the projection on the hull: non-negative least squares.

    That, too, is done one weight after the other, beginning with the weights of the last look.
    """

    def __init__(self, run: MarginRun, start: FloatArray | None) -> None:
        super().__init__(run, start)
        self.hull = ConicBound(self.matrices)
        self.weights = np.zeros(len(self.matrices))

    def _look(self) -> tuple[FloatArray, FloatArray]:
        excess = self.matrices.combine(self.weights)
        excess -= self.matrices.combine(self.multipliers * self.matrices.sign)
        wanted = np.flatnonzero((self.weights > 0) | (self.matrices.inner(excess) < 0))
        wide = self._widened(excess)
        ones, unused = np.ones(len(self.weights)), np.zeros(len(self.weights))
        for _ in range(_SWEEPS):
            # With b = 1 a sweep asks for ⟨M - A, X⟩ ≥ 0, and for no more weight than that takes.
            _loops.margin_sweep(
                wide,
                self.V,
                self.plus,
                self.minus,
                ones,
                self.curvature,
                self.weights,
                unused,
                wanted[self.random.permutation(len(wanted))],
                b=1.0,
                top=np.inf,
                softness=0.0,
                weight=0.0,
            )
            wanted = wanted[self.weights[wanted] > 0]
        M = self.matrices.combine(self.weights)
        return M, self.matrices.inner(M)

    def _bound(self, M: FloatArray) -> Callable[[FloatArray], FloatArray]:
        return partial(self.hull.matrix, M)
