"""Covariance of samples within groups, and the map that whitens it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import eigh, svd

from likewise._numerics.centring import robust_centre
from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.memory import require_memory
from likewise._runtime.threads import run_blocks, single_threaded_blas
from likewise._runtime.validation import warn_user
from likewise.exceptions import DegenerateMetricWarning
from likewise.metric import canonical_form

_BLOCK_ROWS = 1 << 14
_MAX_NAMED = 10  # columns in a warning
_CONSTANT_SPREAD = 1e-20  # of the median spread: a smaller one counts as constant
_TINY_SPREAD = 1e-6  # of the median spread: a smaller one dominates the metric, with a warning
# Measured on 14 data sets: with fewer samples per feature, Ledoit–Wolf shrinkage made Whitening,
# RCA and FDA separate classes better on nearly all of them, and with more it hardly mattered.
_SAMPLES_PER_FEATURE = 5
_UNCERTAIN_EIGENVALUE = 1e-8  # of the largest: a smaller one is computed from the rows


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
    feature_names: ArrayLike | None = None,
) -> Array:
    """Return the canonical L with ``L.T @ L`` the (pseudo-)inverse of the covariance within groups.

    Features are standardised first, so that the numerical rank does not depend on their units.
    Directions whose variance is within the rounding error of the data, and constant features, get
    weight zero. L is zero if no group varies. Features that vary far less than most, and therefore
    get a very large weight, are named in a `DegenerateMetricWarning`.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    means : array of shape (n_groups, n_features)
        See `group_means`.
    groups : int array of shape (n_samples,)
        The group of each sample.
    shrinkage : float, "auto" or None
        Shrink the correlations towards zero before inversion. ``"auto"`` is the Ledoit–Wolf
        estimate if the samples minus the groups are fewer than five per feature, else none.
    n_axes : int, optional
        Keep that many directions of largest variance; None keeps all.
    n_jobs : int, optional
        Threads; None uses all cores.
    feature_names : array-like of shape (n_features,), optional
        For the warning; None numbers the columns.

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
        options: dict[str, Any] = {
            "shrinkage": shrinkage,
            "n_axes": n_axes,
            "n_jobs": n_jobs,
            "feature_names": feature_names,
        }
        return whitener(X / scale, means / scale, groups, **options) / scale
    rounding = rounding_errors(X)
    if not shrinkage and len(X) < X.shape[1]:
        values, axes, stds, inverse_stds = _principal_axes_by_svd(X, means, groups, rounding)
    else:
        values, axes, stds, inverse_stds = _principal_axes(
            X, means, groups, rounding, shrinkage or 0.0, n_jobs
        )
    _warn_of_tiny_spreads(stds, rounding, feature_names)
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
) -> tuple[Array, Array, Array, Array]:
    """Return principal variances and axes of the standardised features, and std and 1/std."""
    C = covariance(X, means, groups, n_jobs)
    stds = np.sqrt(np.diag(C))
    inverse_stds = _inverse_stds(stds, rounding)
    correlation = C * inverse_stds * inverse_stds[:, None]
    if shrinkage == "auto":
        n_free, n_varying = len(X) - len(means), np.count_nonzero(inverse_stds)
        few = n_free < _SAMPLES_PER_FEATURE * n_varying
        shrinkage = ledoit_wolf(X, means, groups, correlation, inverse_stds) if few else 0.0
    if shrinkage:
        # Towards the diagonal, which is 1 (0 for constant features).
        variances = np.diag(np.diag(correlation))
        correlation = (1 - shrinkage) * correlation + shrinkage * variances
    with single_threaded_blas():
        values, vectors = eigh(correlation)
    axes = np.ascontiguousarray(vectors.T)
    if not shrinkage:

        def standardised(start: int, stop: int, directions: Array) -> Array:
            centred = X[start:stop] - means[groups[start:stop]]
            return np.asarray(centred @ (directions * inverse_stds).T / np.sqrt(len(X)))

        recompute_small_eigenvalues(values, axes, len(X), standardised)
    return values, axes, stds, inverse_stds


