"""What a fitted adapter does with rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likewise._runtime.arrays import Array
from likewise._runtime.blocks import is_dask
from likewise._runtime.blocks.lazy_rows import compare_lazily, transform_lazily
from likewise._runtime.invariants import require_array
from likewise._runtime.sklearn_bases import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from likewise._runtime.tensors import (
    as_given,
    device_memory_errors,
    is_tensor,
    require_same_device,
)
from likewise._runtime.validation import (
    TableLike,
    check_parameters,
    check_rows,
    either,
    non_negative,
    none,
)
from likewise.adapter._candidate import Side
from likewise.adapter._given_rows import as_floats
from likewise.base import AffineMap, Learner, PairExplanation
from likewise.base.pair_explanation import check_row, explain_difference, explained_names
from likewise.metric import row_norms


class AdaptedRows(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Learner):
    """Maps rows by a fitted affine map, which `fit` sets."""

    side: Side
    components_: Array
    mean_: Array
    normalize_: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def transform(self, X: TableLike) -> Any:
        """Map rows; with ``side="query"``, queries.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to map. Those of a Dask array or dataframe are mapped when the result is computed.

        Returns
        -------
        array of shape (n_samples, n_features)
            Compare them by cosine or Euclidean distance, which give the same order if
            `normalize_`; otherwise by Euclidean distance. A Dask array if X is a Dask collection,
            and a tensor on the same device if X is a tensor.
        """
        if is_dask(X):
            return transform_lazily(self, self._transform_block, X)
        return self._transform_block(X)

    def pair_distance(self, A: TableLike, B: TableLike) -> Any:
        """Return the distance of each row of `A` to the same row of `B`: large is different.

        Parameters
        ----------
        A, B : array-like of shape (n_pairs, n_features)
            The two sides of the pairs. With ``side="query"``, `A` are queries and `B` vectors as
            they are stored. Dask arrays or dataframes are compared when the result is computed.

        Returns
        -------
        array of shape (n_pairs,)
            The Euclidean distance of the images, which for images of length 1 is
            √(2 - 2 cosine). A Dask array if A or B is a Dask collection, and a tensor if both are
            tensors on one device.
        """
        return compare_lazily(self, self._pair_distance_block, A, B)

    def explain_pair(
        self, a: TableLike, b: TableLike, *, threshold: float | None = None
    ) -> PairExplanation:
        """Split the squared distance of two rows over the directions of the map and the features.

        Where images are scaled to length 1, so are the rows before their difference is taken: by
        the lengths of their images. With ``side="query"`` the two rows are mapped differently, and
        an error is raised.

        Parameters
        ----------
        a, b : array-like of shape (n_features,), or a table of one row
            The two rows.
        threshold : float, optional
            Distance up to which rows count as *same*. Not with images of length 1: a change of one
            feature changes the lengths, too.

        Returns
        -------
        PairExplanation
        """
        check_is_fitted(self)
        if self.side == "query":
            raise AttributeError(
                "side='query' maps only one of two rows, but explain_pair needs a map of both."
            )
        rule = none() if self.normalize_ else either(none(), non_negative())
        check_parameters("explain_pair", {"threshold": threshold}, {"threshold": rule})
        rows = np.stack([check_row(a, "a", self._check_new), check_row(b, "b", self._check_new)])
        if self.normalize_:
            rows -= self.mean_
            lengths = row_norms(rows @ self.components_.T)
            rows /= np.where(lengths > 0, lengths, 1)[:, None]
        return explain_difference(
            self.components_, rows[0] - rows[1], explained_names(self), threshold
        )

    def _transform_block(self, X: TableLike) -> Any:
        with device_memory_errors(type(self).__name__):
            return as_given(self._map(self._check_new(X, "X")), X)

    def _pair_distance_block(self, A: TableLike, B: TableLike) -> Any:
        given = A
        if is_tensor(A) or is_tensor(B):
            require_same_device(A, B, ("A", "B"))
        first, second = self._check_new(A, "A"), self._check_new(B, "B")
        if len(first) != len(second):
            raise ValueError(
                f"A has {len(first)} rows and B has {len(second)}, but both sides of the pairs "
                "must have the same number of rows."
            )
        stored = self.affine_map().stored_map
        with device_memory_errors(type(self).__name__):
            return as_given(row_norms(self._map(first) - stored.map_checked(second)), given)

    def affine_map(self) -> AffineMap:
        """Return the map as `likewise.export` writes it; with ``side="query"``, that of queries."""
        check_is_fitted(self)
        return AffineMap(self.components_, self.mean_, self.normalize_, self.side)

    def _map(self, X: Any) -> Any:
        return self.affine_map().map_checked(X)

    def _transform_centred(self, X: Any, centre: Array) -> Any:
        """Map rows, arrays or tensors, that were checked: the map subtracts a mean of its own."""
        return self._map(X)

    def _check_new(self, X: TableLike, name: str) -> Any:
        check_is_fitted(self)
        return check_rows(self, as_floats(X), reset=False, name=name, tensors=True)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _check_state(self) -> None:
        super()._check_state()
        if "components_" in vars(self):
            d = self.n_features_in_
            require_array(self.components_, d, d)
            require_array(self.mean_, d)
