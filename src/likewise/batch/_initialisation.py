"""Where methods that learn L step by step begin."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh, svd

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    Rule,
    check_n_components,
    counted,
    either,
    matrix,
    one_of,
    table_of_numbers,
)
from likewise.batch._scatter import covariance, group_means, whitener
from likewise.metric import with_positive_peaks


def init_rule(*words: str) -> Rule:
    """What `init` may be: one of the words, or an L."""
    return either(one_of(*words), matrix())


def initial_components(
    owner: str,
    init: str | Array,
    n_components: int | None,
    X: Array,
    codes: IndexArray | None,
    *,
    columns: str = "features of X",
    n_jobs: int | None = None,
) -> Array:
    """Return the L to begin with.

    ``"auto"`` is the identity, or the leading principal axes if fewer components are wanted, scaled
    so that the mean square of a feature is 1: all that follows then does not depend on the units of
    X. ``"identity"`` and ``"pca"`` are the same in the units of X. ``"fda"`` has Fisher's
    directions first. An L of the user's also says how many components there are. `init` is what
    `checked_init` returned.

    `codes` are None where there are no labels; `columns` says what the columns of X are.
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
    """Return `init` if it is a name that can be used here, else the matrix L in float64."""
    if isinstance(init, str):
        if init == "fda" and not labelled:
            raise ValueError(
                "init='fda' needs labels, but triplets have none; 'pca' or 'identity' will do."
            )
        return init
    start = table_of_numbers(init, "init").copy()
    if not np.isfinite(start).all():
        raise ValueError("init holds NaN or infinity, but only finite numbers are allowed.")
    if not start.any():
        raise ValueError("init is zero everywhere, but learning needs a start that is not.")
    return start


def rms_scale(X: Array) -> float:
    """Return the root mean square of the features' deviations."""
    centred = np.subtract(X, X.mean(axis=0, dtype=np.float64), dtype=np.float64)
    largest = float(np.abs(centred).max(initial=0.0)) or 1.0
    return largest * float(np.sqrt(np.square(centred / largest).mean())) or 1.0


def _check_shape(start: Array, n_components: int | None, n_features: int, columns: str) -> None:
    if start.ndim != 2 or start.shape[1] != n_features or len(start) > n_features:
        raise ValueError(
            f"init has shape {start.shape}, but (n_components, {n_features}) is needed, with at "
            f"most {counted(n_features, 'row')}: there are {n_features} {columns}."
        )
    if n_components not in (None, len(start)):
        raise ValueError(
            f"init has {counted(len(start), 'row')}, but n_components={n_components}; they must "
            "match."
        )


def _principal_axes(X: Array, count: int, n_jobs: int | None) -> Array:
    together = np.zeros(len(X), dtype=np.int64)
    spread = covariance(X, group_means(X, together), together, n_jobs)
    some = None if count == len(spread) else (len(spread) - count, len(spread) - 1)
    with single_threaded_blas():
        _, vectors = eigh(spread, subset_by_index=some)
    return with_positive_peaks(vectors.T[::-1])


def _discriminants(X: Array, codes: IndexArray, n_jobs: int | None) -> Array:
    """Return Fisher's directions, and after them the others of the space where classes are round.

    A direction without weight could never get one, since the slope in a zero row of L is zero;
    so the rows after Fisher's complete the metric to the inverse of the scatter within classes.
    """
    means = group_means(X, codes)
    rounder = whitener(X, means, codes, n_jobs=n_jobs)
    share = np.bincount(codes) / len(codes)
    offsets = np.sqrt(share)[:, None] * (means - share @ means) @ rounder.T
    with single_threaded_blas():
        directions = svd(offsets, full_matrices=True)[2]
        components = directions @ rounder
    if not components.any():
        raise ValueError(
            "The rows of each class are equal, but init='fda' needs a class with two different "
            "rows; 'pca' or 'identity' will do."
        )
    return with_positive_peaks(components)
