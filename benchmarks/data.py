"""The data sets of the benchmarks, by name; ``NAME/float32`` is in single precision."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.adapter_data import adapter_datasets, timed_datasets
from benchmarks.growth_data import growth_datasets
from benchmarks.scale_data import scale_datasets
from likewise.datasets import deskew
from likewise.datasets import load as load_dataset

Rows = tuple[NDArray, NDArray]
SMOKE_ROWS = 50


def plain(name: str) -> Rows:
    dataset = load_dataset(name)
    return np.asarray(dataset.X, dtype=np.float64), np.asarray(dataset.y)


def mnist_pca(n_components: int, n_rows: int) -> Rows:
    """Return the first training rows of MNIST on their own leading principal axes."""
    dataset = load_dataset("mnist")
    X = dataset.X[:n_rows].astype(np.float64) / 255
    X -= X.mean(axis=0)
    _, axes = np.linalg.eigh(X.T @ X)
    return X @ axes[:, : -n_components - 1 : -1], np.asarray(dataset.y[:n_rows])


def first_rows(read: Callable[[], Rows], n_rows: int) -> Rows:
    X, y = read()
    return X[:n_rows], y[:n_rows]


def standardised(read: Callable[[], Rows]) -> Rows:
    """Return the features with mean 0 and variance 1; constant features become 0."""
    X, y = read()
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1), y


def mnist_deskewed(n_components: int, n_rows: int) -> Rows:
    """Return the first training rows of MNIST followed by all test rows.

    As in LMNN's paper: pixels over 255, deskewed, on the leading principal axes of all training
    rows.
    """
    dataset = load_dataset("mnist")
    upright = [deskew(images.astype(np.float32) / 255) for images in (dataset.X, dataset.X_test)]
    mean = upright[0].mean(axis=0, dtype=np.float64)
    centred = upright[0] - mean
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, : -n_components - 1 : -1]
    X = np.vstack([centred[:n_rows] @ axes, (upright[1] - mean) @ axes])
    return X, np.concatenate([dataset.y[:n_rows], dataset.y_test])


def stream(n_features: int, n_rows: int) -> Rows:
    """Return rows of which consecutive ones make a pair, of squared distance about √n_features."""
    X = np.random.default_rng(0).normal(size=(n_rows, n_features))
    return X * (n_features**-0.25 / np.sqrt(2)), np.arange(n_rows) // 2


def classes(n_features: int, n_rows: int) -> Rows:
    """Return two classes, separated by a hyperplane up to noise."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, n_features))
    noise = 0.5 * n_features**0.5 * random.normal(size=n_rows)
    return X, (X @ random.normal(size=n_features) + noise > 0).astype(np.int64)


def gaussians(n_features: int, n_rows: int) -> Rows:
    """Return ten classes of unit variance, so far apart that a metric separates all pairs."""
    random = np.random.default_rng(0)
    y = random.integers(10, size=n_rows)
    centres = random.normal(scale=4, size=(10, n_features))
    return centres[y] + random.normal(size=(n_rows, n_features)), y


def clusters(n_features: int, n_rows: int) -> Rows:
    """Return 20 classes that overlap."""
    random = np.random.default_rng(0)
    y = random.integers(20, size=n_rows)
    centres = 0.45 * random.normal(size=(20, n_features))
    return centres[y] + random.normal(size=(n_rows, n_features)), y


def pixels(n_rows: int) -> Rows:
    """Return the pixels of the first training rows of MNIST, from 0 to 1."""
    dataset = load_dataset("mnist")
    return dataset.X[:n_rows].astype(np.float64) / 255, np.asarray(dataset.y[:n_rows])


def pixels_with_test_rows(n_rows: int) -> Rows:
    """Return the pixels of the first training rows of MNIST followed by all test rows."""
    dataset = load_dataset("mnist")
    X = np.vstack([dataset.X[:n_rows], dataset.X_test]).astype(np.float64) / 255
    return X, np.concatenate([dataset.y[:n_rows], dataset.y_test])


def words() -> Rows:
    """Return the word counts of 20 newsgroups, each row scaled to unit norm."""
    dataset = load_dataset("20news_bow")
    X = np.asarray(dataset.X, dtype=np.float64)
    length = np.sqrt(np.square(X).sum(axis=1, keepdims=True))
    return X / np.maximum(length, 1), np.asarray(dataset.y)


def embeddings(name: str, n_rows: int | None = None) -> Rows:
    """Return the first rows of a data set in double precision."""
    X, y = plain(name)
    return X[:n_rows], y[:n_rows]


def judged_pairs(name: str, n_learned: int) -> Rows:
    """Return items, and in place of labels their pairs: two row numbers, and whether same.

    A last column says how many of the items to learn from.
    """
    dataset = load_dataset(name)
    pairs, same = dataset.extra["pairs"], dataset.extra["same"]
    table = np.column_stack([pairs, same, np.full(len(same), n_learned)])
    return dataset.X.astype(np.float64), table.astype(np.int64)


def judged_items(name: str, wrong_percent: int) -> Rows:
    """Return items with their classes, and with how many judgements out of 100 are wrong."""
    dataset = load_dataset(name)
    X, y = dataset.X, dataset.y
    if dataset.X_test is not None:
        X, y = np.vstack([X, dataset.X_test]), np.concatenate([y, dataset.y_test])
    return X.astype(np.float64), np.column_stack([y, np.full(len(y), wrong_percent)])


def simulated(number: int) -> Rows:
    """Return the number of a kind of data that a benchmark draws by itself."""
    return np.array([[number]]), np.zeros(1)


