"""A number that no metric can undercut: the certificate of LMNN."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar

from likewise import _loops
from likewise._numerics.products import map_rows
from likewise._runtime.arrays import Array, BoolArray, FloatArray, IndexArray
from likewise._runtime.threads import single_threaded_blas

if TYPE_CHECKING:
    from likewise.objectives.large_margin import LargeMargin


_EMPTY = 1e-12  # share of the largest pull below which a direction counts as not pulled


class Bound(NamedTuple):
    """What a dual solution proves.

    Attributes
    ----------
    dual : float
        The value of the dual solution as it came, which need not be feasible.
    proved : float
        Its value after scaling by the largest s ≤ 1 that makes it so.
    """

    dual: float
    proved: float


class QuadraticPenalty(NamedTuple):
    """``strength/2 ‖M - centre‖²``, the pull towards a metric."""

    centre: Array
    strength: float

    def value(self, M: Array) -> float:
        """Return the cost of M."""
        return self.strength / 2 * float(np.square(M - self.centre).sum())

    def slope(self, M: Array) -> Array:
        """Return its slope in M."""
        return np.asarray(self.strength * (M - self.centre))

    def least(self, G: Array) -> float:
        """Return the least of ``⟨G, M⟩`` plus the cost over all metrics M."""
        values = eigh(self.centre - G / self.strength, eigvals_only=True)
        kept = float(np.square(np.maximum(values, 0)).sum())
        return self.strength / 2 * (float(np.square(self.centre).sum()) - kept)


class LargeMarginBound:
    r"""Lower bounds on LMNN's objective over all metrics, from the slopes of rounded hinges.

    With any λ between 0 and μ for each triplet, the objective is at least
    ``margin Σλ + ⟨P + Q, M⟩``, where P is the slope of the pull in M and ``Q = Σ λ (C_ij - C_il)``.
    If P + sQ is positive semi-definite, ``s · margin Σλ`` is what no metric undercuts.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    pull : array of shape (n_features, n_features)
        P.
    penalty : QuadraticPenalty or None
        What the objective has besides.
    n_jobs : int or None
        Threads; None uses all cores.
    """

    def __init__(
        self,
        X: Array,
        pull: Array,
        penalty: QuadraticPenalty | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.pull, self.penalty, self.n_jobs = pull, penalty, n_jobs
        with single_threaded_blas():
            values, vectors = eigh(pull)
        pulled = values > _EMPTY * max(float(values[-1]), 0.0) * len(values)
        self._round = vectors[:, pulled] / np.sqrt(values[pulled])
        self._free = vectors[:, ~pulled]
        # Rows by what no pull feels, to see which pairs differ there.
        self._free_rows = map_rows(X, self._free.T, n_jobs)
        self._free_least = 1e-10 * float(np.square(X, dtype=np.float64).sum() / max(1, len(X)))

    def __call__(self, objective: LargeMargin, near: FloatArray, far: FloatArray) -> Bound:
        """Return what the slopes of the objective's hinges prove at these squared distances."""
        if self.penalty is None and self._free.shape[1]:
            pairs = objective.far
            felt = self.felt(pairs.rows, pairs.cols)
            objective, far = replace(objective, far=pairs.chosen(felt)), far[felt]
        slopes = objective.costs(near, far, pull=0.0)
        dual = -objective.margin * float(slopes.far.sum())
        Q = objective.slope_in_matrix(slopes)
        with single_threaded_blas():
            if self.penalty is not None:
                return self._with_penalty(self.penalty, dual, Q)
            least = self.least(Q)
        return Bound(dual, dual if least >= -1 else dual / -least)

    def _with_penalty(self, penalty: QuadraticPenalty, dual: float, Q: Array) -> Bound:
        def proved(s: float) -> float:
            return s * dual + penalty.least(self.pull + s * Q)

        whole = proved(1.0)
        part = minimize_scalar(
            lambda s: -proved(s), bounds=(0.0, 1.0), method="bounded", options={"maxiter": 12}
        )
        return Bound(whole, max(whole, -float(part.fun)))

    def least(self, Q: Array) -> float:
        """Return the least λ for which Q - λP is not positive definite where anything pulls."""
        if not self._round.shape[1]:
            return 0.0
        return float(eigh(self._round.T @ Q @ self._round, eigvals_only=True)[0])

    def felt(self, rows: IndexArray, cols: IndexArray) -> BoolArray:
        """Return which pairs do not differ where nothing pulls.

        Impostors that do can be pushed away at no cost, so that they prove nothing; kept, their
        part of Q would be negative where P is zero, and no s > 0 would do.
        """
        if not self._free.shape[1]:
            return np.ones(len(rows), dtype=bool)
        squares = _loops.pair_sqdist(self._free_rows, rows, cols, n_jobs=self.n_jobs)
        return squares <= self._free_least
