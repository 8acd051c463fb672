"""The cost of triplets whose anchor is not nearer to its positive than to its negative."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from likewise import _loops
from likewise._numerics.centring import centred, robust_centre
from likewise._numerics.products import gradient_in_components, map_rows
from likewise._runtime.arrays import Array
from likewise.constraints import Triplets
from likewise.losses import Hinge, Loss


@dataclass(frozen=True, eq=False)
class TripletObjective:
    """``Σ loss(margin + D(a,p) - D(a,n))`` over triplets, with ``D`` the squared distance under L.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        The data.
    triplets : Triplets
        Rows (anchor, positive, negative) of X.
    loss : Loss
        What a violation costs.
    margin : float
        How much farther, in squared distance, the negative should be.
    n_jobs : int or None
        Threads; None uses all cores.

    Notes
    -----
    The gradient is ``2 (ΛZ)ᵀX`` with ``Z = XLᵀ`` and Λ the Laplacian of the weighted pairs
    (a,p) and (a,n): one outer product per triplet is never formed.
    """

    X: Array
    triplets: Triplets
    loss: Loss = field(default_factory=Hinge)
    margin: float = 1.0
    n_jobs: int | None = None

    def value_and_gradient(self, L: Array) -> tuple[float, Array]:
        """Return the sum over all triplets and its slope in L."""
        Z = map_rows(self._rows, L, self.n_jobs)
        anchor, positive, negative = (np.ascontiguousarray(row) for row in self.triplets.index.T)
        violation = (
            self.margin
            + _loops.pair_sqdist(Z, anchor, positive, n_jobs=self.n_jobs)
            - _loops.pair_sqdist(Z, anchor, negative, n_jobs=self.n_jobs)
        )
        slope = self.loss.derivative(violation)
        spread = _loops.laplacian_apply(
            Z,
            np.concatenate([anchor, anchor]),
            np.concatenate([positive, negative]),
            np.concatenate([slope, -slope]),
            n_jobs=self.n_jobs,
        )
        gradient = gradient_in_components(spread, self._rows, self.n_jobs)
        return float(self.loss.value(violation).sum()), gradient

    @cached_property
    def _rows(self) -> Array:
        """X about a point amid it, in float64."""
        return centred(np.ascontiguousarray(self.X, dtype=np.float64), robust_centre(self.X))
