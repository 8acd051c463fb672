"""The chapter's own solvers of PCML and NCML, Algorithms 2.1 and 2.2: LIBSVM, over and over.

They maximise the dual problem over the multipliers λ of the pairs, an SVM with given offsets, and
over the part that keeps M in its cone, in turns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import nnls
from sklearn.svm import SVR

from likewise._runtime.arrays import FloatArray
from likewise.losses import Hinge
from likewise.metric import nearest_psd
from likewise.objectives import ConstraintMatrices, MarginProblem

_LIBSVM_TOL = 1e-5  # of a violation of the optimality conditions
_CACHE = 500  # MB
_MAX_DOUBLINGS = 40

Projection = Callable[[FloatArray], FloatArray]
"""Maps the coefficients λh of the pairs to the M of the cone that is nearest to Σ λhX."""


@dataclass
class Alternation:
    """What an alternating solver found.

    Attributes
    ----------
    M : array of shape (n_features, n_features)
        The matrix after the last iteration.
    primal, dual : lists of float
        Both objectives after each iteration.
    """

    M: FloatArray
    primal: list[float] = field(default_factory=list)
    dual: list[float] = field(default_factory=list)

    @property
    def gaps(self) -> list[float]:
        """The duality gap after each iteration, relative to the primal objective."""
        return [(p - d) / p for p, d in zip(self.primal, self.dual, strict=True)]


def alternating_pcml(
    matrices: ConstraintMatrices, C: float, *, max_iter: int, decrease: float = 0.0
) -> Alternation:
    """Algorithm 2.1: SVM multipliers and the positive semidefinite part, in turns.

    Parameters
    ----------
    matrices : ConstraintMatrices
        The pairs.
    C : float
        The weight of the sum of losses.
    max_iter : int
        The maximum number of iterations.
    decrease : float
        Stop when the gap changes by less than this part of the first gap (Eq. 2.14).
    """

    def nearest(coefficients: FloatArray) -> FloatArray:
        return np.asarray(nearest_psd(matrices.combine(coefficients)))

    return _alternate(matrices, C, nearest, max_iter, decrease)


def alternating_ncml(
    matrices: ConstraintMatrices, C: float, *, max_iter: int, decrease: float = 0.0
) -> Alternation:
    """Algorithm 2.2: SVM multipliers and non-negative weights of the pairs, in turns.

    The weights are those of the member of the cone that is nearest to Σ λhX (Eq. 2.23):
    non-negative least squares. Parameters are those of `alternating_pcml`.
    """
    values, vectors = np.linalg.eigh(matrices.gram(np.arange(len(matrices))))
    kept = values > values.max(initial=0.0) * len(values) * np.finfo(np.float64).eps
    # Columns with the inner products of the matrices of the pairs.
    columns = (vectors[:, kept] * np.sqrt(values[kept])).T

    def nearest(coefficients: FloatArray) -> FloatArray:
        weights, _ = nnls(columns, columns @ coefficients, maxiter=20 * len(matrices))
        return matrices.combine(weights)

    return _alternate(matrices, C, nearest, max_iter, decrease)


def _alternate(
    matrices: ConstraintMatrices, C: float, project: Projection, max_iter: int, decrease: float
) -> Alternation:
    problem = MarginProblem(matrices, Hinge(), C)
    kernel = matrices.gram(np.arange(len(matrices)))
    found = Alternation(np.zeros((matrices.n_features,) * 2))
    offset = np.zeros(len(matrices))  # ⟨Y, X⟩ of each pair, with M = Σ λhX + Y
    for _ in range(max_iter):
        coefficients = solve_svm(kernel, matrices.sign, offset, C)
        M = project(coefficients)
        q = matrices.inner(M)
        offset = q - kernel @ coefficients
        multipliers = problem.balanced(np.clip(coefficients * matrices.sign, 0, C))
        found.M = M
        found.primal.append(problem.primal(M, q, problem.intercept(q)))
        found.dual.append(problem.dual(multipliers, M))
        gaps = np.subtract(found.primal, found.dual)
        if len(gaps) > 1 and abs(gaps[-1] - gaps[-2]) < decrease * gaps[0]:
            break
    return found


def solve_svm(kernel: FloatArray, sign: FloatArray, offset: FloatArray, C: float) -> FloatArray:
    """Return λh of an SVM whose decision values have given offsets (Eqs. 2.6 and 2.20).

    It maximises ``Σ λ(1 - h·offset) - ½ Σ λλ'hh'K`` over ``0 ≤ λ ≤ C`` and ``Σ λh = 0``. LIBSVM's
    classifier has no offsets, but its regression does: with targets ``h(ε + 1) - offset`` and a
    tube of half width ε that reaches beyond all decision values, only the side of the tube that
    faces 0 can be active, at ``h·(decision value + offset) = 1``.

    Parameters
    ----------
    kernel : array of shape (n_pairs, n_pairs)
        Inner products of the matrices of the pairs.
    sign : array of shape (n_pairs,)
        h.
    offset : array of shape (n_pairs,)
        What is added to the decision value of each pair.
    C : float
        The largest multiplier.
    """
    tube = 10.0 * (1.0 + float(np.abs(offset).max()))
    for _ in range(_MAX_DOUBLINGS):
        regression = SVR(
            kernel="precomputed", C=C, epsilon=tube, tol=_LIBSVM_TOL, cache_size=_CACHE
        )
        regression.fit(kernel, sign * (tube + 1) - offset)
        coefficients = np.zeros(len(sign))
        coefficients[regression.support_] = regression.dual_coef_[0]
        if (coefficients * sign >= 0).all():
            return coefficients
        tube *= 2  # the far side of the tube was active
    raise FloatingPointError("decision values are too large for LIBSVM")
