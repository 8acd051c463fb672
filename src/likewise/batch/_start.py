"""Where methods that learn L step by step begin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from likewise._threads import single_threaded_blas
from likewise._validation import Rule, check_n_components, counted, either, one_of
from likewise.batch._scatter import covariance, group_means
from likewise.batch.fda import FDA
from likewise.metric import with_positive_peaks

Array = NDArray[Any]


def start_rule() -> Rule:
    """What `init` may be."""
    matrix = Rule("a matrix", lambda v: isinstance(v, np.ndarray | list | tuple))
    return either(one_of("auto", "identity", "pca", "fda"), matrix)


def starting_components(
    owner: str, init: Any, n_components: int | None, X: Array, codes: NDArray[np.int64]
) -> Array:
    """Return the L to begin with.

    ``"auto"`` is the identity, or the leading principal axes if fewer components are wanted, scaled
    so that the mean square of a feature is 1: all that follows then does not depend on the units of
    X. ``"identity"`` and ``"pca"`` are the same in the units of X.
    """
    n_features = X.shape[1]
    check_n_components(owner, n_components, n_features, "the features of X")
    count = n_components or n_features
    if not isinstance(init, str):
        return _given(init, n_components, n_features)
    if init == "fda":
        return _padded(FDA().fit(X, codes).components_.astype(np.float64), count)
    if init == "identity" or (init == "auto" and count == n_features):
        start = np.eye(count, n_features)
    else:
        start = _principal_axes(X, count)
    return start / size_of(X) if init == "auto" else start


def size_of(X: Array) -> float:
    """Return the root mean square of the features' deviations."""
    centred = np.subtract(X, X.mean(axis=0, dtype=np.float64), dtype=np.float64)
    largest = float(np.abs(centred).max(initial=0.0)) or 1.0
    return largest * float(np.sqrt(np.square(centred / largest).mean())) or 1.0


def _principal_axes(X: Array, count: int) -> Array:
    together = np.zeros(len(X), dtype=np.int64)
    with single_threaded_blas():
        spread = covariance(X, group_means(X, together), together)
        _, vectors = eigh(spread, subset_by_index=(len(spread) - count, len(spread) - 1))
    return with_positive_peaks(vectors.T[::-1])


def _given(init: Any, n_components: int | None, n_features: int) -> Array:
    start = np.asarray(init, dtype=np.float64)
    if start.ndim != 2 or start.shape[1] != n_features or not len(start):
        raise ValueError(
            f"init has shape {start.shape}, but X has {counted(n_features, 'feature')}: "
            f"(n_components, {n_features}) is needed."
        )
    if n_components not in (None, len(start)):
        raise ValueError(
            f"init has {counted(len(start), 'row')}, but n_components={n_components}; they must "
            "match."
        )
    if not np.isfinite(start).all():
        raise ValueError("init holds NaN or infinity, but only finite numbers are allowed.")
    return start


def _padded(components: Array, count: int) -> Array:
    """Return `count` rows; those beyond the discriminants are small, so that they can grow."""
    if len(components) >= count:
        return components[:count]
    more = np.eye(count - len(components), components.shape[1])
    size = np.linalg.norm(components) / len(components)
    return np.vstack([components, 1e-2 * size * more])
