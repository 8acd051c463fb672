"""The base of all SVM-style metric learners: a choice of constraints, loss and cone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import Array, FloatArray
from likewise._runtime.validation import (
    TableLike,
    at_least,
    boolean,
    check_labelled,
    check_rows,
    either,
    n_jobs_rule,
    one_of,
    positive,
)
from likewise.base import fitting
from likewise.base.diagnosis import diagnosed
from likewise.batch._constraint_span import ConstraintSpan
from likewise.batch._kernel_metric import KernelMetric
from likewise.batch._kernel_space import KernelSpace
from likewise.cones import Cone, Symmetric
from likewise.constraints import Pairs, Triplets, as_pairs, as_triplets, unit_sqdist
from likewise.losses import DualLoss, Hinge
from likewise.metric import canonical_components, nearest_psd
from likewise.objectives import ConstraintMatrices, MarginProblem
from likewise.solvers import Solution

# Of the largest squared difference: smaller ones are rounding, between images of equal samples.
_SQUARED_ROUNDING = 1e-26
_MAX_DIFFERENCE = 1e35  # once scaled: the solvers multiply fourth powers of it

COMMON_RULES: dict[str, Any] = {
    "C": positive(),
    "scale": either(one_of("auto"), positive()),
    "tol": positive(),
    "max_iter": at_least(1),
    "n_jobs": n_jobs_rule(),
    "warm_start": boolean(),
}


class MarginLearner(KernelMetric):
    """Minimises ``½‖M‖² + C Σ loss`` over a cone; a subclass chooses constraints, loss and cone.

    The fitted attributes are described in the subclasses.
    """

    intercept_: float
    threshold_: float
    matrix_: Array
    support_pairs_: Array
    dual_coef_: FloatArray
    duality_gap_: float
    C: float
    scale: str | float
    tol: float
    max_iter: int
    n_jobs: int | None
    warm_start: bool
    verbose: int
    _n_constraints: int
    _C_of_last_fit: float
    _rules: ClassVar = COMMON_RULES

    # -- the method ------------------------------------------------------------------------------

    def _loss(self) -> DualLoss:
        return Hinge()

    def _cone(self) -> Cone:
        return Symmetric()

    def _constraints(self, X: Array, labels: Array) -> Pairs | Triplets:
        """Return the constraints made from labels."""
        raise NotImplementedError

    # -- learning --------------------------------------------------------------------------------

    @fitting
    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Fit the metric to labels, through constraints made from them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.

        Returns
        -------
        self
        """
        X, codes, classes = check_labelled(self, X, y)
        space, rows = self._map_to_space(X)
        return self._learn(X, rows, space, self._constraints(rows, classes[codes]))

    def _fit_pairs(self, X: TableLike, pairs: ArrayLike, same: ArrayLike) -> Self:
        X = check_rows(self, X, reset=True, min_rows=2)
        chosen = as_pairs(pairs, same, len(X))
        for value in (True, False):
            if (chosen.same == value).all():
                raise ValueError(
                    f"same is {value} for every pair, but {type(self).__name__} needs both similar "
                    "and different pairs."
                )
        space, rows = self._map_to_space(X)
        return self._learn(X, rows, space, chosen)

    def _fit_triplets(self, X: TableLike, triplets: ArrayLike) -> Self:
        X = check_rows(self, X, reset=True, min_rows=3)
        chosen = as_triplets(triplets, len(X))
        space, rows = self._map_to_space(X)
        return self._learn(X, rows, space, chosen)

    def _learn(
        self, X: Array, rows: Array, space: KernelSpace | None, constraints: Pairs | Triplets
    ) -> Self:
        matrices, factor = self._matrices(rows, constraints)
        span = self._span(rows, constraints)
        if span is not None:
            matrices = replace(matrices, differences=span.map(matrices.differences))
        problem = MarginProblem(matrices, self._loss(), float(self.C))

        known = self._space_attributes(space)

        def fitted(M: Array) -> dict[str, Any]:
            return {**known, "components_": (_components(M, span) * factor).astype(X.dtype)}

        solver, start = self._cone().minimise, self._start(len(matrices))
        found = self._solve(solver, problem, start, fitted, tol=self.tol)
        self.__dict__.update(known)
        kept = self._keep_solution(problem, found, factor, X.dtype, span)
        return diagnosed(kept, X, constraints)

    def _span(self, X: Array, constraints: Pairs | Triplets) -> ConstraintSpan | None:
        """Return the span to learn in; the space of a kernel has no more than it needs."""
        if getattr(self, "kernel", None) is not None:
            return None
        return ConstraintSpan.of(X, constraints)

    def _start(self, n_constraints: int) -> Array | None:
        """Return the multipliers of the last fit, if there are as many constraints as then."""
        if not self.warm_start or not hasattr(self, "dual_coef_"):
            return None
        if self._n_constraints != n_constraints:
            return None
        start = np.zeros(n_constraints)
        # Multipliers at their upper bound stay there if C changes.
        start[self.support_pairs_] = np.abs(self.dual_coef_) * (float(self.C) / self._C_of_last_fit)
        return start

    def _matrices(
        self, X: Array, constraints: Pairs | Triplets
    ) -> tuple[ConstraintMatrices, float]:
        """Return the constraints of the scaled X, and the scale."""
        matrices = self._unscaled_matrices(X, constraints)
        if getattr(self, "kernel", None) is not None:
            matrices = without_rounding(matrices)
        factor = self.scale
        if factor == "auto":
            factor = _unit_factor(matrices.similar, matrices.differences)
        largest = float(np.abs(matrices.differences).max(initial=0.0)) * float(factor)
        if not largest <= _MAX_DIFFERENCE:
            raise ValueError(
                f"Some samples differ by {largest:.3g} in units of the margin, with "
                f"scale={self.scale!r}, but only differences up to {_MAX_DIFFERENCE:.0e} can be "
                "learned from: scale the features, or remove outliers."
            )
        return matrices.scaled(float(factor)), float(factor)

    def _unscaled_matrices(self, X: Array, constraints: Pairs | Triplets) -> ConstraintMatrices:
        if isinstance(constraints, Pairs):
            return ConstraintMatrices.from_pairs(X, constraints, self.n_jobs)
        return ConstraintMatrices.from_triplets(X, constraints, self.n_jobs)

    def _keep_solution(
        self,
        problem: MarginProblem,
        found: Solution,
        factor: float,
        dtype: Any,
        span: ConstraintSpan | None,
    ) -> Self:
        matrices, M = problem.matrices, found.x
        metric = nearest_psd(M)
        if getattr(self, "psd", True):
            M = metric
        for name in ("intercept_", "threshold_"):
            if hasattr(self, name):  # of an earlier fit to pairs; a fit to triplets has none
                delattr(self, name)
        if matrices.has_intercept:
            # Each is optimal for its matrix: matrix_, and the metric that distances are of.
            self.intercept_ = problem.intercept(matrices.inner(M))
            self.threshold_ = float(np.sqrt(max(0.0, -problem.intercept(matrices.inner(metric)))))
        assert found.multipliers is not None
        self._n_constraints, self._C_of_last_fit = len(matrices), problem.C
        if span is not None:
            M = span.matrix(M)
        with np.errstate(over="ignore"):
            self.matrix_ = (M * (factor**2 if factor < 1e150 else np.inf)).astype(dtype)
        if not np.isfinite(self.matrix_).all():
            raise ValueError(
                f"The matrix of {type(self).__name__} has entries beyond the range of {dtype}: the "
                "features are too small; scale them, or give X in float64."
            )
        self.support_pairs_ = np.flatnonzero(found.multipliers)
        self.dual_coef_ = (found.multipliers * matrices.sign)[self.support_pairs_]
        self.duality_gap_ = float(found.gap) if found.gap is not None else np.nan
        return self._keep(_components(metric, span) * factor, dtype)


