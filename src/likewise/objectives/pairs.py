"""The cost of same pairs that are too far apart and of different pairs that are too near."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from likewise import _loops
from likewise._numerics.centring import centred, robust_centre
from likewise._numerics.products import gradient_in_components, map_rows
from likewise._runtime.arrays import Array
from likewise.constraints import Pairs
from likewise.losses import Hinge, Loss


@dataclass(frozen=True, eq=False)
class PairObjective:
    """``Σ loss(margin - y(threshold - D))`` over pairs, ``y = +1`` same and ``-1`` different.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        The data.
    pairs : Pairs
        Rows of X and whether they are alike.
    loss : Loss
        What a violation costs.
    threshold, margin : float
        In squared distance: same pairs should stay below ``threshold - margin``, different ones
        above ``threshold + margin``.
    n_jobs : int or None
        Threads; None uses all cores.
    """

    X: Array
    pairs: Pairs
    loss: Loss = field(default_factory=Hinge)
    threshold: float = 2.0
    margin: float = 1.0
    n_jobs: int | None = None

    def value_and_gradient(self, L: Array) -> tuple[float, Array]:
        """Return the sum over all pairs and its slope in L."""
        Z = map_rows(self._rows, L, self.n_jobs)
        first, second = (np.ascontiguousarray(column) for column in self.pairs.index.T)
        sign = np.where(self.pairs.same, 1.0, -1.0)
        distance = _loops.pair_sqdist(Z, first, second, n_jobs=self.n_jobs)
        violation = self.margin - sign * (self.threshold - distance)
        spread = _loops.laplacian_apply(
            Z, first, second, sign * self.loss.derivative(violation), n_jobs=self.n_jobs
        )
        gradient = gradient_in_components(spread, self._rows, self.n_jobs)
        return float(self.loss.value(violation).sum()), gradient

    @cached_property
    def _rows(self) -> Array:
        """X about a point amid it, in float64."""
        return centred(np.ascontiguousarray(self.X, dtype=np.float64), robust_centre(self.X))
