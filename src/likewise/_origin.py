"""A point amid the rows: about it, products of rows keep the digits of their differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_ASKED = 128  # rows: the median of more lies nowhere else, and takes longer than a small fit
_GOLDEN = 0.6180339887498949


def origin_of(X: Array) -> Array:
    """Return a point amid the rows: the median of each feature, over at most 128 rows.

    Unlike the mean, or a row of the data, it stays among the many where a few rows are far off:
    about a point far off, what the many differ by would be lost. It is the lower median, a value
    that X holds, so that differences of numbers with few digits are exact.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)

    Returns
    -------
    array of shape (n_features,)
        In the precision of X.

    Examples
    --------
    >>> origin_of(np.array([[1e9, 5.0], [1.0, 6.0], [2.0, 8.0], [3.0, 7.0]]))
    array([2., 6.])
    """
    if len(X) > _ASKED:
        # From all over the table, and in step with no period that it may have.
        X = X[(np.arange(_ASKED) * _GOLDEN % 1 * len(X)).astype(np.int64)]
    middle = (len(X) - 1) // 2
    return np.array(np.partition(X, middle, axis=0)[middle])


def about(X: Array, origin: Array) -> Array:
    """Return the rows less `origin`, in the wider precision of both; no copy for nothing."""
    if origin.any():
        return np.asarray(X - origin)
    return X.astype(np.result_type(X, origin), copy=False)
