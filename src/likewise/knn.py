"""Classification by the nearest neighbours under a learned metric."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from likewise._numerics.centring import robust_centre
from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.validation import (
    TableLike,
    at_least,
    check_labelled,
    check_rows,
    either,
    has_method,
    n_jobs_rule,
    none,
    one_of,
)
from likewise.base import NeighborVoter, fitting
from likewise.base.metric_learner import transform_centred
from likewise.neighbors import nearest
from likewise.neighbors._arguments import ALGORITHMS, Algorithm


class MetricKNN(NeighborVoter):
    """k nearest neighbours with the papers' tie rule: k shrinks until the vote is unique.

    Parameters
    ----------
    n_neighbors : int
        How many neighbours vote at first.
    metric : MetricLearner, optional
        The metric to learn from the training rows; None is Euclidean. To use one that is fitted
        already, wrap it in scikit-learn's ``FrozenEstimator``.
    neighbors : {"auto", "brute", "tree"}
        How neighbours are searched; the result does not depend on it.
    n_jobs : int, optional
        Threads; None uses all cores.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels in sorted order.
    metric_ : MetricLearner or None
        The fitted metric.

    Notes
    -----
    Neighbours at equal distance are ordered by their row number, so that results do not depend
    on threads or search method.

    Examples
    --------
    >>> import likewise as lw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> lw.MetricKNN(n_neighbors=3, metric=lw.FDA()).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    0.9466666666666667
    """

    _rules: ClassVar = {
        "n_neighbors": at_least(1),
        "metric": either(none(), has_method("transform", "a metric learner")),
        "neighbors": one_of(*ALGORITHMS),
        "n_jobs": n_jobs_rule(),
    }

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        metric: Any = None,
        neighbors: Algorithm = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.neighbors = neighbors
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Learn the metric, if there is one to learn, and remember the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        MetricKNN
            The fitted classifier.
        """
        X, codes, classes = check_labelled(self, X, y, min_classes=1)
        self._wanted(None, len(X))
        metric = None if self.metric is None else clone(self.metric).fit(X, classes[codes])
        # Nothing changes before all has gone well.
        self._codes, self.classes_, self.metric_ = codes, classes, metric
        self._centre = robust_centre(X)
        self._rows = self._map(X)
        return self

    def kneighbors(self, X: TableLike, n_neighbors: int | None = None) -> tuple[Array, IndexArray]:
        """Return distances to, and row numbers of, the nearest training rows, nearest first.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Rows to find neighbours of.
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
        squares, index = nearest(
            self._map(X), self._rows, wanted, algorithm=self.neighbors, n_jobs=self.n_jobs
        )
        return np.sqrt(squares).astype(X.dtype), index

    def _map(self, X: Array) -> Array:
        return X if self.metric_ is None else transform_centred(self.metric_, X, self._centre)
