"""Covariance of samples within groups, and the map that whitens it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import eigh, qr, svd

from likewise._numerics.centring import robust_centre
from likewise._numerics.spread import magnitudes, rounding_errors
from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.memory import require_memory
from likewise._runtime.tensors import is_tensor, numpy_dtype, to_numpy
from likewise._runtime.threads import run_blocks, single_threaded_blas
from likewise.batch._feature_spreads import (
    inverse_stds_of,
    warn_of_separating_features,
    warn_of_tiny_spreads,
)
from likewise.batch._separating_axes import rounding_variances, separating_axes
from likewise.metric import canonical_form

T = TypeVar("T")
Rows: TypeAlias = Array | BlockedRows

_BLOCK_ROWS = 1 << 14
# Measured on 14 data sets: with fewer samples per feature, Ledoit–Wolf shrinkage made Whitening,
# RCA and FDA separate classes better on nearly all of them, and with more it hardly mattered.
_SAMPLES_PER_FEATURE = 5
_UNCERTAIN_EIGENVALUE = 1e-8  # of the largest: a smaller one is computed from the rows


def map_groups(
    task: Callable[[Array, IndexArray], T],
    X: Rows,
    groups: IndexArray,
    block_rows: int,
    n_jobs: int | None = None,
) -> list[T]:
    """Return ``task(rows, groups)`` of fixed blocks of the samples, in their order.

    `BlockedRows` have blocks and groups of their own, and the tasks run where they are. Blocks of a
    tensor are copied to the host.
    """
    if isinstance(X, BlockedRows):
        return X.map(task)
    return run_blocks(lambda a, b: task(to_numpy(X[a:b]), groups[a:b]), len(X), block_rows, n_jobs)


def _sum_groups(
    task: Callable[[Array, IndexArray], T],
    X: Rows,
    groups: IndexArray,
    block_rows: int,
    n_jobs: int | None = None,
) -> Any:
    """Return the sum of ``task(rows, groups)`` over fixed blocks, in a fixed order."""
    if isinstance(X, BlockedRows):
        return X.total(task)
    total: Any = 0.0
    for block in map_groups(task, X, groups, block_rows, n_jobs):
        total += block
    return total


def in_one_group(X: Rows) -> tuple[Rows, IndexArray]:
    """Return the same samples, all of one group, and their groups."""
    rows = X.in_one_group() if isinstance(X, BlockedRows) else X
    return rows, np.zeros(len(X), dtype=np.int64)


def group_sizes(X: Rows, groups: IndexArray) -> IndexArray:
    """Return the number of samples of each group 0…g-1."""
    if not isinstance(X, BlockedRows):
        return np.bincount(groups)
    n_groups = max(X.map(lambda rows, members: int(members.max(initial=-1)) + 1))
    return np.asarray(X.total(lambda rows, members: np.bincount(members, minlength=n_groups)))


def group_means(X: Rows, groups: IndexArray) -> Array:
    """Return the mean of each group 0…g-1, in float64."""
    if is_tensor(X):
        from likewise._numerics.torch_products import tensor_group_means

        return tensor_group_means(X, groups)
    # Sums of centred samples lose no digits, however far the data are from zero.
    centre = robust_centre(X).astype(np.float64)
    return centre + _group_averages(lambda rows, members: rows - centre, X, groups)


def _group_averages(
    task: Callable[[Array, IndexArray], Array], X: Rows, groups: IndexArray
) -> Array:
    """Return the mean of the rows of ``task(rows, groups)`` for each group 0…g-1."""
    counts = group_sizes(X, groups)

    def partial(rows: Array, members: IndexArray) -> Array:
        one_hot = (np.ones(len(members)), members, np.arange(len(members) + 1))
        indicators = sp.csr_array(one_hot, shape=(len(members), len(counts)))
        return np.asarray(indicators.T @ task(rows, members))

    sums: Any = 0.0
    if isinstance(X, BlockedRows):
        sums = X.total(partial)
    else:  # one block at a time: there may be as many groups as samples
        for start in range(0, len(X), _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            sums += partial(to_numpy(X[part]), groups[part])
    return np.asarray(sums / counts[:, None])


def mean_offsets(X: Rows, means: Array, groups: IndexArray) -> Array:
    """Return the group means minus their mean, times the root of the groups' share of samples.

    With these as rows of A, ``A.T @ A`` is the covariance between groups.
    """
    shares = group_sizes(X, groups) / len(X)
    return np.asarray(np.sqrt(shares)[:, None] * (means - shares @ means))


def covariance(X: Rows, means: Array, groups: IndexArray, n_jobs: int | None = None) -> Array:
    """Return the covariance within groups, ``1/n Σ (x - m)(x - m)ᵀ`` with m the mean of x's group.

    Fixed blocks are summed in a fixed order: the same bits for any number of threads.
    """
    n_samples, n_features = X.shape
    require_memory(8 * 6 * n_features**2, f"The covariance of {n_features} features")
    if is_tensor(X):
        from likewise._numerics.torch_products import tensor_covariance

        return tensor_covariance(X, means, groups)
    # With 4·n_features rows per block, all partial sums together stay smaller than X.
    block_rows = max(4 * n_features, -(-n_samples // 8))

    def partial(rows: Array, members: IndexArray) -> Array:
        centred = rows - means[members]
        return np.asarray(centred.T @ centred)

    return np.asarray(_sum_groups(partial, X, groups, block_rows, n_jobs) / n_samples)


def whitener(
    X: Rows,
    means: Array,
    groups: IndexArray,
    *,
    shrinkage: float | Literal["auto"] | None = None,
    n_axes: int | None = None,
    separating: Literal["keep", "drop"] | None = None,
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
    X : array of shape (n_samples, n_features), or BlockedRows
    means : array of shape (n_groups, n_features)
        See `group_means`.
    groups : int array of shape (n_samples,)
        The group of each sample; not used for `BlockedRows`.
    shrinkage : float, "auto" or None
        Shrink the correlations towards zero before inversion. ``"auto"`` is the Ledoit–Wolf
        estimate if the samples minus the groups are fewer than five per feature, else none.
    n_axes : int, optional
        Keep that many directions of largest variance; None keeps all.
    separating : {"keep", "drop"}, optional
        Directions in which the means of the groups differ but no group varies: "keep" takes the
        limit of vanishing shrinkage, with the smallest variance that counts; "drop" gives them
        weight zero. Both name such features in a `DegenerateMetricWarning`. None drops silently.
    n_jobs : int, optional
        Threads; None uses all cores.
    feature_names : array-like of shape (n_features,), optional
        For the warnings; None numbers the columns.

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
    if is_tensor(X) and len(X) < X.shape[1]:
        X = to_numpy(X)  # few rows: their singular values on the host
    exponent = int(np.frexp(magnitudes(X).max())[1])
    if not -300 < exponent < 300:
        # Squares would overflow or underflow; scaling by a power of two is exact.
        scale = 2.0**exponent
        options: dict[str, Any] = {
            "shrinkage": shrinkage,
            "n_axes": n_axes,
            "separating": separating,
            "n_jobs": n_jobs,
            "feature_names": feature_names,
        }
        scaled = X.scaled(1 / scale) if isinstance(X, BlockedRows) else X / scale
        return whitener(scaled, means / scale, groups, **options) / scale
    rounding = rounding_errors(X)
    if not shrinkage and len(X) < X.shape[1]:
        if isinstance(X, BlockedRows):  # all of it is smaller than the covariance
            X, groups = X.gathered()
        values, axes, stds, inverse_stds = _principal_axes_by_svd(X, means, groups, rounding)
    else:
        values, axes, stds, inverse_stds = _principal_axes(
            X, means, groups, rounding, shrinkage or 0.0, n_jobs
        )
    warn_of_tiny_spreads(stds, rounding, feature_names)
    kept = values > rounding_variances(axes, values.max(), rounding * inverse_stds)
    if n_axes is not None:
        # With fewer samples than features there may be fewer than n_axes axes.
        kept[np.argsort(values)[: max(0, len(values) - n_axes)]] = False
    components = axes[kept] / np.sqrt(values[kept])[:, None] * inverse_stds
    if separating and len(means) > 1 and 0 < np.count_nonzero(kept) < len(stds):
        offsets = mean_offsets(X, means, groups)
        stds_between = np.linalg.norm(offsets, axis=0)
        scales = inverse_stds_of(stds_between, _errors_of_means(X, rounding), stds)
        scales[inverse_stds > 0] = 0
        warn_of_separating_features(scales > 0, separating, feature_names)
        if separating == "keep":
            scales += inverse_stds
            found = separating_axes(offsets * scales, axes[kept], values.max(), rounding * scales)
            components = np.vstack([components, found * scales])
    return canonical_form(components)


def _principal_axes(
    X: Rows,
    means: Array,
    groups: IndexArray,
    rounding: Array,
    shrinkage: float | Literal["auto"],
    n_jobs: int | None,
) -> tuple[Array, Array, Array, Array]:
    """Return principal variances and axes of the standardised features, and std and 1/std."""
    C = covariance(X, means, groups, n_jobs)
    stds = _without_errors_of_means(np.sqrt(np.diag(C)), X, means, groups, rounding)
    inverse_stds = inverse_stds_of(stds, rounding, stds)
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
        root, reduced = np.sqrt(len(X)), isinstance(X, BlockedRows)

        def standardised(directions: Array) -> list[Array]:
            scaled = (directions * inverse_stds).T

            def mapped(rows: Array, members: IndexArray) -> Array:
                Z = np.asarray((rows - means[members]) @ scaled / root)
                return small_factor(Z) if reduced else Z

            return map_groups(mapped, X, groups, _BLOCK_ROWS)

        recompute_small_eigenvalues(values, axes, standardised)
    return values, axes, stds, inverse_stds


def recompute_small_eigenvalues(
    values: Array, axes: Array, mapped: Callable[[Array], list[Array]]
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
    mapped : callable
        Returns ``Z @ directions.T`` for `directions`, in blocks.
    """
    small = np.flatnonzero(values < _UNCERTAIN_EIGENVALUE * values[-1])
    if not len(small):
        return
    directions = axes[small]
    blocks = mapped(directions)
    with single_threaded_blas():
        _, roots, rotation = svd(np.concatenate(blocks), full_matrices=False)
        # With fewer rows than small eigenvalues, the first ones are zero.
        values[small] = 0.0
        found = small[len(small) - len(roots) :]
        values[found] = np.square(roots[::-1])
        axes[found] = rotation[::-1] @ directions


