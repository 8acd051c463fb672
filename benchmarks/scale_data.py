"""Rows by the hundred thousand: shifted copies of MNIST on its principal axes."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

import numpy as np

from likewise.datasets import load as load_dataset

_SIDE = 28
# How far copies are shifted, down and right, in the order in which they are added.
_SHIFTS = (
    *((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1)),
    *((-1, -1), (0, 2), (2, 0), (0, -2), (-2, 0), (1, 2), (2, 1), (-1, 2)),
)
_NOISE = 0.1  # of a feature, in its standard deviations, where a shift is used again
SIZES = (50_000, 100_000, 200_000, 300_000)
SIZES_ON_GPU = (960_000, 10_000_000)


def shifted_mnist(n_components, n_rows):
    """Return shifted copies of the training rows, on the principal axes of the rows themselves.

    After all shifts they begin again, with noise.
    """
    pixels, y, mean, axes = _mnist_with_axes()
    axes = axes[:, : -n_components - 1 : -1]
    n_copies, images = -(-n_rows // len(pixels)), pixels[:n_rows].reshape(-1, _SIDE, _SIDE)
    X = np.empty((n_copies * len(images), n_components), dtype=np.float32)

    def fill(copy):
        shifted = np.roll(images, _SHIFTS[copy % len(_SHIFTS)], axis=(1, 2))
        rows = (shifted.reshape(len(images), -1) - mean) @ axes
        if copy >= len(_SHIFTS):
            noise = np.random.default_rng(copy).normal(size=rows.shape).astype(rows.dtype)
            rows += _NOISE * rows.std(axis=0) * noise
        X[copy * len(images) : (copy + 1) * len(images)] = rows

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(fill, range(n_copies)))
    return X[:n_rows], np.tile(y[:n_rows], n_copies)[:n_rows]


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
    return {f"mnist-50-{n}": (50, partial(shifted_mnist, 50, n)) for n in SIZES + SIZES_ON_GPU}
