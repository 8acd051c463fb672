"""Deskewing: what images of digits need before their pixels are compared."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import FloatArray, FloatingArray

_BLOCK_ROWS = 2048  # keeps the temporaries of a block of 28 × 28 images below 100 MB


def deskew(images: ArrayLike, shape: tuple[int, int] = (28, 28)) -> FloatingArray:
    """Set slanted strokes upright and move each image's centre of mass to the middle.

    With the pixel values as masses at (row r, column c), centre of mass (r₀, c₀) and central
    second moments μ, each row is shifted so that the slant α = μ_rc / μ_rr becomes zero: the
    result at (r, c) is the image at (r₀ + Δr, c₀ + Δc + α Δr), where Δ is the offset from the
    middle of the image. Values between pixels are bilinear; outside is background, 0.

    Parameters
    ----------
    images : array-like of shape (n_images, height * width)
        One image a row, in row-major order, background 0, no negative values.
    shape : (int, int), default=(28, 28)
        Height and width.

    Returns
    -------
    ndarray of shape (n_images, height * width)
        float32 for float32 and short integers, float64 otherwise. Blank images stay blank.

    Examples
    --------
    A slanted stroke becomes a vertical one in the middle column:

    >>> import numpy as np
    >>> from likewise.datasets import deskew
    >>> deskew(np.eye(3).reshape(1, 9), shape=(3, 3)).reshape(3, 3)
    array([[0., 1., 0.],
           [0., 1., 0.],
           [0., 1., 0.]])
    """
    pixels = _check_images(images, shape)
    upright = np.empty_like(pixels)
    for start in range(0, len(pixels), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        upright[block] = _deskew_block(pixels[block], shape)
    return upright


def _check_images(images: ArrayLike, shape: tuple[int, int]) -> FloatingArray:
    pixels = np.asarray(images)
    if pixels.dtype.kind not in "biuf":
        raise ValueError(f"images must be numbers, found {pixels.dtype}")
    height, width = shape
    if pixels.ndim != 2 or pixels.shape[1] != height * width:
        raise ValueError(
            f"images must have one row of {height} × {width} = {height * width} values an image, "
            f"found shape {pixels.shape}"
        )
    pixels = pixels.astype(np.result_type(pixels.dtype, np.float32), copy=False)
    if not np.isfinite(pixels).all() or (pixels < 0).any():
        raise ValueError("images must be finite and not negative, with background 0")
    return pixels


def _deskew_block(pixels: FloatingArray, shape: tuple[int, int]) -> FloatingArray:
    height, width = shape
    row, column, slant = _mass_centre_and_slant(pixels, shape)
    middle_row, middle_column = (height - 1) / 2, (width - 1) / 2
    image = pixels.reshape(-1, height, width)

    # The row in the source depends on the output row only, so bilinear interpolation is one
    # linear step down the rows and then one along them.
    source_row = np.arange(height) + (row - middle_row)[:, None]
    image = _interpolate(image, np.broadcast_to(source_row[:, :, None], image.shape), axis=1)
    lean = slant[:, None] * (np.arange(height) - middle_row)
    source_column = np.arange(width) + ((column - middle_column)[:, None] + lean)[:, :, None]
    return _interpolate(image, source_column, axis=2).reshape(pixels.shape)


def _mass_centre_and_slant(
    pixels: FloatingArray, shape: tuple[int, int]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r, c = (grid.ravel() - grid.mean() for grid in np.indices(shape, dtype=np.float64))
    # A value's scale does not matter to the moments, and unscaled sums could overflow.
    peak = pixels.max(axis=1, initial=0, keepdims=True)
    weights = pixels.astype(np.float64) / np.where(peak > 0, peak, 1)
    mass = weights.sum(axis=1)
    blank = mass == 0
    mean_r, mean_c, mean_rr, mean_rc = (
        weights @ np.column_stack([r, c, r * r, r * c]) / np.where(blank, 1, mass)[:, None]
    ).T
    spread_rr = mean_rr - mean_r**2
    # Ink in one row only has no slant; rounding may leave its spread a little off zero.
    slanted = spread_rr > 1e-9
    slant = np.where(slanted, mean_rc - mean_r * mean_c, 0) / np.where(slanted, spread_rr, 1)
    return mean_r + (shape[0] - 1) / 2, mean_c + (shape[1] - 1) / 2, slant


def _interpolate(image: FloatingArray, position: FloatArray, axis: int) -> FloatingArray:
    """Return `image` at fractional positions along one axis, 0 outside."""
    size = image.shape[axis]
    below = np.floor(position)
    share = (position - below).astype(image.dtype)
    # One cell of background on each side: all that lies further out reads the same zeros.
    margin = [(0, 0), (0, 0), (0, 0)]
    margin[axis] = (1, 1)
    padded = np.pad(image, margin)
    first = np.clip(below + 1, 0, size + 1).astype(np.intp)
    second = np.clip(below + 2, 0, size + 1).astype(np.intp)
    low, high = (np.take_along_axis(padded, cell, axis) for cell in (first, second))
    low += share * (high - low)
    return low
