"""The large-margin objective of PLML: triplets under sample-specific metrics."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from likewise import _loops
from likewise._numerics.products import gradient_in_components, map_rows
from likewise._runtime.arrays import Array
from likewise.constraints import Triplets
from likewise.losses import Loss, SmoothedHinge


@dataclass(frozen=True, eq=False)
class LocalMarginObjective:
    """Triplets under ``D_i(i, j) = Σ_b W_ib ‖L_b(x_i - x_j)‖²``, with weights W per anchor.

    ``Σ loss(1 + D_i(i,j) - D_i(i,k)) + pull Σ D_i(i,j) + regularization Σ_b ‖L_bᵀL_b‖²``, with
    means over triplets in place of sums.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    weights : array of shape (n_samples, n_metrics)
        W: the weights of the basis metrics at each sample.
    triplets : Triplets
    regularization, pull : float
    loss : Loss
    n_jobs : int or None
    """

    X: Array
    weights: Array
    triplets: Triplets
    regularization: float
    pull: float
    loss: Loss = field(default_factory=lambda: SmoothedHinge(0.1))
    n_jobs: int | None = None

    def value_and_gradient(self, factors: Array) -> tuple[float, Array]:
        """Return the value at the stack of all ``L_b`` and its gradient."""
        anchor, near, far = (np.ascontiguousarray(column) for column in self.triplets.index.T)
        n_triplets = len(anchor)
        mapped = [map_rows(self.X, L, self.n_jobs) for L in factors]
        to_near, to_far = np.zeros(n_triplets), np.zeros(n_triplets)
        for b, Z in enumerate(mapped):
            weight = self.weights[anchor, b]
            to_near += weight * _loops.pair_sqdist(Z, anchor, near, n_jobs=self.n_jobs)
            to_far += weight * _loops.pair_sqdist(Z, anchor, far, n_jobs=self.n_jobs)
        violation = 1 + to_near - to_far
        hinge = self.loss.derivative(violation)
        pairs = np.concatenate([anchor, anchor]), np.concatenate([near, far])
        derivatives = np.concatenate([hinge + self.pull, -hinge]) / n_triplets
        value = float(self.loss.value(violation).sum() + self.pull * to_near.sum()) / n_triplets
        gradient = np.empty_like(factors)
        for b, (L, Z) in enumerate(zip(factors, mapped, strict=True)):
            local = derivatives * np.tile(self.weights[anchor, b], 2)
            laplacian = _loops.laplacian_apply(Z, *pairs, local, n_jobs=self.n_jobs)
            M = L.T @ L
            value += self.regularization * float(np.vdot(M, M))
            gradient[b] = gradient_in_components(laplacian, self.X, self.n_jobs)
            gradient[b] += 4 * self.regularization * L @ M
        return value, gradient