def small_factor(rows: Array) -> Array:
    """Return rows with the same products ``ZᵀZ`` as these, and no more of them than columns."""
    return (
        rows if len(rows) <= rows.shape[1] else np.asarray(qr(rows, mode="r")[0][: rows.shape[1]])
    )


def ledoit_wolf(
    X: Rows, means: Array, groups: IndexArray, correlation: Array, inverse_stds: Array
) -> float:
    """Return the Ledoit–Wolf shrinkage of the correlation matrix (their lemma 3.4)."""
    n_samples = len(X)

    def partial(rows: Array, members: IndexArray) -> float:
        standardised = (rows - means[members]) * inverse_stds
        return float(np.square(np.square(standardised).sum(axis=1)).sum())

    fourth_moment = _sum_groups(partial, X, groups, _BLOCK_ROWS) / n_samples
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
    stds = _without_errors_of_means(stds, X, means, groups, rounding)
    inverse_stds = inverse_stds_of(stds, rounding, stds)
    with single_threaded_blas():
        _, roots, axes = svd(centred * inverse_stds, full_matrices=False)
    return np.square(roots), axes, stds, inverse_stds


def _without_errors_of_means(
    stds: Array, X: Rows, means: Array, groups: IndexArray, rounding: Array
) -> Array:
    """Return standard deviations within groups, zero where they are errors of the means only."""
    uncertain = np.flatnonzero((stds > rounding) & (stds < _errors_of_means(X, rounding)))
    if not len(uncertain):
        return stds

    def residuals(rows: Array, members: IndexArray) -> Array:
        return np.asarray(rows[:, uncertain] - means[members[:, None], uncertain])

    errors = _group_averages(residuals, X, groups)

    def squares(rows: Array, members: IndexArray) -> Array:
        return np.asarray(np.square(residuals(rows, members) - errors[members]).sum(axis=0))

    exact = np.sqrt(_sum_groups(squares, X, groups, _BLOCK_ROWS) / len(X))
    stds = stds.copy()
    stds[uncertain] = np.where(exact > rounding[uncertain], stds[uncertain], 0.0)
    return stds


def _errors_of_means(X: Rows, rounding: Array) -> Array:
    """Return a bound per feature on the errors of `group_means`, and on the rounding of X.

    The sum of n equal numbers, one after the other, is wrong by up to nε/2, relatively.
    """
    share = len(X) * np.finfo(np.float64).eps / np.finfo(numpy_dtype(X)).eps
    return np.asarray(rounding * max(1.0, share))
