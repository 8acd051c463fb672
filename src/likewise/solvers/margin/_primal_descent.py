"""Multipliers of a smooth margin problem without a cone, from steps in M and b."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import Array, FloatArray
from likewise.solvers._protocols import Status
from likewise.solvers.lbfgs import lbfgs
from likewise.solvers.margin._run import MarginRun
from likewise.solvers.margin.problem import MarginObjective

_MAX_ITER = 200
_TOLERANCE_SHARE = 1e-3  # of the duality gap wanted, that a last step may lower the objective by


def primal_descent(run: MarginRun, start: FloatArray | None) -> tuple[FloatArray, Status]:
    """Return multipliers near the optimum, where the loss is smooth and M any symmetric matrix.

    A step of L-BFGS in M and b costs ``4 n d²`` operations for n constraints on d features. A
    Newton step in the multipliers costs about ``n d⁴/4``.

    Parameters
    ----------
    run : MarginRun
        The problem, and the duality gap that is wanted.
    start : array of shape (n_constraints,), optional
        Multipliers to begin with; else M = 0.

    Returns
    -------
    multipliers : array of shape (n_constraints,)
    status : str
        That of L-BFGS.
    """
    objective, matrices = _PrimalObjective(run.problem), run.problem.matrices
    x = np.zeros(matrices.n_features**2 + 1)
    if start is not None:
        x[:-1] = matrices.combine(start * matrices.sign).ravel()
    found = lbfgs(objective, x, max_iter=_MAX_ITER, tol=_TOLERANCE_SHARE * run.tol)
    return objective.multipliers(found.x), found.status


class _PrimalObjective:
    """``½‖M‖² + C Σ loss(1 - h(⟨M, X⟩ + b))`` of the entries of M, followed by b."""

    def __init__(self, problem: MarginObjective) -> None:
        self.problem, self.matrices = problem, problem.matrices

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Return value and gradient at the entries of M and b."""
        M, violation = self._violation(x)
        loss, C = self.problem.loss, self.problem.C
        value = float(np.vdot(M, M)) / 2 + C * float(loss.value(violation).sum())
        coefficients = C * loss.derivative(violation) * self.matrices.sign
        gradient = np.append(M - self.matrices.combine(coefficients), -coefficients.sum())
        if not self.matrices.has_intercept:
            gradient[-1] = 0.0
        return value, gradient

    def multipliers(self, x: Array) -> FloatArray:
        """Return ``λ = C loss'(violation)``; at the minimum ``M = A(λ)``."""
        return np.asarray(self.problem.C * self.problem.loss.derivative(self._violation(x)[1]))

    def matrix(self, x: Array) -> FloatArray:
        """Return M."""
        return x[:-1].reshape((self.matrices.n_features,) * 2)

    def _violation(self, x: Array) -> tuple[FloatArray, FloatArray]:
        M = self.matrix(x)
        return M, 1 - self.matrices.sign * (self.matrices.inner(M) + x[-1])
