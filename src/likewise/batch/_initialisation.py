"""Initial values of L, and the scale of the data, for iterative methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh, svd

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.tensors import is_tensor
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    Rule,
    as_float_array,
    check_n_components,
    either,
    matrix,
    one_of,
    pluralize,
)
from likewise.batch._scatter import (
    Rows,
    covariance,
    group_means,
    in_one_group,
    mean_offsets,
    whitener,
)
from likewise.metric import with_positive_peaks


def init_rule(*words: str) -> Rule:
    """Return the rule for `init`: one of the given names, or a matrix L."""
    return either(one_of(*words), matrix())


def initial_components(
    owner: str,
    init: str | Array,
    n_components: int | None,
    X: Rows,
    codes: IndexArray | None,
    *,
    columns: str = "features of X",
    n_jobs: int | None = None,
) -> Array:
    """Return the initial L.

    Parameters
    ----------
    owner : str
        The learner that errors name.
    init : "auto", "identity", "pca", "fda" or array of shape (n_components, n_features)
        ``"auto"`` is the identity, or the leading principal axes if n_components < n_features,
        divided by `rms_scale`, so that the fit does not depend on the units of X. ``"identity"``
        and ``"pca"`` are not scaled. ``"fda"`` has Fisher's discriminants first. A matrix also
        determines the number of components. As `checked_init` returns it.
    n_components : int or None
    X : array of shape (n_samples, n_features), or BlockedRows
    codes : int array of shape (n_samples,) or None
        Class codes 0…c-1; None if there are no labels. `BlockedRows` have their own.
    columns : str
        What the columns of X are, for errors.
    n_jobs : int or None

    Returns
    -------
    array of shape (n_components, n_features)
    """
    n_features = X.shape[1]
    check_n_components(owner, n_components, n_features, f"the {columns}")
    if not isinstance(init, str):
        _check_shape(init, n_components, n_features, columns)
        return init
    count = n_components or n_features
    if init == "fda" and codes is not None:
        return _discriminants(X, codes, n_jobs)[:count]
    if init == "identity" or (init == "auto" and count == n_features):
        start = np.eye(count, n_features)
    else:
        start = _principal_axes(X, count, n_jobs)
    return start / rms_scale(X) if init == "auto" else start


def checked_init(init: Any, *, labelled: bool) -> str | Array:
    """Return the name `init` if it is valid here, or the matrix `init` in float64."""
    if isinstance(init, str):
        if init == "fda" and not labelled:
            raise ValueError(
                "init='fda' needs labels, but triplets have none; use 'pca' or 'identity'."
            )
        return init
    start = as_float_array(init, "init").copy()
    if not np.isfinite(start).all():
        raise ValueError("init holds NaN or infinity, but only finite numbers are allowed.")
    if not start.any():
        raise ValueError("init is zero everywhere, but a nonzero matrix is needed.")
    return start


def rms_scale(X: Rows) -> float:
    """Return the root mean square of the centred features, 1 if that is zero."""
    if is_tensor(X):
        from likewise._numerics.torch_products import tensor_rms_scale

        return tensor_rms_scale(X)
    if isinstance(X, BlockedRows):
        return float(np.sqrt(np.trace(_total_covariance(X)) / X.shape[1])) or 1.0
    centred = np.subtract(X, X.mean(axis=0, dtype=np.float64), dtype=np.float64)
    largest = float(np.abs(centred).max(initial=0.0)) or 1.0
    return largest * float(np.sqrt(np.square(centred / largest).mean())) or 1.0


def _check_shape(start: Array, n_components: int | None, n_features: int, columns: str) -> None:
    if start.ndim != 2 or start.shape[1] != n_features or len(start) > n_features:
        raise ValueError(
            f"init has shape {start.shape}, but (n_components, {n_features}) is needed, with at "
            f"most {pluralize(n_features, 'row')}: there are {n_features} {columns}."
        )
    if n_components not in (None, len(start)):
        raise ValueError(
            f"init has {pluralize(len(start), 'row')}, but n_components={n_components}; they must "
            "match."
        )


def _total_covariance(X: Rows, n_jobs: int | None = None) -> Array:
    rows, groups = in_one_group(X)
    return covariance(rows, group_means(rows, groups), groups, n_jobs)


def _principal_axes(X: Rows, count: int, n_jobs: int | None) -> Array:
    C = _total_covariance(X, n_jobs)
    largest = None if count == len(C) else (len(C) - count, len(C) - 1)
    with single_threaded_blas():
        _, vectors = eigh(C, subset_by_index=largest)
    return with_positive_peaks(vectors.T[::-1])


def _discriminants(X: Rows, codes: IndexArray, n_jobs: int | None) -> Array:
    """Return Fisher's discriminants, completed to a metric of full rank.

    The gradient in a zero row of L is zero, so a direction of weight zero would keep it. The rows
    after the discriminants therefore complete M to the inverse covariance within classes.
    """
    means = group_means(X, codes)
    within_whitener = whitener(X, means, codes, n_jobs=n_jobs)
    offsets = mean_offsets(X, means, codes) @ within_whitener.T
    with single_threaded_blas():
        directions = svd(offsets, full_matrices=True)[2]
        components = directions @ within_whitener
    if not components.any():
        raise ValueError(
            "The samples of each class are equal, but init='fda' needs a class with two different "
            "ones; use 'pca' or 'identity'."
        )
    return with_positive_peaks(components)
