"""Metric learners: estimators whose result is a linear map."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from likewise._numerics.centring import centred
from likewise._numerics.products import map_rows
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
    to_numpy,
)
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    TableLike,
    check_parameters,
    check_rows,
    either,
    non_negative,
    none,
)
from likewise.base.learner import Learner
from likewise.base.pair_explanation import (
    PairExplanation,
    check_row,
    explain_difference,
    explained_names,
)
from likewise.metric import row_norms

_MAP_BLOCK = 4096  # rows mapped at a time


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Learner):
    """Base of estimators that learn a linear map L: distances are Euclidean after the map.

    A subclass sets `components_` (n_components × n_features) in `fit`, and
    ``_needs_labels = False`` if `fit` does not need y.
    """

    _needs_labels: ClassVar[bool] = True
    _accepts_sparse: ClassVar[bool] = False
    components_: Array

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_labels
        tags.input_tags.sparse = self._accepts_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def transform(self, X: TableLike) -> Any:
        """Map rows to where the Euclidean distance is the learned one: ``X @ L.T``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to map. Those of a Dask array or dataframe are mapped when the result is computed.

        Returns
        -------
        array of shape (n_samples, n_components)
            The mapped rows, float32 if X is; a Dask array if X is a Dask collection, and a tensor
            on the same device if X is a tensor.
        """
        if is_dask(X):
            return transform_lazily(self, self._transform_block, X)
        return self._transform_block(X)

    def _transform_block(self, X: TableLike) -> Any:
        with device_memory_errors(type(self).__name__):
            return as_given(self._map(self._check_new(X, "X")), X)

    def pair_distance(self, A: TableLike, B: TableLike) -> Any:
        """Return the distance of each row of `A` to the same row of `B`: large is different.

        Parameters
        ----------
        A, B : array-like of shape (n_pairs, n_features)
            The two sides of the pairs; Dask arrays or dataframes are compared when the result is
            computed.

        Returns
        -------
        array of shape (n_pairs,)
            ``‖L(a - b)‖``, not squared; with a kernel of their images in feature space. A Dask
            array if A or B is a Dask collection, and a tensor if both are tensors on one device.
        """
        return compare_lazily(self, self._pair_distance_block, A, B)

    def _pair_distance_block(self, A: TableLike, B: TableLike) -> Array:
        given = A
        if is_tensor(A) or is_tensor(B):
            require_same_device(A, B, ("A", "B"))
        A, B = self._check_new(A, "A"), self._check_new(B, "B")
        if A.shape[0] != B.shape[0]:
            raise ValueError(
                f"A has {A.shape[0]} rows and B has {B.shape[0]}, but both sides of the pairs must "
                "have the same number of rows."
            )
        with device_memory_errors(type(self).__name__):
            distances: Array = as_given(row_norms(self._map_differences(A, B)), given)
        return distances

    def mahalanobis_matrix(self) -> Array:
        """Return ``M = L.T @ L``; a kernel model has none over the features, and says so."""
        check_is_fitted(self)
        if not self._linear:
            raise AttributeError(
                "A kernel model has no matrix over the features of X: use pair_distance, transform "
                "or get_metric."
            )
        with single_threaded_blas():
            return np.asarray(self.components_.T @ self.components_)

    def get_metric(self) -> Callable[[ArrayLike, ArrayLike], float]:
        """Return the distance as a plain function of two vectors, for SciPy and scikit-learn.

        A vector may also be a table of one row.

        Examples
        --------
        >>> import likewise as lw
        >>> distance = lw.Euclidean().fit([[0.0, 0.0]]).get_metric()
        >>> distance([0.0, 3.0], [4.0, 0.0])
        5.0
        """
        check_is_fitted(self)
        return functools.partial(_distance, self.components_)

    def explain_pair(
        self, a: TableLike, b: TableLike, *, threshold: float | None = None
    ) -> PairExplanation:
        """Split the squared distance of two rows over the learned directions and the features.

        Only linear metrics can be explained; a kernel model raises an error.

        Parameters
        ----------
        a, b : array-like of shape (n_features,), or a table of one row
            The two rows.
        threshold : float, optional
            Distance up to which rows count as *same*; by default the method's own `threshold_`,
            where it has one. The explanation says how much one feature alone would have to change
            for the distance to reach it.

        Returns
        -------
        PairExplanation

        Examples
        --------
        >>> import likewise as lw
        >>> metric = lw.Euclidean().fit([[0.0, 0.0]])
        >>> metric.explain_pair([0.0, 3.0], [4.0, 0.0], threshold=4.5)
        distance 5, threshold 4.5: different
        feature  difference  contribution   share  factor
        x0               -4            16   64.0%   0.839
        x1                3             9   36.0%   0.687
        over directions: 16, 9
        Contributions add up to the squared distance; negative ones reduce it.
        Factor: on this feature's difference alone, to reach the threshold; none: no factor does.
        """
        check_is_fitted(self)
        if not self._linear:
            raise AttributeError(
                "A kernel model has no metric over the features of X to explain a pair with: use "
                "pair_distance, or fit without a kernel."
            )
        rule = either(none(), non_negative())
        check_parameters("explain_pair", {"threshold": threshold}, {"threshold": rule})
        first, second = check_row(a, "a", self._check_new), check_row(b, "b", self._check_new)
        if threshold is None:
            threshold = getattr(self, "threshold_", None)
        return explain_difference(
            self.components_,
            first - second,
            explained_names(self),
            None if threshold is None else float(threshold),
        )

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _check_state(self) -> None:
        super()._check_state()
        if "components_" in vars(self):
            require_array(self.components_, None, self.n_features_in_ if self._linear else None)

    def _check_new(self, X: Any, name: str) -> Any:
        check_is_fitted(self)
        return check_rows(
            self,
            X,
            reset=False,
            name=name,
            accept_sparse=self._accepts_sparse,
            tensors=self._linear,
        )

    def _map(self, X: Any) -> Any:
        L = self.components_
        if sp.issparse(X):
            return X @ L.T
        if is_tensor(X):
            from likewise._numerics.torch_products import map_tensor

            return map_tensor(X, L, precision=L.dtype)
        return map_rows(
            X,
            L,
            getattr(self, "n_jobs", None),
            block_rows=_MAP_BLOCK,
            precision=np.result_type(X, L),
        )

    @property
    def _linear(self) -> bool:
        """Whether `components_` is over the features of X; a kernel model has another space."""
        return True

    def _map_differences(self, A: Any, B: Any) -> Any:
        """Map what lies between rows; the difference comes first, for L·a and L·b lose digits."""
        return self._map(A - B)

    def _transform_centred(self, X: Array, centre: Array) -> Any:
        """Map ``X - centre``: for data far from zero, ``X @ L.T`` would lose digits."""
        return self._map(centred(X, centre) if self._linear else to_numpy(X))

    def _keep(self, components: Array, dtype: Any) -> Self:
        """Store L in the precision of the data it was learned from."""
        with np.errstate(over="ignore"):
            stored = np.ascontiguousarray(components, dtype=dtype)
        if not np.isfinite(stored).all():
            raise ValueError(
                f"The metric of such small features is too large for {np.dtype(dtype)}; scale X."
            )
        self.components_ = stored
        return self


def transform_centred(metric: Any, X: Any, centre: Array) -> Array:
    """Transform rows by `metric`, up to a common translation, which changes no distance.

    Any transformer is accepted. A linear metric of this library maps ``X - centre``, so that no
    digits are lost however far the data are from zero.
    """
    of_differences = getattr(metric, "_transform_centred", None)
    if of_differences is None:
        return np.asarray(metric.transform(to_numpy(X)))
    mapped: Array = of_differences(X, centre)
    return mapped if is_tensor(mapped) else np.asarray(mapped)


def linear_components(metric: Any) -> Array | None:
    """Return L of a fitted linear metric of this library, frozen or not; None of any other.

    `components_` of other transformers need not be their map: `PCA(whiten=True)` also scales.
    """
    learner = metric.estimator if isinstance(metric, FrozenEstimator) else metric
    return learner.components_ if isinstance(learner, MetricLearner) and learner._linear else None


def as_vector(given: ArrayLike, n_features: int) -> Array:
    """Return a vector, or the only row of a table, as an array of shape (n_features,)."""
    vector = np.asarray(given)
    if vector.shape not in ((n_features,), (1, n_features)):
        raise ValueError(
            f"A vector has shape {vector.shape}, but ({n_features},) or (1, {n_features}) is "
            "needed."
        )
    return vector.reshape(n_features)


def _distance(components: Array, first: ArrayLike, second: ArrayLike) -> float:
    n_features = components.shape[1]
    difference = as_vector(first, n_features) - as_vector(second, n_features)
    return float(row_norms((components @ difference)[None])[0])
