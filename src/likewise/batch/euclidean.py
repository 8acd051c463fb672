"""The Euclidean distance as a metric learner."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

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
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data; only its number of features is used.
        y : ignored

        Returns
        -------
        Euclidean
            The fitted metric.
        """
        X = check_rows(self, X, reset=True, accept_sparse=True)
        n_features = X.shape[1]
        require_memory(n_features**2 * X.dtype.itemsize, f"The {n_features}×{n_features} identity")
        return self._keep(np.eye(n_features), X.dtype)

    def _map(self, X: Any) -> Any:
        return X.clone() if is_tensor(X) else X.copy()
