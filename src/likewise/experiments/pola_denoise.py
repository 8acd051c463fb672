"""Figure 2 of Shalev-Shwartz, Singer and Ng: noisy images on the first direction of POLA."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise.exceptions import OverfitWarning
from likewise.experiments._experiment import Experiment, Figure, Measure, Result, Size, Trial
from likewise.experiments._figures import panels
from likewise.experiments._papers import POLA_PAPER
from likewise.experiments._seeds import generator
from likewise.online import POLA

if TYPE_CHECKING:
    import matplotlib.figure

_DIGITS = (
    """
    ............
    ...######...
    ..########..
    ..##....##..
    ........##..
    .......##...
    ......##....
    .....##.....
    ....##......
    ...########.
    ...########.
    ............
    """,
    """
    ............
    ..########..
    ..########..
    ..##........
    ..##........
    ..#######...
    ..########..
    ........##..
    ........##..
    ..########..
    ..#######...
    ............
    """,
)
_WIDTH = 12
_COMMON, _INDEPENDENT = "one number per image", "one number per pixel"
_METHODS = ("noisy images", "PCA", "POLA")


def prototypes() -> FloatArray:
    """Return the images of 2 and 5, one row each: 1 where there is ink."""
    rows = [[character == "#" for character in "".join(text.split())] for text in _DIGITS]
    return np.array(rows, dtype=np.float64)


def noisy_images(kind: str, run: int, n_images: int) -> tuple[FloatArray, IndexArray]:
    """Return images with noise as strong as the signal, in the odd columns or the odd rows."""
    random = generator(kind, run)
    labels = np.arange(n_images) * 2 // n_images
    images = prototypes()[labels].reshape(n_images, _WIDTH, _WIDTH)
    for image, in_rows in zip(images, random.random(n_images) < 0.5, strict=True):
        part = image[1::2] if in_rows else image[:, 1::2]
        # The expected energy of the noise is that of the image: 0 dB.
        deviation = np.sqrt(np.square(image).sum() / part.size)
        part += deviation * random.normal(size=1 if kind == _COMMON else part.shape)
    return images.reshape(n_images, -1), labels


def run_denoising(dataset: str, method: str, run: int, *, n_images: int) -> Result:
    """Return how well the images of the two digits are apart, and the first run's images."""
    X, labels = noisy_images(dataset, run, n_images)
    shown = _reconstruct(X, labels, method, run)
    distances = squareform(pdist(shown))
    same = labels[:, None] == labels
    others = ~np.eye(n_images, dtype=bool)
    neighbors = np.where(others, distances, np.inf).argmin(axis=1)
    within, between = distances[same & others].mean(), distances[~same].mean()
    result = {
        "error": 100 * float(np.mean(labels[neighbors] != labels)),
        "contrast": float(between / within),
    }
    return result if run else result | {"images": shown.round(3).tolist()}


def _reconstruct(X: FloatArray, labels: IndexArray, method: str, run: int) -> FloatArray:
    """Return images projected onto the first direction of a method, around their mean."""
    if method == "noisy images":
        return X
    if method == "PCA":
        direction = PCA(1, random_state=0).fit(X).components_[0]
    else:
        pairs = np.array(list(combinations(range(len(X)), 2)))
        same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", OverfitWarning)  # few images: that is the experiment
            pola = POLA(random_state=run).fit_pairs(X, pairs, same)
        direction = pola.components_[0] / np.linalg.norm(pola.components_[0])
    mean = X.mean(axis=0)
    return np.asarray(mean + np.outer((X - mean) @ direction, direction))


def _draw(results: Mapping[Trial, Result]) -> matplotlib.figure.Figure:
    """Draw all images, and below them the distances between each two."""
    first = {
        trial.method: result
        for trial, result in results.items()
        if trial.run == 0 and trial.dataset == _COMMON
    }
    figure, axes = panels(2 * len(first), len(first))
    for column, (method, result) in enumerate(first.items()):
        images = np.array(result["images"])
        n_rows = int(np.sqrt(len(images)))
        tiles = images[: n_rows**2].reshape(n_rows, n_rows, _WIDTH, _WIDTH)
        mosaic = tiles.transpose(0, 2, 1, 3).reshape(n_rows * _WIDTH, -1)
        upper, lower = axes[column], axes[len(first) + column]
        upper.imshow(mosaic, cmap="gray_r", interpolation="nearest")
        upper.set(title=method)
        lower.imshow(squareform(pdist(images)), cmap="viridis", interpolation="nearest")
        for axis in (upper, lower):
            axis.set_axis_off()
    return figure


POLA_DENOISE = Experiment(
    name="pola-denoise",
    title="noisy images on the first direction of PCA and of POLA",
    paper=POLA_PAPER,
    place="Figure 2",
    protocol=(
        "64 images of 12×12 pixels, 32 of a 2 and 32 of a 5 (drawn by us: the paper does not give "
        "its own), each with Gaussian noise of the energy of the image (0 dB) in its odd columns "
        "or its odd rows: one random number per image, or one per pixel. The images are projected "
        "onto the first principal component, or onto the first eigenvector of the metric that POLA "
        "learns from all 2016 pairs. The paper shows a figure without numbers. Here also: the "
        "leave-one-out 1-NN error after the projection, and the mean distance between different "
        "digits divided by that between equal ones."
    ),
    run=run_denoising,
    measures=(
        Measure("error", "1-NN error (%)"),
        Measure("contrast", "Distance ratio", higher_is_better=True),
    ),
    full=Size((_COMMON, _INDEPENDENT), _METHODS, runs=10, options={"n_images": 64}),
    quick=Size((_COMMON, _INDEPENDENT), _METHODS, runs=2, options={"n_images": 16}),
    own_methods=("POLA",),
    figures=(
        Figure(
            "images",
            "Noisy images, and their reconstructions from one direction of PCA and of POLA; below, "
            "the distances between each two images; noise of one number per image (Figure 2).",
            _draw,
        ),
    ),
)