def recompute_small_eigenvalues(
    values: Array, axes: Array, n_rows: int, mapped: Callable[[int, int, Array], Array]
) -> None:
    """Replace the small eigenvalues of ``C = ZᵀZ``, and their axes, by those of the rows Z.

    Rounding changes C, relative to its largest eigenvalue, by some δ of about ``√n ε``, and
    eigenvalues by as much: whether a small one is zero cannot be seen from C. But the eigenvectors
    of all eigenvalues below τ span a space that is tilted towards the direction of an eigenvalue
    λ > τ by an angle of at most about δ/λ, which adds no more than ``δ²/τ`` to the squares of the
    rows along it. With τ = 1e-8 that is below ε for δ ≤ 1e-12.

    Parameters
    ----------
    values, axes : arrays of shape (n,) and (n, n_features)
        Eigenvalues in ascending order and eigenvectors as rows; updated.
    n_rows : int
        Number of rows of Z.
    mapped : callable
        Returns ``Z[start:stop] @ directions.T`` for `start`, `stop` and `directions`.
    """
    small = np.flatnonzero(values < _UNCERTAIN_EIGENVALUE * values[-1])
    if not len(small):
        return
    directions = axes[small]
    blocks = run_blocks(lambda a, b: mapped(a, b, directions), n_rows, _BLOCK_ROWS)
    with single_threaded_blas():
        _, roots, rotation = svd(np.concatenate(blocks), full_matrices=False)
        # With fewer rows than small eigenvalues, the first ones are zero.
        values[small] = 0.0
        found = small[len(small) - len(roots) :]
        values[found] = np.square(roots[::-1])
        axes[found] = rotation[::-1] @ directions


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
) -> tuple[Array, Array, Array, Array]:
    """Return the same for n_samples < n_features, where the covariance is larger than the data."""
    require_memory(8 * 6 * X.size, f"Finding the axes of {len(X)} samples of {X.shape[1]} features")
    centred = (X - means[groups]) / np.sqrt(len(X))
    stds = np.linalg.norm(centred, axis=0)
    inverse_stds = _inverse_stds(stds, rounding)
    with single_threaded_blas():
        _, roots, axes = svd(centred * inverse_stds, full_matrices=False)
    return np.square(roots), axes, stds, inverse_stds


def _inverse_stds(stds: Array, rounding: Array) -> Array:
    """Return 1/std of each feature, 0 if it is constant up to rounding or next to the others."""
    varies = (stds > rounding) & (stds > _CONSTANT_SPREAD * _median_std(stds, rounding))
    return np.divide(1.0, stds, out=np.zeros_like(stds), where=varies)


def _median_std(stds: Array, rounding: Array) -> float:
    """Return the median spread of the features that vary."""
    varying = stds[stds > rounding]
    return float(np.median(varying)) if len(varying) else 0.0


def _warn_of_tiny_spreads(
    stds: Array, rounding: Array, feature_names: ArrayLike | None = None
) -> None:
    median = _median_std(stds, rounding)
    tiny = np.flatnonzero((stds > rounding) & (stds < _TINY_SPREAD * median))
    if not len(tiny):
        return
    names = range(len(stds)) if feature_names is None else np.asarray(feature_names)
    shown = [f"{names[j]!s} ({stds[j]:.1g})" for j in tiny[:_MAX_NAMED]]
    if len(tiny) > _MAX_NAMED:
        shown.append(f"{len(tiny) - _MAX_NAMED} more")
    one = len(tiny) == 1
    warn_user(
        f"{'A feature varies' if one else f'{len(tiny)} features vary'} far less than the others, "
        f"whose median standard deviation is {median:.1g}: {'column' if one else 'columns'} "
        f"{', '.join(shown)}. A standard deviation below {_CONSTANT_SPREAD:g} of the median counts "
        "as zero; any other makes the weight as large as it is small. Remove features that are "
        "only noise.",
        DegenerateMetricWarning,
    )
