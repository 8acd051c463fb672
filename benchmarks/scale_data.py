"""Rows by the hundred thousand: shifted and rotated copies of MNIST on its principal axes."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

import numpy as np
from scipy.ndimage import rotate

from likewise.datasets import load as load_dataset

_SIDE = 28
# How far copies are shifted, down and right, in the order in which they are added.
_SHIFTS = (
    *((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1)),
    *((-1, -1), (0, 2), (2, 0), (0, -2), (-2, 0), (1, 2), (2, 1), (-1, 2)),
)
# By how many degrees they are rotated: after all shifts these begin again, by the next angle.
_ANGLES = (0, 5, -5, 10, -10, 15, -15, 20, -20, 25, -25)
SIZES = (50_000, 100_000, 200_000, 300_000)
ROWS_ON_GPU, MOST_ROWS = 960_000, 10_000_000


def shifted_mnist(n_components, n_rows):
    """Return shifted copies of the training rows, on the principal axes of the rows themselves.

    Beyond 960,000 rows they are rotated as well.
    """
    pixels, y, mean, axes = _mnist_with_axes()
    axes = axes[:, : -n_components - 1 : -1]
    n_copies, images = -(-n_rows // len(pixels)), pixels[:n_rows].reshape(-1, _SIDE, _SIDE)
    X = np.empty((n_copies * len(images), n_components), dtype=np.float32)

    def fill(copy):
        turn, shift = divmod(copy, len(_SHIFTS))
        shifted = np.roll(images, _SHIFTS[shift], axis=(1, 2)).reshape(len(images), -1)
        if turn:
            rows = shifted @ (_rotation(_ANGLES[turn]) @ axes) - mean @ axes
        else:
            rows = (shifted - mean) @ axes
        X[copy * len(images) : (copy + 1) * len(images)] = rows

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(fill, range(n_copies)))
    return X[:n_rows], np.tile(y[:n_rows], n_copies)[:n_rows]


@cache
def _rotation(degrees):
    """Return the matrix that rotates images by linear interpolation, one image per row."""
    units = np.eye(_SIDE**2, dtype=np.float32).reshape(-1, _SIDE, _SIDE)
    rotated = rotate(units, degrees, axes=(1, 2), reshape=False, order=1)
    return rotated.reshape(_SIDE**2, -1)


@cache
def _mnist_with_axes():
    """Return pixels, labels, mean, and the principal axes in the order of their variances."""
    dataset = load_dataset("mnist")
    pixels = dataset.X.astype(np.float32) / 255
    mean = pixels.mean(axis=0, dtype=np.float64).astype(np.float32)
    centred = pixels - mean
    _, axes = np.linalg.eigh(centred.T @ centred)
    return pixels, np.asarray(dataset.y), mean, axes


def scale_datasets():
    """Return the data sets by name, each with its number of features and its loader."""
    names = {f"mnist-50-{n}": n for n in (*SIZES, ROWS_ON_GPU)}
    names[f"mnist-rotated-50-{MOST_ROWS}"] = MOST_ROWS
    return {name: (50, partial(shifted_mnist, 50, n)) for name, n in names.items()}
