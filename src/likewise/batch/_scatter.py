"""Scatter of rows about their group means, and the map that makes such a scatter round."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, svd

from likewise._numerics.centring import robust_centre
from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.memory import require_memory
from likewise._runtime.threads import run_blocks, single_threaded_blas
from likewise.metric import canonical_form

_MEAN_ROWS = 1 << 14


def group_means(X: Array, groups: IndexArray) -> Array:
    """Return the mean row of each group 0…g-1, in float64."""
    counts = np.bincount(groups)
    sums = np.zeros((len(counts), X.shape[1]))
    # About a point amid the data the sums stay small, however far the data are from zero.
    origin = robust_centre(X).astype(np.float64)
    for start in range(0, len(X), _MEAN_ROWS):
        members = groups[start : start + _MEAN_ROWS]
        one_each = (np.ones(len(members)), members, np.arange(len(members) + 1))
        belongs = sp.csr_array(one_each, shape=(len(members), len(counts)))
        sums += np.asarray(belongs.T @ (X[start : start + _MEAN_ROWS] - origin))
    return np.asarray(sums / counts[:, None] + origin)


def covariance(X: Array, means: Array, groups: IndexArray, n_jobs: int | None = None) -> Array:
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
    for block in run_blocks(partial, n_rows, block_rows, n_jobs):
        total += block
    return np.asarray(total / n_rows)


def rounding_of(X: Array) -> Array:
    """Return for each feature by how much rounding to X's precision may have moved its values."""
    largest = np.abs(X).max(axis=0).astype(np.float64)
    return np.asarray(largest * np.finfo(X.dtype).eps)


def whitener(
    X: Array,
    means: Array,
    groups: IndexArray,
    *,
    shrinkage: float | Literal["auto"] | None = None,
    n_axes: int | None = None,
    n_jobs: int | None = None,
) -> Array:
    """Return the canonical L with ``L.T @ L`` the inverse of the covariance within groups.

    Features are brought to unit variance first, so that their units do not decide which
    directions count as empty. A direction is empty if the rounding of the data alone would make
    them vary as much. Empty directions, and constant features, get weight zero: nothing is known
    of them. L is zero altogether where no group varies.

    `shrinkage` moves the correlations towards zero by this share (``"auto"``: Ledoit and Wolf's)
    before they are inverted, and `n_axes` keeps that many directions of greatest variance.

    Examples
    --------
    >>> import numpy as np
    >>> whitener(np.array([[0.0, 7.0], [1.0, 7.0]]), np.array([[0.5, 7.0]]), np.array([0, 0]))
    array([[2., 0.],
           [0., 0.]])
    """
    exponent = int(np.frexp(np.abs(X).max())[1])
    if not -300 < exponent < 300:
        # Squares would overflow or vanish: a power of two, which is exact, brings X back to size.
        size = 2.0**exponent
        options: dict[str, Any] = {"shrinkage": shrinkage, "n_axes": n_axes, "n_jobs": n_jobs}
        return whitener(X / size, means / size, groups, **options) / size
    rounding = rounding_of(X)
    if not shrinkage and len(X) < X.shape[1]:
        values, axes, scale = _principal_axes_of_few_rows(X, means, groups, rounding)
    else:
        values, axes, scale = _principal_axes(X, means, groups, rounding, shrinkage or 0.0, n_jobs)
    from_rounding = np.square(axes) @ np.square(rounding * scale)
    kept = values > values.max() * len(scale) * np.finfo(np.float64).eps + from_rounding
    if n_axes is not None:
        # Few rows have fewer axes than features: there may be none to leave out.
        kept[np.argsort(values)[: max(0, len(values) - n_axes)]] = False
    return canonical_form(axes[kept] / np.sqrt(values[kept])[:, None] * scale)


def _principal_axes(
    X: Array,
    means: Array,
    groups: IndexArray,
    rounding: Array,
    shrinkage: float | Literal["auto"],
    n_jobs: int | None,
) -> tuple[Array, Array, Array]:
    """Return variances along, and rows of, the axes of the features scaled to unit variance."""
    spread = covariance(X, means, groups, n_jobs)
    scale = _units(np.sqrt(np.diag(spread)), rounding)
    correlation = spread * scale * scale[:, None]
    if shrinkage == "auto":
        shrinkage = ledoit_wolf(X, means, groups, correlation, scale)
    if shrinkage:
        # Towards the features' own variances, which are 1 here (0 for constant ones).
        variances = np.diag(np.diag(correlation))
        correlation = (1 - shrinkage) * correlation + shrinkage * variances
    with single_threaded_blas():
        values, vectors = eigh(correlation)
    return values, vectors.T, scale


def ledoit_wolf(
    X: Array, means: Array, groups: IndexArray, correlation: Array, scale: Array
) -> float:
    """Return the share by which to shrink the correlations of the scaled rows (lemma 3.4).

    The less the rows determine a correlation matrix, the nearer to 1.
    """
    n_rows = len(X)

    def partial(start: int, stop: int) -> float:
        rows = (X[start:stop] - means[groups[start:stop]]) * scale
        return float(np.square(np.square(rows).sum(axis=1)).sum())

    fourth_moment = sum(run_blocks(partial, n_rows, _MEAN_ROWS)) / n_rows
    size = float(np.square(correlation).sum())
    # To the target: 1 on the diagonal, but for constant features, which must not count.
    distance = size - float(np.square(np.diag(correlation)).sum())
    noise = (fourth_moment - size) / n_rows
    return float(np.clip(noise / distance, 0, 1)) if distance > 0 else 1.0


def _principal_axes_of_few_rows(
    X: Array, means: Array, groups: IndexArray, rounding: Array
) -> tuple[Array, Array, Array]:
    """Do the same without the covariance, which would have more entries than the data."""
    require_memory(8 * 6 * X.size, f"Finding the axes of {len(X)} rows of {X.shape[1]} features")
    centred = (X - means[groups]) / np.sqrt(len(X))
    scale = _units(np.linalg.norm(centred, axis=0), rounding)
    with single_threaded_blas():
        _, roots, axes = svd(centred * scale, full_matrices=False)
    return np.square(roots), axes, scale


def _units(deviations: Array, rounding: Array) -> Array:
    """Return what brings features to unit variance; 0 for those that vary by rounding at most."""
    varies = deviations > rounding
    return np.divide(1.0, deviations, out=np.zeros_like(deviations), where=varies)
