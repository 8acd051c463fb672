"""Base of classifiers that predict by the vote of nearest neighbours."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.blocks import is_dask
from likewise._runtime.blocks.lazy_rows import check_dask_features, gather_columns, map_lazily
from likewise._runtime.invariants import require_index
from likewise._runtime.row_numbers import as_integers
from likewise._runtime.sklearn_bases import ClassifierMixin
from likewise._runtime.tensors import to_numpy
from likewise._runtime.validation import TableLike, at_least, check_parameters
from likewise.base.learner import Learner
from likewise.neighbors import vote


class NeighborVoter(ClassifierMixin, Learner):
    """A k-nearest-neighbours classifier; a subclass implements `kneighbors`."""

    n_neighbors: int
    classes_: Array
    _codes: IndexArray

    def kneighbors(self, X: TableLike, n_neighbors: int | None = None) -> tuple[Array, IndexArray]:
        """Return distances to, and row numbers of, the nearest training rows, nearest first."""
        raise NotImplementedError

    def predict(self, X: TableLike) -> Array:
        """Return the label that the neighbours of each row vote for.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Rows to classify; those of a Dask array or dataframe are classified when the result is
            computed.

        Returns
        -------
        array of shape (n_queries,)
            Labels, as in `classes_`.
        """
        if is_dask(X):
            check_dask_features(self, X, "X")
            label = functools.partial(_labels, self.classes_)
            return self._vote_lazily(X, label, None, self.classes_.dtype)
        votes = self._vote(X)  # raises an error if nothing is fitted
        return _labels(self.classes_, *votes)

    def predict_proba(self, X: TableLike) -> Array:
        """Return each class's share of the votes, or of their weights, that decided.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Rows to classify; those of a Dask array or dataframe are classified when the result is
            computed.

        Returns
        -------
        array of shape (n_queries, n_classes)
            Shares in the order of `classes_`; the largest is that of the predicted label.
        """
        if is_dask(X):
            check_dask_features(self, X, "X")
            return self._vote_lazily(X, _shares, len(self.classes_), np.dtype(np.float64))
        return _shares(*self._vote(X))

    def score(self, X: TableLike, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose label is predicted.

        Parameters
        ----------
        X : array-like, or Dask array or dataframe, of shape (n_queries, n_features)
            Rows to classify. Those of a Dask collection stay where they are.
        y : array-like of shape (n_queries,)
            Their labels; also a Dask array or series.
        sample_weight : array-like of shape (n_queries,), optional
            How much each row counts.

        Returns
        -------
        float
            The accuracy.
        """
        from sklearn.metrics import accuracy_score  # what it loads, only scores need

        predicted, truth, weight = gather_columns(
            self.predict(X), y, sample_weight, sources=[X, *self._training_blocks()]
        )
        return float(accuracy_score(to_numpy(truth), predicted, sample_weight=to_numpy(weight)))

    def explain_pair(self, a: TableLike, b: TableLike, *, threshold: float | None = None) -> None:
        """Raise an AttributeError: only a single linear metric can be explained."""
        raise AttributeError(
            f"{type(self).__name__} has no single linear metric of its own to explain a pair with: "
            "use explain_pair of a metric learner."
        )

    def _check_state(self) -> None:
        super()._check_state()
        if "_codes" in vars(self):
            require_index(self._codes, None, len(self.classes_))

    def _vote(self, X: TableLike) -> tuple[IndexArray, Array]:
        index = to_numpy(self.kneighbors(X)[1])
        return vote(self._codes[index], len(self.classes_))

    def _training_blocks(self) -> Sequence[Any]:
        """Return the handles of training rows in blocks, if there are."""
        return ()

    def _vote_lazily(
        self,
        X: TableLike,
        summarise: Callable[[IndexArray, Array], Array],
        width: int | None,
        dtype: Any,
    ) -> Array:
        """Return what `summarise` makes of the votes for a Dask collection, as a Dask array."""
        votes = functools.partial(_summarised_vote, self, summarise)
        return cast("Array", map_lazily(votes, X, width=width, dtype=dtype))

    def _wanted(self, n_neighbors: int | None, n_rows: int) -> int:
        """Return the validated number of neighbours to search among `n_rows` training rows."""
        wanted = self.n_neighbors if n_neighbors is None else n_neighbors
        rule = {"n_neighbors": at_least(1)}
        check_parameters(type(self).__name__, {"n_neighbors": wanted}, rule)
        if wanted > n_rows:
            raise ValueError(
                f"n_neighbors={wanted} is not allowed: there are n_samples = {n_rows} training rows"
                ", and there cannot be more neighbours."
            )
        return int(wanted)

    def _chosen(self, index: Any, n_queries: int) -> IndexArray:
        """Return validated numbers of training rows, some for each query."""
        chosen = as_integers(index, "index")
        n_rows = len(self._codes)
        if chosen.ndim != 2 or len(chosen) != n_queries:
            raise ValueError(
                f"index has shape {chosen.shape}, but one row for each of the {n_queries} queries "
                "is needed."
            )
        outside = chosen[(chosen < 0) | (chosen >= n_rows)]
        if len(outside):
            raise ValueError(
                f"index holds row number {outside[0]}, but there are training rows 0 to "
                f"{n_rows - 1}."
            )
        return chosen


def _labels(classes: Array, winners: IndexArray, counts: Array) -> Array:
    return np.asarray(classes[winners])


def _shares(winners: IndexArray, counts: Array) -> Array:
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _summarised_vote(
    voter: NeighborVoter, summarise: Callable[[IndexArray, Array], Array], X: TableLike
) -> Array:
    return summarise(*voter._vote(X))
