"""Scatter of rows about their group means, and the map that makes such a scatter round."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh

from likewise._memory import require_memory
from likewise._threads import run_blocks, single_threaded_blas
from likewise.metric import canonical_form

Array = NDArray[Any]

_MEAN_ROWS = 1 << 14


def group_means(X: Array, groups: NDArray[np.int64]) -> Array:
    """Return the mean row of each group 0…g-1, in float64."""
    counts = np.bincount(groups)
    sums = np.zeros((len(counts), X.shape[1]))
    # About a point of the data the sums stay small, however far the data are from the origin.
    origin = X[0].astype(np.float64)
    for start in range(0, len(X), _MEAN_ROWS):
        members = groups[start : start + _MEAN_ROWS]
        one_each = (np.ones(len(members)), members, np.arange(len(members) + 1))
        belongs = sp.csr_array(one_each, shape=(len(members), len(counts)))
        sums += belongs.T @ (X[start : start + _MEAN_ROWS] - origin)
    return np.asarray(sums / counts[:, None] + origin)


def covariance(X: Array, means: Array, groups: NDArray[np.int64]) -> Array:
    """Return the mean outer product of the rows' differences to the mean of their group.

    Summed over fixed blocks of rows in a fixed order: the same bits on any number of cores.
    """
    n_rows, n_features = X.shape
    require_memory(8 * 6 * n_features**2, f"The covariance of {n_features} features")
    # At least 4·n_features rows a block: all partial sums together stay smaller than X.
    block_rows = max(4 * n_features, -(-n_rows // 8))

    def partial(start: int, stop: int) -> Array:
        centred = X[start:stop] - means[groups[start:stop]]
        return np.asarray(centred.T @ centred)

    total = np.zeros((n_features, n_features))
    for block in run_blocks(partial, n_rows, block_rows):
        total += block
    return np.asarray(total / n_rows)


def rounding_of(X: Array) -> Array:
    """Return for each feature by how much rounding to X's precision may have moved its values."""
    largest = np.abs(X).max(axis=0).astype(np.float64)
    return np.asarray(largest * np.finfo(X.dtype).eps)


def whitener(covariance: Array, rounding: Array) -> Array:
    """Return the canonical L with ``L.T @ L`` the inverse of a covariance.

    Features are brought to unit variance first, so that their units do not decide which
    directions count as empty. A direction is empty if the `rounding` of the data alone would
    make them vary as much. Empty directions, and constant features, get weight zero: nothing is
    known of them.

    Examples
    --------
    >>> import numpy as np
    >>> whitener(np.diag([0.25, 0.0]), rounding=np.array([1e-16, 1e-16]))
    array([[2., 0.],
           [0., 0.]])
    """
    deviations = np.sqrt(np.diag(covariance))
    scale = np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > 0)
    with single_threaded_blas():
        values, vectors = eigh(covariance * scale * scale[:, None])
    from_rounding = np.square(vectors.T) @ np.square(rounding * scale)
    kept = values > values[-1] * len(values) * np.finfo(np.float64).eps + from_rounding
    rows = vectors[:, kept].T / np.sqrt(values[kept])[:, None] * scale
    return canonical_form(rows)
