"""Parametric local metric learning."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise._numerics.products import map_rows
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.threads import openmp_threads, run_blocks, single_threaded_blas
from likewise._runtime.validation import (
    TableLike,
    at_least,
    check_labelled,
    check_rows,
    n_jobs_rule,
    non_negative,
)
from likewise.base import NeighborVoter, fitting
from likewise.batch._initialisation import rms_scale
from likewise.batch.plml.mixture import Mixture
from likewise.constraints import triplets
from likewise.objectives import LocalMarginObjective
from likewise.solvers import lbfgs

_GRAPH_NEIGHBORS = 5  # of each sample, whose weights should be similar to its own
_N_SAME, _N_DIFFERENT = 3, 10  # neighbours of each sample that its triplets consist of
_PULL = 0.1
_EXTRA_CANDIDATES = 8  # beyond n_neighbors, before distances are computed exactly
_BLOCK_VALUES = 1 << 20


class PLML(NeighborVoter):
    r"""PLML: minimise a large-margin loss over a metric that varies smoothly with the sample.

    Parametric local metric learning learns from labels. Use it for nearest-neighbour classification
    where different regions need different metrics.

    The anchors :math:`u_b` are k-means centres. Sample i is approximated by a convex combination of
    them with weights :math:`W_{ib}` that vary smoothly over the data, and its metric is the same
    combination of basis metrics,

    .. math:: D_i(x) = \sum_b W_{ib} (x_i - x)^\top M_b (x_i - x),

    which are learned from triplets with a hinge loss: samples of the same class should be closer,
    by a margin of 1, than samples of other classes. There is no single L; prediction is by
    nearest neighbours.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbours that vote.
    n_metrics : int
        Number of basis metrics and of anchors.
    smoothness : float
        Penalty on different weights of neighbouring samples.
    ridge : float
        Penalty on the squared weights; large values make them more equal.
    regularization : float
        Penalty on the squared Frobenius norms of the basis metrics.
    max_iter : int
        Maximum number of L-BFGS iterations.
    tol : float
        Stop when an iteration improves the objective by at most this relative to its value.
    random_state : int, RandomState or None
        Seeds k-means.
    n_jobs : int, optional
        Threads; None uses all cores.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The sorted labels.
    anchors_ : array of shape (n_metrics, n_features)
        The k-means centres.
    weights_ : array of shape (n_samples, n_metrics)
        W: the weights of the training samples.
    factors_ : array of shape (n_metrics, n_features, n_features)
        ``L_b``, with ``M_b = L_bᵀL_b``.
    objective_, n_iter_, converged_, history_ : float, int, bool, dict
        The minimised value, and whether and when the solver converged.

    References
    ----------
    J. Wang, A. Kalousis, A. Woznica, Parametric local metric learning for nearest neighbor
    classification, NIPS 25, 2012.

    Examples
    --------
    >>> import likewise as lw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> lw.PLML(n_metrics=2, random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    _rules: ClassVar = {
        "n_neighbors": at_least(1),
        "n_metrics": at_least(1),
        "smoothness": non_negative(),
        "ridge": non_negative(),
        "regularization": non_negative(),
        "max_iter": at_least(1),
        "tol": non_negative(),
        "n_jobs": n_jobs_rule(),
    }

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        n_metrics: int = 5,
        smoothness: float = 10.0,
        ridge: float = 1.0,
        regularization: float = 1e-3,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_metrics = n_metrics
        self.smoothness = smoothness
        self.ridge = ridge
        self.regularization = regularization
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    anchors_: FloatArray
    weights_: FloatArray
    factors_: FloatArray
    _factors: FloatArray
    _centre: FloatArray
    _scale: float
    _rows: FloatArray
    _mixture: Mixture

    @fitting
    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Learn from labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels of at least two classes, one of which has two samples.

        Returns
        -------
        PLML
            The fitted classifier.
        """
        X, codes, classes = check_labelled(self, X, y)
        self._wanted(self.n_neighbors, len(X))
        if self.n_metrics > len(X):
            raise ValueError(
                f"n_metrics={self.n_metrics} is too many: X has {len(X)} samples to cluster."
            )
        counts = np.bincount(codes)
        n_same = min(_N_SAME, max(1, int(counts.max()) - 1))
        n_different = min(_N_DIFFERENT, len(X) - int(counts.max()))
        chosen = triplets(X, classes[codes], n_same, n_different, n_jobs=self.n_jobs)
        centre, scale = X.mean(axis=0, dtype=np.float64), rms_scale(X)
        rows = np.ascontiguousarray((X - centre) / scale)
        with single_threaded_blas(), openmp_threads(1):  # the same bits everywhere
            clusters = KMeans(
                self.n_metrics, n_init=4, random_state=check_random_state(self.random_state)
            ).fit(rows)
        mixture = Mixture(
            clusters.cluster_centers_,
            float(self.ridge),
            float(self.smoothness),
            min(_GRAPH_NEIGHBORS, len(X) - 1),
        )
        weights = mixture.fit_weights(rows, self.n_jobs)
        n_features = X.shape[1]
        attributes = {
            "classes_": classes,
            "_codes": codes,
            "_centre": centre,
            "_scale": scale,
            "_rows": rows,
            "_mixture": mixture,
            "anchors_": mixture.anchors * scale + centre,
            "weights_": weights,
        }
        found = self._solve(
            lbfgs,
            LocalMarginObjective(
                rows, weights, chosen, self.regularization, _PULL, n_jobs=self.n_jobs
            ),
            np.tile(np.eye(n_features) / np.sqrt(n_features), (self.n_metrics, 1, 1)),
            fitted=lambda factors: {**attributes, "_factors": factors, "factors_": factors / scale},
            tol=self.tol,
        )
        self.__dict__.update(attributes)
        self._factors, self.factors_ = found.x, found.x / scale
        return self

    def kneighbors(self, X: TableLike, n_neighbors: int | None = None) -> tuple[Array, IndexArray]:
        """Return distances and row indices of the nearest training samples, nearest first.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Query samples; distances are those of the query's own metric.
        n_neighbors : int, optional
            Number of neighbours; by default the parameter of that name.

        Returns
        -------
        distances, index : arrays of shape (n_queries, n_neighbors)
            Distances are not squared.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        wanted = self._wanted(n_neighbors, len(self._rows))
        queries = np.ascontiguousarray((X - self._centre) / self._scale)
        weights = self._mixture.weights_of(queries, self._rows, self.weights_, self.n_jobs)
        n_candidates = wanted + _EXTRA_CANDIDATES
        distances = np.empty((len(X), wanted))
        index = np.empty((len(X), wanted), dtype=np.int64)
        mapped = np.stack([map_rows(self._rows, L, self.n_jobs) for L in self._factors], axis=1)
        sqnorms = np.square(mapped).sum(axis=2)

        def block(start: int, stop: int) -> None:
            mapped_queries = np.stack([queries[start:stop] @ L.T for L in self._factors], axis=1)
            weight = weights[start:stop]
            # Up to a constant per query: Σ_b w_b (‖L_b x‖² - 2 L_b q · L_b x).
            approximate = weight @ sqnorms.T
            approximate -= (
                2
                * (mapped_queries * weight[:, :, None]).reshape(stop - start, -1)
                @ mapped.reshape(len(mapped), -1).T
            )
            candidates = np.argpartition(approximate, min(n_candidates, len(mapped)) - 1, axis=1)
            candidates = candidates[:, :n_candidates]
            exact = np.square(mapped[candidates] - mapped_queries[:, None]).sum(axis=3)
            exact = np.einsum("qcb,qb->qc", exact, weight)
            order = np.lexsort((candidates, exact), axis=1)[:, :wanted]
            index[start:stop] = np.take_along_axis(candidates, order, axis=1)
            distances[start:stop] = np.sqrt(np.take_along_axis(exact, order, axis=1))

        block_rows = max(1, _BLOCK_VALUES // (len(mapped) + n_candidates * mapped[0].size))
        run_blocks(block, len(X), block_rows, self.n_jobs)
        return distances.astype(X.dtype), index

    def distances_to(self, X: TableLike, index: ArrayLike) -> Array:
        """Return the distances to chosen training samples, such as what another search has found.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Query samples; distances are those of the query's own metric.
        index : array-like of int of shape (n_queries, n_chosen)
            Row indices of training samples, for each query.

        Returns
        -------
        array of shape (n_queries, n_chosen)
            Distances as in `kneighbors`, not squared.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        queries = np.ascontiguousarray((X - self._centre) / self._scale)
        weights = self._mixture.weights_of(queries, self._rows, self.weights_, self.n_jobs)
        chosen = self._chosen(index, len(X))
        squares = np.zeros(chosen.shape)
        differences = queries[:, None] - self._rows[chosen]
        for weight, L in zip(weights.T, self._factors, strict=True):
            squares += weight[:, None] * np.square(differences @ L.T).sum(axis=2)
        return np.sqrt(squares).astype(X.dtype)
