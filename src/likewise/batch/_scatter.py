"""Scatter of rows about their group means, and the map that makes such a scatter round."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._memory import require_memory
from likewise._threads import run_blocks
from likewise.metric import canonical_form

Array = NDArray[Any]


def group_means(X: Array, groups: NDArray[np.int64]) -> Array:
    """Return the mean row of each group 0…g-1, in float64."""
    sums = np.zeros((int(groups.max()) + 1, X.shape[1]))
    # About a point of the data the sums stay small, however far the data are from the origin.
    origin = X[0].astype(np.float64)
    for group, total in enumerate(sums):
        total += (X[groups == group] - origin).sum(axis=0, dtype=np.float64)
    return np.asarray(sums / np.bincount(groups)[:, None] + origin)


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


def whitener(covariance: Array) -> Array:
    """Return the canonical L with ``L.T @ L`` the inverse of a covariance.

    Features are brought to unit variance first, so that their units do not decide which
    directions count as empty. Empty directions, and constant features, get weight zero: nothing
    is known of them.

    Examples
    --------
    >>> import numpy as np
    >>> whitener(np.diag([0.25, 0.0]))
    array([[2., 0.],
           [0., 0.]])
    """
    deviations = np.sqrt(np.diag(covariance))
    scale = np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > 0)
    values, vectors = np.linalg.eigh(covariance * scale * scale[:, None])
    kept = values > values[-1] * len(values) * np.finfo(np.float64).eps
    rows = vectors[:, kept].T / np.sqrt(values[kept])[:, None] * scale
    return canonical_form(rows)
