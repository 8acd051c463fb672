"""Covariance of samples within groups, and the map that whitens it."""

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

_BLOCK_ROWS = 1 << 14


def group_means(X: Array, groups: IndexArray) -> Array:
    """Return the mean of each group 0…g-1, in float64."""
    counts = np.bincount(groups)
    sums = np.zeros((len(counts), X.shape[1]))
    # Sums of centred samples lose no digits, however far the data are from zero.
    centre = robust_centre(X).astype(np.float64)
    for start in range(0, len(X), _BLOCK_ROWS):
        members = groups[start : start + _BLOCK_ROWS]
        one_hot = (np.ones(len(members)), members, np.arange(len(members) + 1))
        indicators = sp.csr_array(one_hot, shape=(len(members), len(counts)))
        sums += np.asarray(indicators.T @ (X[start : start + _BLOCK_ROWS] - centre))
    return np.asarray(sums / counts[:, None] + centre)


def covariance(X: Array, means: Array, groups: IndexArray, n_jobs: int | None = None) -> Array:
    """Return the covariance within groups, ``1/n Σ (x - m)(x - m)ᵀ`` with m the mean of x's group.

    Fixed blocks are summed in a fixed order: the same bits for any number of threads.
    """
    n_samples, n_features = X.shape
    require_memory(8 * 6 * n_features**2, f"The covariance of {n_features} features")
    # With 4·n_features rows per block, all partial sums together stay smaller than X.
    block_rows = max(4 * n_features, -(-n_samples // 8))

    def partial(start: int, stop: int) -> Array:
        centred = X[start:stop] - means[groups[start:stop]]
        return np.asarray(centred.T @ centred)

    total = np.zeros((n_features, n_features))
    for block in run_blocks(partial, n_samples, block_rows, n_jobs):
        total += block
    return np.asarray(total / n_samples)


def rounding_errors(X: Array) -> Array:
    """Return a bound per feature on the rounding error of its values in the precision of X."""
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
    """Return the canonical L with ``L.T @ L`` the (pseudo-)inverse of the covariance within groups.

    Features are standardised first, so that the numerical rank does not depend on their units.
    Directions whose variance is within the rounding error of the data, and constant features, get
    weight zero. L is zero if no group varies.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    means : array of shape (n_groups, n_features)
        See `group_means`.
    groups : int array of shape (n_samples,)
        The group of each sample.
    shrinkage : float, "auto" or None
        Shrink the correlations towards zero before inversion; ``"auto"`` is the Ledoit–Wolf
        estimate.
    n_axes : int, optional
        Keep that many directions of largest variance; None keeps all.
    n_jobs : int, optional
        Threads; None uses all cores.

    Returns
    -------
    array of shape (n_features, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> whitener(np.array([[0.0, 7.0], [1.0, 7.0]]), np.array([[0.5, 7.0]]), np.array([0, 0]))
    array([[2., 0.],
           [0., 0.]])
    """
    exponent = int(np.frexp(np.abs(X).max())[1])
    if not -300 < exponent < 300:
        # Squares would overflow or underflow; scaling by a power of two is exact.
        scale = 2.0**exponent
        options: dict[str, Any] = {"shrinkage": shrinkage, "n_axes": n_axes, "n_jobs": n_jobs}
        return whitener(X / scale, means / scale, groups, **options) / scale
    rounding = rounding_errors(X)
    if not shrinkage and len(X) < X.shape[1]:
        values, axes, inverse_stds = _principal_axes_by_svd(X, means, groups, rounding)
    else:
        values, axes, inverse_stds = _principal_axes(
            X, means, groups, rounding, shrinkage or 0.0, n_jobs
        )
    from_rounding = np.square(axes) @ np.square(rounding * inverse_stds)
    kept = values > values.max() * len(inverse_stds) * np.finfo(np.float64).eps + from_rounding
    if n_axes is not None:
        # With fewer samples than features there may be fewer than n_axes axes.
        kept[np.argsort(values)[: max(0, len(values) - n_axes)]] = False
    return canonical_form(axes[kept] / np.sqrt(values[kept])[:, None] * inverse_stds)


def _principal_axes(
    X: Array,
    means: Array,
    groups: IndexArray,
    rounding: Array,
    shrinkage: float | Literal["auto"],
    n_jobs: int | None,
) -> tuple[Array, Array, Array]:
    """Return the principal variances and axes of the standardised features, and 1/std of each."""
    C = covariance(X, means, groups, n_jobs)
    inverse_stds = _inverse_stds(np.sqrt(np.diag(C)), rounding)
    correlation = C * inverse_stds * inverse_stds[:, None]
    if shrinkage == "auto":
        shrinkage = ledoit_wolf(X, means, groups, correlation, inverse_stds)
    if shrinkage:
        # Towards the diagonal, which is 1 (0 for constant features).
        variances = np.diag(np.diag(correlation))
        correlation = (1 - shrinkage) * correlation + shrinkage * variances
    with single_threaded_blas():
        values, vectors = eigh(correlation)
    return values, vectors.T, inverse_stds


def ledoit_wolf(
    X: Array, means: Array, groups: IndexArray, correlation: Array, inverse_stds: Array
) -> float:
    """Return the Ledoit–Wolf shrinkage of the correlation matrix (their lemma 3.4)."""
    n_samples = len(X)

    def partial(start: int, stop: int) -> float:
        rows = (X[start:stop] - means[groups[start:stop]]) * inverse_stds
        return float(np.square(np.square(rows).sum(axis=1)).sum())

    fourth_moment = sum(run_blocks(partial, n_samples, _BLOCK_ROWS)) / n_samples
    sqnorm = float(np.square(correlation).sum())
    # To the target, the diagonal: 1, but 0 for constant features, which must not count.
    distance = sqnorm - float(np.square(np.diag(correlation)).sum())
    noise = (fourth_moment - sqnorm) / n_samples
    return float(np.clip(noise / distance, 0, 1)) if distance > 0 else 1.0


def _principal_axes_by_svd(
    X: Array, means: Array, groups: IndexArray, rounding: Array
) -> tuple[Array, Array, Array]:
    """Return the same for n_samples < n_features, where the covariance is larger than the data."""
    require_memory(8 * 6 * X.size, f"Finding the axes of {len(X)} samples of {X.shape[1]} features")
    centred = (X - means[groups]) / np.sqrt(len(X))
    inverse_stds = _inverse_stds(np.linalg.norm(centred, axis=0), rounding)
    with single_threaded_blas():
        _, roots, axes = svd(centred * inverse_stds, full_matrices=False)
    return np.square(roots), axes, inverse_stds


def _inverse_stds(stds: Array, rounding: Array) -> Array:
    """Return 1/std of each feature, 0 if it varies no more than its rounding error."""
    return np.divide(1.0, stds, out=np.zeros_like(stds), where=stds > rounding)
