"""Rows of a table under a model: their images, and their nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.validation import TableLike, at_least, check_parameters
from likewise.neighbors import nearest
from likewise.pair_classifier._decisions import PairDecisions
from likewise.tables._model import TableModel


def map_table(model: Any, X: TableLike) -> Array:
    """Return rows where the Euclidean distance is that of a model.

    Parameters
    ----------
    model : fitted metric, PairClassifier, MetricKNN or TableModel
        Of the classifiers, it is their metric that maps.
    X : array or table
        What the model accepts.

    Returns
    -------
    array of shape (n_rows, n_components)

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.tables import map_table
    >>> map_table(lw.Euclidean().fit([[0.0, 0.0]]), [[3.0, 4.0]])
    array([[3., 4.]])
    """
    rows, inner = X, model
    if isinstance(model, TableModel):
        rows, inner = model.encode_rows(X), model.model_
    if isinstance(inner, PairDecisions):
        return np.asarray(inner._map(inner._check_new(rows, "X")))
    if not hasattr(inner, "transform") and hasattr(inner, "metric_"):
        inner = inner.metric_
        if inner is None:
            return np.asarray(rows)
    if isinstance(inner, FrozenEstimator):
        inner = inner.estimator
    if not hasattr(inner, "transform"):
        raise ValueError(
            f"{type(inner).__name__} has no map of rows, but a metric, or a classifier with a "
            "metric, is needed."
        )
    return np.asarray(inner.transform(rows))


def nearest_rows(
    model: Any,
    X: TableLike,
    queries: TableLike | None = None,
    *,
    n_neighbors: int = 5,
    n_jobs: int | None = None,
) -> tuple[FloatArray, IndexArray]:
    """Return the nearest rows of a table under a model, exactly.

    Parameters
    ----------
    model : as of `map_table`
    X : array or table
        The rows that are searched.
    queries : array or table, optional
        The rows whose neighbours are wanted; by default those of X, none its own neighbour.
    n_neighbors : int, default=5
        Neighbours of each query.
    n_jobs : int, optional
        Threads; all cores by default.

    Returns
    -------
    distance : array of shape (n_queries, n_neighbors)
        Ascending.
    index : int array of shape (n_queries, n_neighbors)
        Rows of X; equal distances in their order.

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.tables import nearest_rows
    >>> metric = lw.Euclidean().fit([[0.0]])
    >>> nearest_rows(metric, [[0.0], [1.0], [5.0]], n_neighbors=1)[1].tolist()
    [[1], [0], [1]]
    """
    check_parameters("nearest_rows", {"n_neighbors": n_neighbors}, {"n_neighbors": at_least(1)})
    points = map_table(model, X)
    others = len(points) - (queries is None)
    if n_neighbors > others:
        raise ValueError(f"n_neighbors is {n_neighbors}, but there are only {others} other rows.")
    mapped = points if queries is None else map_table(model, queries)
    squared, index = nearest(
        mapped, points, n_neighbors, exclude_self=queries is None, n_jobs=n_jobs
    )
    return np.sqrt(squared), index
