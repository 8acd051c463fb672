"""Smooth local weights of a few anchors: the first stage of PLML."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from likewise import _files
from likewise._runtime.arrays import Array
from likewise._runtime.invariants import require, require_array, require_count, require_number
from likewise._runtime.validation import warn_user
from likewise.neighbors import nearest
from likewise.solvers import fista, project_to_simplex

_MAX_ITER = 2000
_TOL = 1e-5


@_files.record
@dataclass(frozen=True, eq=False)
class Mixture:
    """Weights W of anchors U: ``min ‖X - WU‖² + ridge ‖W‖² + smoothness tr(WᵀΛW)``.

    Each row of W lies on the probability simplex; Λ is the Laplacian of the nearest-neighbour graph
    of the samples.

    Parameters
    ----------
    anchors : array of shape (n_anchors, n_features)
    ridge, smoothness : float
    n_neighbors : int
        Neighbours of a sample in the graph.
    """

    anchors: Array
    ridge: float
    smoothness: float
    n_neighbors: int

    def check(self) -> None:
        """Raise a ValueError if the fields are not valid."""
        require_array(self.anchors, None, None)
        require(len(self.anchors) > 0)
        for penalty in (self.ridge, self.smoothness):
            require_number(penalty)
            require(penalty >= 0)
        require_count(self.n_neighbors, least=1)

    def fit_weights(self, X: Array, n_jobs: int | None) -> Array:
        """Return the weights of training samples, which are solved for jointly."""
        _, index = nearest(X, X, self.n_neighbors, exclude_self=True, n_jobs=n_jobs)
        row = np.repeat(np.arange(len(X)), self.n_neighbors)
        edges = sp.coo_array((np.ones(index.size), (row, index.ravel())), (len(X), len(X)))
        graph = edges.maximum(edges.T).tocsr()
        degree: Array = np.asarray(graph.sum(axis=1)).ravel()
        return self._solve(X, self.smoothness * degree, lambda W: self.smoothness * (graph @ W))

    def weights_of(self, queries: Array, X: Array, W: Array, n_jobs: int | None) -> Array:
        """Return the weights of new samples, given the weights W of the training samples X."""
        _, index = nearest(queries, X, self.n_neighbors, n_jobs=n_jobs)
        neighbour_sum = self.smoothness * W[index].sum(axis=1)
        degree = np.full(len(queries), self.smoothness * self.n_neighbors)
        return self._solve(queries, degree, lambda _: neighbour_sum)

    def _solve(self, X: Array, degree: Array, neighbour_sum: Callable[[Array], Array]) -> Array:
        """Minimise, given the degree of each sample and the sum of its neighbours' weights."""
        U = self.anchors
        gram, product = U @ U.T, X @ U.T
        lipschitz = 2 * (np.linalg.norm(gram, 2) + self.ridge + 2 * degree.max(initial=0.0))

        def gradient(W: Array) -> Array:
            penalty = W * (self.ridge + degree[:, None]) - neighbour_sum(W)
            return np.asarray(2 * (W @ gram - product + penalty))

        start = np.full((len(X), len(U)), 1 / len(U))
        W, converged = fista(
            gradient, project_to_simplex, start, lipschitz=lipschitz, max_iter=_MAX_ITER, tol=_TOL
        )
        if not converged:
            warn_user(
                "The weights of the local metrics did not converge; smoothness may be too large."
            )
        return W
