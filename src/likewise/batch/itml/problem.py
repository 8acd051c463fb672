"""The LogDet divergence from a prior metric, under bounds on distances: the problem of ITML."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, eigh, eigvalsh, solve_triangular
from scipy.sparse.linalg import LinearOperator, cg

from likewise._runtime.arrays import BoolArray, FloatArray

# Up to this many active constraints the Newton equations may be solved by a Cholesky factor of
# a matrix of that order: 32 MiB, and fewer operations than conjugate gradients.
_MAX_DENSE = 2048
_MAX_CG_STEPS = 1000


@dataclass(frozen=True, eq=False)
class LogDetProblem:
    """The M closest to a prior in LogDet divergence, subject to bounds with slack.

    ``min D(M, prior) + γ D(diag ξ, diag bounds)`` with ``vᵀMv ≤ ξ`` where `sign` is 1 and
    ``vᵀMv ≥ ξ`` where it is -1; D is the LogDet (Burg) divergence
    ``tr(AB⁻¹) - log det(AB⁻¹) - n``. The best ξ is vᵀMv where the bound is violated and the bound
    itself elsewhere, so that M alone remains: with ``s = vᵀMv / bound``, a violated bound costs
    ``γ (s - log s - 1)``.

    Parameters
    ----------
    prior : array of shape (n_features, n_features)
        Positive definite.
    V : array of shape (n_constraints, n_features)
        Differences of the two samples of each pair.
    sign, bounds : arrays of shape (n_constraints,)
    slack_weight : float
        γ: weight of the divergence of the slack variables from the bounds.
    """

    prior: FloatArray
    V: FloatArray
    sign: FloatArray
    bounds: FloatArray
    slack_weight: float

    @cached_property
    def prior_root(self) -> FloatArray:
        """The lower Cholesky factor of the prior."""
        return np.asarray(cholesky(self.prior, lower=True))

    def cost(self, s: FloatArray) -> float:
        """Return the divergence of the slack variables, weighted, at the ratios `s`."""
        violated = s[self.violated(s)]
        return self.slack_weight * float((violated - np.log(violated) - 1).sum())

    def violated(self, s: FloatArray) -> BoolArray:
        """Return a mask of the bounds that the ratios `s` violate."""
        return np.asarray(self.sign * (s - 1) > 0)


class Iterate:
    """``M = LLᵀ``, with value, gradient, duality gap and Newton step in the coordinates of L.

    A step S stands for ``M + L S Lᵀ``. There the gradient is ``E - I`` with ``E = LᵀWL`` and
    ``W = prior⁻¹ + Σ y v vᵀ``, where ``y = γ (1 - 1/s) / bound`` for violated bounds. These y are
    feasible for the dual where W is positive definite, and the duality gap is ``D(E, I)``.
    """

    problem: LogDetProblem
    L: FloatArray
    s: FloatArray
    value: float
    gradient: FloatArray

    def __init__(self, problem: LogDetProblem, L: FloatArray) -> None:
        self.problem, self.L = problem, L
        whitened = solve_triangular(problem.prior_root, L, lower=True)
        self._to_prior = whitened.T @ whitened  # Lᵀ prior⁻¹ L
        n_features = len(L)
        log_ratio = 2 * float(np.log(np.abs(np.diag(whitened))).sum())
        self._divergence = float(np.trace(self._to_prior)) - log_ratio - n_features
        U = problem.V @ L
        self.s = np.einsum("ij,ij->i", U, U) / problem.bounds
        violated = problem.violated(self.s)
        self._U, self._all_U = U[violated], U
        slope = (1 - 1 / self.s[violated]) / problem.bounds[violated]
        self._root_weight = np.sqrt(problem.slack_weight) / (
            self.s[violated] * problem.bounds[violated]
        )
        self.value = self._divergence + problem.cost(self.s)
        weighted = self._U * (problem.slack_weight * slope)[:, None]
        self.gradient = self._to_prior + weighted.T @ self._U - np.eye(n_features)

    def matrix(self) -> FloatArray:
        """Return M."""
        return np.asarray(self.L @ self.L.T)

    def gap(self) -> float:
        """Return an upper bound of the value minus the minimum, relative to the value."""
        x = eigvalsh(self.gradient)
        if x[0] <= -1:
            return 1.0  # no dual point, but the value is never negative
        rounding = len(x) * np.finfo(np.float64).eps
        return min(1.0, float((x - np.log1p(x)).sum()) / (self.value + rounding))

    def newton_step(self) -> FloatArray:
        """Return S with ``S + Σ w (uᵀSu) uuᵀ = -gradient``, where ``u = Lᵀv`` and w is φ''."""
        G, U, root_weight = self.gradient, self._U, self._root_weight
        n_active, n_features = U.shape
        if n_active == 0:
            return np.asarray(-G)
        if n_active <= min(_MAX_DENSE, n_features**2):
            # Woodbury: as many equations as there are active constraints.
            system = np.square(U @ U.T) * np.outer(root_weight, root_weight)
            system.flat[:: n_active + 1] += 1
            rhs = root_weight * _quadratics(U, G)
            solved = cho_solve(cho_factor(system, lower=True, overwrite_a=True), rhs)
            return np.asarray(_weighted_gram(U, root_weight * solved) - G)

        def apply(flat: FloatArray) -> FloatArray:
            S: FloatArray = flat.reshape(G.shape)
            product = S + _weighted_gram(U, np.square(root_weight) * _quadratics(U, S))
            return product.ravel()

        operator = LinearOperator((G.size, G.size), matvec=apply, dtype=np.float64)
        # Inexact at first, so that the convergence of Newton's method is superlinear.
        accuracy = min(0.1, float(np.sqrt(np.linalg.norm(G))))
        step, _ = cg(operator, -G.ravel(), rtol=accuracy, maxiter=_MAX_CG_STEPS)
        S = step.reshape(G.shape)
        return np.asarray((S + S.T) / 2)

    def line_search(self, S: FloatArray) -> Iterate | None:
        """Return the first of ``1, ½, ¼, …`` times S that decreases the value enough, or None."""
        if not np.isfinite(S).all():  # distances whose squares overflow
            return None
        eigenvalues, vectors = eigh(S)
        change = _quadratics(self._all_U, S) / self.problem.bounds
        slope = float(np.vdot(self.gradient, S))
        trace = float(np.vdot(self._to_prior, S))
        # Bounded so that M stays definite by a margin.
        step = min(1.0, -0.95 / min(eigenvalues[0], -np.finfo(np.float64).tiny))
        for _ in range(60):
            log_det = float(np.log1p(step * eigenvalues).sum())
            cost = self.problem.cost(self.s + step * change)
            value = self._divergence + step * trace - log_det + cost
            if value <= self.value + 1e-4 * step * slope:
                root = vectors * np.sqrt(1 + step * eigenvalues)
                return Iterate(self.problem, np.asarray(np.linalg.qr((self.L @ root).T)[1].T))
            step /= 2
        return None


def _quadratics(U: FloatArray, S: FloatArray) -> FloatArray:
    """Return uᵀSu of each row u."""
    return np.asarray(np.einsum("ij,ij->i", U @ S, U))


def _weighted_gram(U: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Σ w u uᵀ."""
    return np.asarray((U * weights[:, None]).T @ U)
