"""The Euclidean distance as a metric learner."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from likewise._runtime.blocks import is_dask
from likewise._runtime.blocks.lazy_rows import check_dask_features, float_type
from likewise._runtime.memory import require_memory
from likewise._runtime.tensors import is_tensor
from likewise._runtime.validation import TableLike, check_rows
from likewise.base import MetricLearner, fitting


class Euclidean(MetricLearner):
    """The Euclidean distance, with the interface of a learned metric.

    Learns nothing; use it as the baseline that a learned metric has to beat.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        The identity.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.Euclidean().fit([[0.0, 0.0]]).pair_distance([[3.0, 0.0]], [[0.0, 4.0]])
    array([5.])
    """

    _needs_labels: ClassVar[bool] = False
    _accepts_sparse: ClassVar[bool] = True

    @fitting
    def fit(self, X: TableLike, y: Any = None) -> Self:
        """Store the identity of the data's number of features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or Dask collection
            Training data; only its number of features is used.
        y : ignored

        Returns
        -------
        Euclidean
            The fitted metric.
        """
        if is_dask(X):  # whose rows need not be computed
            check_dask_features(self, X, "X", reset=True)
            dtype = float_type(X)
        else:
            X = check_rows(self, X, reset=True, accept_sparse=True)
            dtype = X.dtype
        n_features = self.n_features_in_
        require_memory(n_features**2 * dtype.itemsize, f"The {n_features}×{n_features} identity")
        return self._keep(np.eye(n_features), dtype)

    def _map(self, X: Any) -> Any:
        return X.clone() if is_tensor(X) else X.copy()
