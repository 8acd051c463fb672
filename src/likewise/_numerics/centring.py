"""Centring: products of rows keep the digits of their differences only near the origin."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.tensors import is_tensor, tensor_like, to_numpy

_MAX_SAMPLED_ROWS = 128  # more rows hardly move the median, and cost more than a small fit
_GOLDEN_RATIO = 0.6180339887498949


def robust_centre(X: Any) -> Array:
    """Return the median of each feature, over at most 128 rows.

    Unlike the mean, or a row of the data, the median stays with the bulk of the data when a few
    rows are far away. Centred on an outlier, the differences between all other rows would lose
    their digits. It is the lower median, a value that occurs in X, so that differences of numbers
    with few digits are exact.

    Parameters
    ----------
    X : array of shape (n_samples, n_features), or BlockedRows

    Returns
    -------
    array of shape (n_features,)
        In the precision of X.

    Examples
    --------
    >>> robust_centre(np.array([[1e9, 5.0], [1.0, 6.0], [2.0, 8.0], [3.0, 7.0]]))
    array([2., 6.])
    """
    sample = np.arange(len(X))
    if len(X) > _MAX_SAMPLED_ROWS:
        # Multiples of the golden ratio spread over the table and share no period with it.
        sample = (np.arange(_MAX_SAMPLED_ROWS) * _GOLDEN_RATIO % 1 * len(X)).astype(np.int64)
    X = X.take(sample) if isinstance(X, BlockedRows) else to_numpy(X[sample])
    middle = (len(X) - 1) // 2
    return np.array(np.partition(X, middle, axis=0)[middle])


def centred(X: Any, centre: Array) -> Array:
    """Return ``X - centre`` in the wider precision of both, without a copy if `centre` is 0.

    A tensor keeps its precision.
    """
    if is_tensor(X):
        moved: Array = X - tensor_like(centre, X)
        return moved
    if centre.any():
        return np.asarray(X - centre)
    return np.asarray(X, dtype=np.result_type(X, centre))
