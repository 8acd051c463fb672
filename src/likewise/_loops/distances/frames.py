"""The coordinates in which a radius search compares rows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from likewise._loops.distances.types import bounds
from likewise._runtime.arrays import Array, FloatArray, FloatingArray
from likewise._runtime.threads import single_threaded_blas

# From this many features, and rows per feature, on, rows are rotated so that tiles can be dropped
# after some of the directions (measured).
screen_features = 48
screen_rows_per_feature = 32

_AXES_ROWS = 4096
_AXES_ERROR = 2.0**-27  # with the rounding of its computation, at most 2^-26
_AXES_FEATURES = 1 << 12


class SearchFrame(NamedTuple):
    """Where rows are seen from: a centre, a scale, and axes.

    Attributes
    ----------
    centre : array of shape (n_features,)
    scale : float
        A power of two by which no row is farther than 1 from the centre.
    axes : array of shape (n_features, n_features) or None
        Principal axes as columns, by descending variance; None leaves the rows as they are.
    """

    centre: FloatArray
    scale: float
    axes: FloatArray | None

    def centred(self, rows: FloatingArray) -> FloatArray:
        """Return rows less their centre, scaled, in double."""
        difference: FloatArray = np.subtract(rows, self.centre, dtype=np.float64)
        difference *= self.scale
        return difference


def frame_of(Z: FloatingArray) -> SearchFrame:
    """Return the frame of rows: about their mean, which makes rounding errors small.

    Principal axes of some rows are near enough: any orthogonal matrix is correct.
    """
    low, high = bounds(Z)
    with np.errstate(over="ignore"):
        centre = np.clip(Z.mean(axis=0, dtype=np.float64), low, high)  # the sum may overflow
    widest = float(np.maximum(high - centre, centre - low).max(initial=0.0))
    exponent = math.ceil(math.log2(max(1, Z.shape[1])) / 2)  # of the norm of d such features
    frame = SearchFrame(centre, _scale(widest, exponent), None)
    if not _is_screened(*Z.shape):
        return frame
    rows = frame.centred(Z[:: max(1, len(Z) // _AXES_ROWS)])
    with single_threaded_blas():
        return frame._replace(axes=_principal_axes(rows.T @ rows))


def frame_of_mapped(
    L: Array, n_rows: int, means: Array, covariance: Array, largest_norm: float
) -> SearchFrame:
    """Return a frame of ``X @ L.T``, from the moments of X alone.

    Parameters
    ----------
    L : array of shape (n_components, n_features)
    n_rows : int
    means : array of shape (n_features,)
    covariance : array of shape (n_features, n_features)
    largest_norm : float
        At least ‖x‖ for every row x.
    """
    # ‖Lx - L mean‖ is at most the norm of L times this. A map in float32 rounds L, and sums of
    # d products: it moves Lx by at most (d + 2) 2^-24 of that. Twice as much is allowed.
    rounding = 1 + (len(means) + 8) * 2.0**-23
    farthest = rounding * (largest_norm + float(np.linalg.norm(means)))
    # Squares of the entries of L may overflow, or vanish.
    exponent = math.frexp(float(np.abs(L).max(initial=0.0)))[1]
    norm = float(np.linalg.norm(np.ldexp(L, -exponent)))
    frame = SearchFrame(L @ means, _scale(norm * farthest, exponent), None)
    if not _is_screened(n_rows, len(L)):
        return frame
    with single_threaded_blas():
        scaled = L * frame.scale
        return frame._replace(axes=_principal_axes(scaled @ covariance @ scaled.T))


def _scale(widest: float, exponent: int) -> float:
    """Return the power of two that makes ``widest * 2**exponent`` at most 1.

    Scaling by a power of two is exact, and prevents float32 overflow.
    """
    return 2.0 ** -max(math.frexp(widest)[1] + exponent, -1000) if widest > 0 else 1.0


def _is_screened(n: int, d: int) -> bool:
    return screen_features <= d <= _AXES_FEATURES and n >= screen_rows_per_feature * d


def _principal_axes(scatter: Array) -> FloatArray | None:
    """Return eigenvectors as columns, by descending eigenvalue.

    None if rounding made them less orthogonal than the proof in `radius.hpp` needs.
    """
    _, vectors = np.linalg.eigh(scatter)
    axes = np.ascontiguousarray(vectors[:, ::-1])
    error = float(np.linalg.norm(axes.T @ axes - np.eye(len(axes))))
    return axes if error <= _AXES_ERROR else None