def _components(M: Array, span: ConstraintSpan | None) -> Array:
    """Return the canonical L of the projected M, with rows that are only rounding set to 0."""
    components = canonical_components(M)
    squared_norms = np.square(components).sum(axis=1)
    rounding = len(M) * np.finfo(np.float64).eps * squared_norms.max(initial=0.0)
    components = np.where((squared_norms > rounding)[:, None], components, 0.0)
    return components if span is None else span.components(components)


def _unit_factor(similar: Array, every: Array) -> float:
    """Return the factor of the differences that makes the unit of squared distance 1."""
    largest = float(np.abs(similar if similar.any() else every).max(initial=0.0)) or 1.0
    # Divided by the largest entry, for the squares of X might overflow.
    unit = unit_sqdist(*(np.square(V / largest).sum(axis=1) for V in (similar, every)))
    return float(1 / (largest * np.sqrt(unit)))


def without_rounding(matrices: ConstraintMatrices) -> ConstraintMatrices:
    """Return the constraints with differences that are only rounding set to 0."""
    squared_norms = np.einsum("ij,ij->i", matrices.differences, matrices.differences)
    distinct = squared_norms > _SQUARED_ROUNDING * squared_norms.max(initial=0.0)
    return replace(matrices, differences=matrices.differences * distinct[:, None])


class PairMarginLearner(MarginLearner):
    """A margin learner whose constraints are pairs."""

    @fitting
    def fit_pairs(self, X: TableLike, pairs: ArrayLike, same: ArrayLike) -> Self:
        """Fit the metric to similar and different pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        pairs : int array-like of shape (n_pairs, 2)
            Sample indices.
        same : bool array-like of shape (n_pairs,)
            True where the two samples are similar. Both values must occur.

        Returns
        -------
        self
        """
        return self._fit_pairs(X, pairs, same)
