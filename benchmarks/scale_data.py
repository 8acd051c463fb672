"""Rows by the hundred thousand: shifted copies of MNIST on its principal axes."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from likewise.datasets import load as load_dataset

_SIDE = 28
# How far copies are shifted, down and right, in the order in which they are added.
_SHIFTS = ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1))
SIZES = (50_000, 100_000, 200_000, 300_000)


def shifted_mnist(n_components, n_rows):
    """Return shifted copies of the training rows, on the principal axes of the rows themselves."""
    pixels, y, mean, axes = _mnist_with_axes()
    axes = axes[:, : -n_components - 1 : -1]
    n_copies = -(-n_rows // len(pixels))
    images = pixels[:n_rows].reshape(-1, _SIDE, _SIDE)
    copies = [
        (np.roll(images, shift, axis=(1, 2)).reshape(len(images), -1) - mean) @ axes
        for shift in _SHIFTS[:n_copies]
    ]
    X, y = np.concatenate(copies), np.tile(y[:n_rows], n_copies)
    return X[:n_rows].astype(np.float64), y[:n_rows]


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
    return {f"mnist-50-{n}": (50, partial(shifted_mnist, 50, n)) for n in SIZES}