PAIR_KINDS = (
    "pairs-feature-subsets",
    "pairs-private-noise",
    "pairs-redrawn-projections",
    "pairs-more-features",
)
# Kinds of simulated pairs: whether items have subjects, and their share of the variance.
SCORE_KINDS = {
    "items-0": (False, 0.0),
    "items-20": (False, 0.2),
    "items-50": (False, 0.5),
    "subjects-20": (True, 0.2),
    "subjects-50": (True, 0.5),
}

# name → number of features (for the generated smoke version), and the loader
DATASETS: dict[str, tuple[int, Callable[[], Rows]]] = {
    "iris": (4, partial(plain, "iris")),
    "digits": (64, partial(plain, "digits")),
    "letter": (16, partial(plain, "letter")),
    "mnist-pca-50": (50, partial(mnist_pca, 50, 20_000)),
    "mnist-pca-164": (164, partial(mnist_pca, 164, 5_000)),
    "mnist-pca-164-60000": (164, partial(mnist_pca, 164, 60_000)),
    "standard-wine": (13, partial(standardised, partial(plain, "wine"))),
    "standard-digits": (64, partial(standardised, partial(plain, "digits"))),
    "standard-letter-5000": (
        16,
        partial(standardised, partial(first_rows, partial(plain, "letter"), 5_000)),
    ),
    "standard-letter-14000": (
        16,
        partial(standardised, partial(first_rows, partial(plain, "letter"), 14_000)),
    ),
    "standard-letter-16000": (
        16,
        partial(standardised, partial(first_rows, partial(plain, "letter"), 16_000)),
    ),
    "standard-segment": (19, partial(standardised, partial(plain, "segment"))),
    "standard-satimage": (36, partial(standardised, partial(plain, "satimage"))),
    "standard-pendigits": (16, partial(standardised, partial(plain, "pendigits"))),
    "mnist-pca-100": (100, partial(mnist_pca, 100, 60_000)),
    "classes-60": (60, partial(classes, 60, 60_000)),
    "gaussians-50": (50, partial(gaussians, 50, 5_000)),
    "mnist-784": (784, partial(pixels, 3_000)),
    "mnist-pixels-16000": (784, partial(pixels_with_test_rows, 16_000)),
    "20news-words": (200, words),
    **{
        f"mnist-164-{n_rows}": (164, partial(mnist_deskewed, 164, n_rows))
        for n_rows in (2000, 5000, 10_000, 20_000, 60_000)
    },
    **{
        name: (1, partial(simulated, number))
        for number, name in enumerate(
            ("feature-subsets", "private-noise", "redrawn-projections", "eight-points")
        )
    },
    **{name: (1, partial(simulated, number)) for number, name in enumerate(PAIR_KINDS)},
    **{name: (1, partial(simulated, number)) for number, name in enumerate(SCORE_KINDS)},
    "olivetti": (4096, partial(plain, "olivetti")),
    "olivetti-dlib": (128, partial(plain, "olivetti_dlib")),
    "20news-minilm": (384, partial(embeddings, "20news_minilm", 3000)),
    "scored-million": (1, partial(simulated, 0)),
    "judged-products": (256, partial(judged_pairs, "er_amazon_google", 0)),
    "judged-papers": (256, partial(judged_pairs, "er_dblp_acm", 0)),
    "er-amazon-google-half": (256, partial(judged_pairs, "er_amazon_google", 1681)),
    "er-dblp-acm-half": (256, partial(judged_pairs, "er_dblp_acm", 2340)),
    "er-dblp-acm-three-quarters": (256, partial(judged_pairs, "er_dblp_acm", 3510)),
    **adapter_datasets(),
    **growth_datasets(),
    **scale_datasets(),
    **timed_datasets(),
    **{
        f"judged-{kind}{ending}": (d, partial(judged_items, name, wrong_percent))
        for kind, d, name in (("faces", 4096, "olivetti"), ("texts", 384, "20news_minilm"))
        for ending, wrong_percent in (("", 0), ("-5-wrong", 5))
    },
    "clusters-100": (100, partial(clusters, 100, 100_000)),
    "clusters-128-1000000": (128, partial(clusters, 128, 1_000_000)),
    **{f"clusters-{d}-20000": (d, partial(clusters, d, 20_000)) for d in (512, 1024, 2048)},
    "gaussians-128": (128, partial(gaussians, 128, 5_000)),
    "stream-16": (16, partial(stream, 16, 200_000)),
    "stream-64": (64, partial(stream, 64, 80_000)),
    "stream-164": (164, partial(stream, 164, 30_000)),
    "stream-256": (256, partial(stream, 256, 16_000)),
    "stream-384": (384, partial(stream, 384, 8_000)),
    "stream-768": (768, partial(stream, 768, 3_000)),
    "stream-1536": (1536, partial(stream, 1536, 1_000)),
}


def load(name: str, *, smoke: bool = False) -> Rows:
    base, _, dtype = name.partition("/")
    n_features, read = DATASETS[base]
    X, y = generated(n_features) if smoke else read()
    return np.ascontiguousarray(X, dtype=dtype or np.float64), y


def generated(n_features: int) -> Rows:
    """Return three overlapping classes in `SMOKE_ROWS` rows, without reading a file."""
    random = np.random.default_rng(0)
    y = np.arange(SMOKE_ROWS) % 3
    X = random.normal(size=(SMOKE_ROWS, n_features))
    X[:, 0] += y
    return X, y
