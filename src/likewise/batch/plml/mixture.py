"""How rows mix a few anchors, smoothly from place to place: the first half of PLML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from likewise import _files
from likewise._runtime.arrays import Array
from likewise._runtime.validation import warn_user
from likewise.neighbors import nearest
from likewise.solvers import fista, project_to_simplex

_STEPS = 2000
_CLOSE = 1e-5


@_files.record
@dataclass(frozen=True, eq=False)
class Mixture:
    """Shares W of anchors U: ``min ‖X - WU‖² + ridge ‖W‖² + smoothness tr(Wᵀ Lap W)``.

    Rows of W are non-negative and sum to 1; Lap is the Laplacian of the graph that joins each row
    with its nearest.

    Parameters
    ----------
    anchors : array of shape (n_anchors, n_features)
    ridge, smoothness : float
    n_joined : int
        How many nearest rows a row is joined with.
    """

    anchors: Array
    ridge: float
    smoothness: float
    n_joined: int

    def of_rows(self, X: Array, n_jobs: int | None) -> Array:
        """Return the shares of rows, all at once."""
        _, index = nearest(X, X, self.n_joined, exclude_self=True, n_jobs=n_jobs)
        row = np.repeat(np.arange(len(X)), self.n_joined)
        joined = sp.coo_array((np.ones(index.size), (row, index.ravel())), (len(X), len(X)))
        graph = joined.maximum(joined.T).tocsr()
        degree: Array = np.asarray(graph.sum(axis=1)).ravel()
        return self._solve(X, self.smoothness * degree, lambda W: self.smoothness * (graph @ W))

    def of_new(self, queries: Array, X: Array, W: Array, n_jobs: int | None) -> Array:
        """Return the shares of new rows, joined with the nearest of known rows."""
        _, index = nearest(queries, X, self.n_joined, n_jobs=n_jobs)
        drawn_to = self.smoothness * W[index].sum(axis=1)
        degree = np.full(len(queries), self.smoothness * self.n_joined)
        return self._solve(queries, degree, lambda _: drawn_to)

    def _solve(self, X: Array, degree: Array, neighbours: Any) -> Array:
        """Minimise; `neighbours` returns what the graph adds up around each row."""
        U = self.anchors
        gram, product = U @ U.T, X @ U.T
        steepness = 2 * (np.linalg.norm(gram, 2) + self.ridge + 2 * degree.max(initial=0.0))

        def slope(W: Array) -> Array:
            pulled = W * (self.ridge + degree[:, None]) - neighbours(W)
            return np.asarray(2 * (W @ gram - product + pulled))

        start = np.full((len(X), len(U)), 1 / len(U))
        W, converged = fista(
            slope, project_to_simplex, start, steepness=steepness, max_iter=_STEPS, tol=_CLOSE
        )
        if not converged:
            warn_user("The mixture of local metrics did not settle; smoothness may be too large.")
        return W
