"""Directions in which the means of groups differ but no group varies."""

from __future__ import annotations

import numpy as np
from scipy.linalg import svd

from likewise._runtime.arrays import Array
from likewise._runtime.threads import single_threaded_blas


def rounding_variances(axes: Array, largest: float, rounding: Array) -> Array:
    """Return how much variance along each axis may be rounding; `largest` is that of any axis."""
    return np.asarray(
        largest * axes.shape[1] * np.finfo(np.float64).eps + np.square(axes) @ np.square(rounding)
    )


def separating_axes(offsets: Array, axes: Array, largest: float, rounding: Array) -> Array:
    """Return the principal axes of the group means in the space in which no group varies.

    Shrinkage s adds s to the variances of the standardised features. As s vanishes, the ratio of
    the variance between groups to that within grows like 1/s along these axes, and along no other.

    Parameters
    ----------
    offsets : array of shape (n_groups, n_features)
        See `mean_offsets`; standardised.
    axes : array of shape (n_axes, n_features)
        Orthonormal, the directions in which groups vary.
    largest : float
        The largest variance along them.
    rounding : array of shape (n_features,)
        Rounding errors of the standardised features.

    Returns
    -------
    array of shape (n_found, n_features)
        Scaled by the smallest standard deviation that counts: a smaller one within groups cannot
        be told from none. Axes along which not even the means differ by more are left out, such as
        those of dependent features.
    """
    with single_threaded_blas():
        outside = offsets - (offsets @ axes.T) @ axes
        _, roots, found = svd(outside, full_matrices=False)
        total = largest + np.square(np.linalg.norm(offsets))
        differ = np.square(roots) > rounding_variances(found, total, rounding)
    found = found[differ]
    smallest = rounding_variances(found, largest, rounding)
    return np.asarray(found / np.sqrt(smallest)[:, None])
