"""Parametric local metric learning."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.threads import run_blocks, single_threaded_blas
from likewise._runtime.validation import (
    TableLike,
    at_least,
    check_labelled,
    check_rows,
    job_count,
    non_negative,
    shown,
)
from likewise.base import NeighborVoter, fitting
from likewise.batch._initialisation import rms_scale
from likewise.batch.plml.mixture import Mixture
from likewise.constraints import triplets
from likewise.objectives import LocalMarginObjective
from likewise.solvers import lbfgs

_JOINED = 5  # nearest rows that a row shares its mixture with
_SAME, _DIFFERENT = 3, 10  # neighbours of each row that triplets are made of
_PULL = 0.1
_SPARE = 8  # candidates beyond k, before distances are measured exactly
_BLOCK_VALUES = 1 << 20


class PLML(NeighborVoter):
    r"""Parametric local metric learning: a metric that changes smoothly from place to place.

    Anchors :math:`u_b` are means of clusters, row i is mixed of them by shares
    :math:`W_{ib} \ge 0` that sum to 1 and change smoothly, and its own metric is the same mixture
    of a few basis metrics,

    .. math:: D_i(x) = \sum_b W_{ib} (x_i - x)^\top M_b (x_i - x),

    which are learned by large margins: rows of the own class nearer, by 1, than those of others.
    There is no single L; the decision is that of nearest neighbours.

    Parameters
    ----------
    n_neighbors : int
        How many neighbours vote.
    n_metrics : int
        Basis metrics; the anchors are as many.
    smoothness : float
        How alike the mixtures of neighbouring rows should be.
    ridge : float
        How evenly a row should mix the anchors.
    regularization : float
        What large basis metrics cost.
    max_iter : int
        Steps of L-BFGS.
    tol : float
        Stop when a step improves the objective by less than this share of it.
    random_state : int, RandomState or None
        Begins the clusters.
    n_jobs : int, optional
        Threads; None uses all cores.
    verbose : int
        1 shows progress.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels in sorted order.
    anchors_ : array of shape (n_metrics, n_features)
        The means of clusters.
    weights_ : array of shape (n_rows, n_metrics)
        The mixture of each training row.
    factors_ : array of shape (n_metrics, n_features, n_features)
        ``L_b``, with ``M_b = L_bᵀL_b``.
    objective_, n_iter_, converged_, history_ : float, int, bool, dict
        What was reached and how the solver ended.

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
        "n_jobs": job_count(),
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

    @fitting
    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Learn from labels.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Training rows.
        y : array-like of shape (n_rows,)
            Labels of at least two classes, each of two rows or more.

        Returns
        -------
        PLML
            The fitted classifier.
        """
        X, codes, classes = check_labelled(self, X, y)
        self._wanted(self.n_neighbors, len(X))
        if self.n_metrics > len(X):
            raise ValueError(
                f"n_metrics={self.n_metrics} is too many: X has {len(X)} rows to make clusters of."
            )
        counts = np.bincount(codes)
        if counts.min() < 2:
            raise ValueError(
                f"Class {shown(classes[counts.argmin()])} has 1 row, but PLML needs at least 2 in "
                "every class."
            )
        n_same = min(_SAME, int(counts.min()) - 1)
        n_different = min(_DIFFERENT, len(X) - int(counts.max()))
        told = triplets(X, codes, n_same, n_different, n_jobs=self.n_jobs)
        origin, size = X.mean(axis=0, dtype=np.float64), rms_scale(X)
        rows = np.ascontiguousarray((X - origin) / size)
        with single_threaded_blas():
            clusters = KMeans(
                self.n_metrics, n_init=4, random_state=check_random_state(self.random_state)
            ).fit(rows)
        mixture = Mixture(
            clusters.cluster_centers_,
            float(self.ridge),
            float(self.smoothness),
            min(_JOINED, len(X) - 1),
        )
        weights = mixture.of_rows(rows, self.n_jobs)
        n_features = X.shape[1]
        known = {
            "classes_": classes,
            "_codes": codes,
            "_centre": origin,
            "_size": size,
            "_rows": rows,
            "_mixture": mixture,
            "anchors_": mixture.anchors * size + origin,
            "weights_": weights,
        }
        found = self._solve(
            lbfgs,
            LocalMarginObjective(
                rows, weights, told, self.regularization, _PULL, n_jobs=self.n_jobs
            ),
            np.tile(np.eye(n_features) / np.sqrt(n_features), (self.n_metrics, 1, 1)),
            fitted=lambda factors: {**known, "_factors": factors, "factors_": factors / size},
            tol=self.tol,
        )
        self.__dict__.update(known)
        self._factors, self.factors_ = found.x, found.x / size
        return self

    def kneighbors(self, X: TableLike, n_neighbors: int | None = None) -> tuple[Array, IndexArray]:
        """Return distances to, and row numbers of, the nearest training rows, nearest first.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Rows to look up; distances are those of the query's own metric.
        n_neighbors : int, optional
            How many; by default as many as vote.

        Returns
        -------
        distances, index : arrays of shape (n_queries, n_neighbors)
            Distances are not squared.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        wanted = self._wanted(n_neighbors, len(self._rows))
        queries = np.ascontiguousarray((X - self._centre) / self._size)
        shares = self._mixture.of_new(queries, self._rows, self.weights_, self.n_jobs)
        distances = np.empty((len(X), wanted))
        index = np.empty((len(X), wanted), dtype=np.int64)
        known = np.stack([self._rows @ L.T for L in self._factors], axis=1)
        squares = np.square(known).sum(axis=2)

        def block(start: int, stop: int) -> None:
            asked = np.stack([queries[start:stop] @ L.T for L in self._factors], axis=1)
            share = shares[start:stop]
            # Up to a number of the query: Σ_b w_b (‖L_b x‖² - 2 L_b q · L_b x).
            near = share @ squares.T
            near -= (
                2
                * (asked * share[:, :, None]).reshape(stop - start, -1)
                @ known.reshape(len(known), -1).T
            )
            proposed = np.argpartition(near, min(wanted + _SPARE, len(known)) - 1, axis=1)
            proposed = proposed[:, : wanted + _SPARE]
            exact = np.square(known[proposed] - asked[:, None]).sum(axis=3)
            exact = np.einsum("qcb,qb->qc", exact, share)
            order = np.lexsort((proposed, exact), axis=1)[:, :wanted]
            index[start:stop] = np.take_along_axis(proposed, order, axis=1)
            distances[start:stop] = np.sqrt(np.take_along_axis(exact, order, axis=1))

        block_rows = max(1, _BLOCK_VALUES // (len(known) + (wanted + _SPARE) * known[0].size))
        run_blocks(block, len(X), block_rows, self.n_jobs)
        return distances.astype(X.dtype), index
