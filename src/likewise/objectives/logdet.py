"""The LogDet divergence from a prior metric, under bounds on distances: the problem of ITML."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky

from likewise import _loops
from likewise._runtime.arrays import Array
from likewise._runtime.threads import single_threaded_blas


@dataclass(eq=False)
class LogDetProblem:
    """The M closest to a prior in LogDet divergence, subject to bounds with slack.

    ``min D(M, prior) + γ D(diag ξ, diag bounds)`` with ``vᵀMv ≤ ξ`` where `sign` is 1 and
    ``vᵀMv ≥ ξ`` where it is -1; D is the LogDet (Burg) divergence
    ``tr(AB⁻¹) - log det(AB⁻¹) - n``.

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

    prior: Array
    V: Array
    sign: Array
    bounds: Array
    slack_weight: float
    multipliers: Array = field(init=False)
    reciprocals: Array = field(init=False)

    def __post_init__(self) -> None:
        self.multipliers = np.zeros(len(self.V))
        self.reciprocals = 1 / self.bounds
        with single_threaded_blas():
            self._root = cholesky(self.prior, lower=True)
            self._inverse = cho_solve((self._root, True), np.eye(len(self.prior)))

    def sweep(self, M: Array) -> None:
        """Project M onto each constraint once, in the order of V."""
        _loops.bregman_sweep(
            M,
            self.V,
            self.sign,
            self.multipliers,
            self.reciprocals,
            slack_weight=self.slack_weight,
        )

    def value(self, M: Array) -> float:
        """Return the objective at M and the slack variables ξ; NaN if M is not definite."""
        slack = 1 / (self.bounds * self.reciprocals)
        try:
            with single_threaded_blas():
                root = cholesky(M, lower=True)
        except (LinAlgError, ValueError):  # not definite, or not finite
            return float("nan")
        log_ratio = 2 * float(np.log(np.diag(root) / np.diag(self._root)).sum())
        trace = float(np.vdot(self._inverse, M))
        slack_divergence = float((slack - np.log(slack) - 1).sum())
        return trace - log_ratio - len(M) + self.slack_weight * slack_divergence
