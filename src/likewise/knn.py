"""Classification by the nearest neighbours under a learned metric."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted

from likewise._metric_parameter import (
    METRIC_RULE,
    fit_metric,
    metric_router,
    nested_fits,
    require_no_gathering,
)
from likewise._numerics.centring import robust_centre
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.blocks import is_dask
from likewise._runtime.blocks.lazy_rows import (
    check_dask_features,
    float_type,
    map_lazily,
    map_to_two,
)
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.invariants import require, require_array
from likewise._runtime.tensors import (
    as_given,
    device_memory_errors,
    numpy_dtype,
    to_numpy,
)
from likewise._runtime.validation import (
    FLOAT_TYPES,
    TableLike,
    at_least,
    check_finite,
    check_labelled,
    check_rows,
    n_jobs_rule,
    one_of,
)
from likewise.base import Learner, NeighborVoter, fitting
from likewise.base.estimate import NestedFit
from likewise.base.metric_learner import transform_centred
from likewise.neighbors import nearest, vote
from likewise.neighbors._arguments import ALGORITHMS, Algorithm
from likewise.neighbors._blocked_search import BlockedSearch


class MetricKNN(NeighborVoter):
    """k nearest neighbours with the papers' tie rule: k shrinks until the vote is unique.

    Parameters
    ----------
    n_neighbors : int
        How many neighbours vote at first.
    metric : MetricLearner or str, optional
        The metric to learn from the training rows, or its name in any case, such as "nca"; None is
        Euclidean. A metric that is fitted already is fitted again; wrap it in scikit-learn's
        ``FrozenEstimator`` to use it as it is.
    weights : {"uniform", "distance"}
        Whether all votes count the same, or each by the inverse of its distance. Neighbours at
        distance 0 then decide alone.
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

    classes_: Array
    metric_: Any

    _rules: ClassVar = {
        "n_neighbors": at_least(1),
        "metric": METRIC_RULE,
        "weights": one_of("uniform", "distance"),
        "neighbors": one_of(*ALGORITHMS),
        "n_jobs": n_jobs_rule(),
    }

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        metric: Any = None,
        weights: str = "uniform",
        neighbors: Algorithm = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.weights = weights
        self.neighbors = neighbors
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: TableLike, y: ArrayLike, **fit_params: Any) -> Self:
        """Learn the metric, if there is one to learn, and remember the rows.

        Parameters
        ----------
        X : array-like, or Dask array or dataframe, of shape (n_samples, n_features)
            Training rows. Those of a Dask collection stay where they are, mapped by the metric, as
            long as this object exists.
        y : array-like of shape (n_samples,)
            Their labels.
        **fit_params
            Passed on to the `fit` of the metric: `anchor_weight` of `LMNN`, for instance. With
            scikit-learn's metadata routing the metric gets what it requests.

        Returns
        -------
        MetricKNN
            The fitted classifier.
        """
        X, codes, classes = check_labelled(self, X, y, min_classes=1, tensors=True, blocked=True)
        self._wanted(None, len(X))
        if isinstance(X, BlockedRows):
            return self._fit_blocks(X, classes, fit_params)
        ours = self.metric is None or isinstance(self.metric, str | Learner)
        metric = fit_metric(
            self, self.metric, X if ours else to_numpy(X), classes[codes], fit_params
        )
        # Nothing changes before all has gone well.
        self._codes, self.classes_, self.metric_ = codes, classes, metric
        self._centre = robust_centre(X)
        self._rows = to_numpy(self._map(X))
        return self

    def _fit_blocks(self, X: BlockedRows, classes: Array, fit_params: dict[str, Any]) -> Self:
        require_no_gathering(self.metric)
        codes, rows = X.group_of_each(), X
        lazy: Any = None if self.metric is None else X.as_dask()
        self.metric_ = fit_metric(self, self.metric, lazy, classes[codes], fit_params)
        self._codes, self.classes_, self._centre = codes, classes, robust_centre(X)
        if self.metric_ is not None:
            rows = X.derive(functools.partial(_mapped, self.metric_, self._centre))
        self._rows = BlockedSearch(rows)
        return self

    def kneighbors(self, X: TableLike, n_neighbors: int | None = None) -> tuple[Array, IndexArray]:
        """Return distances to, and row numbers of, the nearest training rows, nearest first.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Rows to find neighbours of; those of a Dask array or dataframe are searched when the
            result is computed.
        n_neighbors : int, optional
            How many; by default as many as vote.

        Returns
        -------
        distances, index : arrays of shape (n_queries, n_neighbors)
            Distances are not squared. Two Dask arrays if X is a Dask collection, and two tensors on
            the same device if X is a tensor.
        """
        check_is_fitted(self)
        wanted = self._wanted(n_neighbors, len(self._rows))
        if isinstance(self._rows, BlockedSearch):
            return self._search_blocks(self._rows, X, wanted)
        if is_dask(X):
            check_dask_features(self, X, "X")
            search = functools.partial(self.kneighbors, n_neighbors=wanted)
            return map_to_two(search, X, width=wanted, dtypes=(float_type(X), np.dtype(np.int64)))
        given, X = X, check_rows(self, X, reset=False, tensors=True)
        with device_memory_errors(type(self).__name__):
            mapped = self._map(X)
            rows = as_given(self._rows, mapped)  # in their own precision
            squares, index = nearest(
                mapped, rows, wanted, algorithm=self.neighbors, n_jobs=self.n_jobs
            )
        distances = np.sqrt(to_numpy(squares)).astype(numpy_dtype(X))
        return as_given(distances, given), as_given(index, given)

    def _search_blocks(
        self, rows: BlockedSearch, X: TableLike, wanted: int
    ) -> tuple[Array, IndexArray]:
        if is_dask(X):
            check_dask_features(self, X, "X")
            distances, index, _ = rows.nearest_lazily(X, wanted, self._query_map(), float_type(X))
            return distances, index
        queries = check_rows(self, X, reset=False)
        found = rows.nearest(self._map(queries), wanted)
        distances = np.sqrt(found.sqdist).astype(queries.dtype)
        return as_given(distances, X), as_given(found.numbers, X)

    def _query_map(self) -> Callable[[Any], Array]:
        """Return the map of queries without the training rows, which stay where they are."""
        return functools.partial(_map_queries, self.metric_, self._centre)

    def save(self, path: str | bytes | os.PathLike[str]) -> None:
        """Write the model to a safetensors file, which `likewise.load` reads.

        Parameters
        ----------
        path : str or path
            The file; it appears whole or not at all.
        """
        self._require_own_rows()
        super().save(path)

    def __getstate__(self) -> Any:
        self._require_own_rows()
        return super().__getstate__()

    def _require_own_rows(self) -> None:
        if isinstance(getattr(self, "_rows", None), BlockedSearch):
            raise ValueError(
                "This MetricKNN was fitted to a Dask collection and its training rows are not in "
                "memory, so that it cannot be saved or pickled: fit it to rows in memory, or save "
                "metric_ alone."
            )

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the router that passes on what the metric requests.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
            With the requests of `metric`.
        """
        return metric_router(self, self.metric)

    def _nested_fits(self, n_pairs: int) -> list[NestedFit]:
        return nested_fits(self.metric)

    def _vote(self, X: TableLike) -> tuple[IndexArray, Array]:
        distances, index = (to_numpy(part) for part in self.kneighbors(X))
        return _vote_of(self.weights, len(self.classes_), self._codes[index], distances)

    def _training_blocks(self) -> Sequence[Any]:
        return self._rows.rows.blocks if isinstance(self._rows, BlockedSearch) else ()

    def _vote_lazily(
        self,
        X: TableLike,
        summarise: Callable[[IndexArray, Array], Array],
        width: int | None,
        dtype: Any,
    ) -> Array:
        check_is_fitted(self)
        if not isinstance(self._rows, BlockedSearch):
            return super()._vote_lazily(X, summarise, width, dtype)
        wanted = self._wanted(None, len(self._rows))
        distances, _, codes = self._rows.nearest_lazily(X, wanted, self._query_map(), float_type(X))
        votes = functools.partial(_summarised, summarise, self.weights, len(self.classes_))
        return cast("Array", map_lazily(votes, codes, distances, width=width, dtype=dtype))

    def _check_state(self) -> None:
        super()._check_state()
        if "_rows" in vars(self):
            require_array(self._rows, len(self._codes), None)
            require_array(self._centre, self.n_features_in_)
            require(self.metric_ is not None or self._rows.shape[1] == self.n_features_in_)

    def _map(self, X: Array) -> Array:
        return X if self.metric_ is None else transform_centred(self.metric_, X, self._centre)


def _mapped(metric: Any, centre: Array, rows: Array, codes: IndexArray) -> tuple[Array, IndexArray]:
    return transform_centred(metric, rows, centre), codes


def _map_queries(metric: Any, centre: Array, X: Any) -> Array:
    rows = np.asarray(X)
    if rows.dtype not in FLOAT_TYPES:
        rows = rows.astype(np.float64)
    check_finite(rows, "X")
    return rows if metric is None else transform_centred(metric, rows, centre)


def _vote_of(
    weights: str, n_classes: int, codes: IndexArray, distances: Array
) -> tuple[IndexArray, Array]:
    weight = None if weights == "uniform" else _inverse_distances(distances)
    return vote(codes, n_classes, weight)


def _summarised(
    summarise: Callable[[IndexArray, Array], Array],
    weights: str,
    n_classes: int,
    codes: IndexArray,
    distances: Array,
) -> Array:
    return summarise(*_vote_of(weights, n_classes, codes, distances))


def _inverse_distances(distances: Array) -> FloatArray:
    """Return the inverse of each distance relative to the nearest; of zeros only they count."""
    distances = distances.astype(np.float64)
    zero, nearest_distance = distances == 0, distances[:, :1]
    return np.where(zero, 1.0, nearest_distance / np.where(zero, 1.0, distances))
