"""Embeddings, and how many judgements of which kind an adapter is given of them."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from likewise.datasets import load as load_dataset

KINDS = ("labels", "near", "random", "judged")
_SIZES = (20, 50, 100, 300, 1000)
_MAX_LABELLED_FACES = 100  # half of those of 20 people
_N_TRAIN, _N_TEST = 6000, 4000  # of the larger sets


@cache
def _minilm():
    data = load_dataset("20news_minilm")
    return _stacked(data.X, data.y, data.X_test, data.y_test)


@cache
def _bow():
    """Return tf-idf weights of words on 256 singular vectors."""
    import scipy.sparse as sp
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.pipeline import make_pipeline

    data = load_dataset("20news_bow")
    reduce = make_pipeline(
        TfidfTransformer(sublinear_tf=True), TruncatedSVD(256, random_state=0)
    ).fit(sp.csr_array(data.X, dtype=np.float64))
    parts = [reduce.transform(sp.csr_array(X, dtype=np.float64)) for X in (data.X, data.X_test)]
    return _sampled(parts[0], data.y, parts[1], data.y_test)


@cache
def _mnist():
    from sklearn.decomposition import PCA

    data = load_dataset("mnist")
    rows = np.random.default_rng(1).permutation(len(data.X))[:20_000]
    reduce = PCA(128, random_state=0).fit(data.X[rows] / 255)
    chosen = _choose(len(data.X), len(data.X_test))
    parts = [
        reduce.transform(X[c] / 255) for X, c in zip((data.X, data.X_test), chosen, strict=True)
    ]
    return _stacked(parts[0], data.y[chosen[0]], parts[1], data.y_test[chosen[1]])


@cache
def _faces():
    """Return all faces; people are divided by the benchmark."""
    data = load_dataset("olivetti_dlib")
    return data.X, np.column_stack([data.y, np.full(len(data.y), -1)]).astype(np.int64)


@cache
def _linked(name):
    data = load_dataset(name)
    return data.X, np.column_stack([data.extra["pairs"], data.extra["same"]]).astype(np.int64)


def _choose(n_train, n_test):
    rng = np.random.default_rng(0)
    return rng.permutation(n_train)[:_N_TRAIN], rng.permutation(n_test)[:_N_TEST]


def _sampled(X, y, X_test, y_test):
    train, test = _choose(len(X), len(X_test))
    return _stacked(X[train], y[train], X_test[test], y_test[test])


def _stacked(X, y, X_test, y_test):
    """Return training rows and test rows, with labels and which of the two they are."""
    part = np.repeat([0, 1], [len(X), len(X_test)])
    return np.vstack([X, X_test]), np.column_stack([np.concatenate([y, y_test]), part]).astype(
        np.int64
    )


def _asked(read, kind, n):
    """Add columns that say what is judged, and how often."""
    X, y = read()
    return X, np.column_stack([y, np.full(len(y), KINDS.index(kind)), np.full(len(y), n)])


_LABELLED = {
    "20news-minilm": (384, _minilm),
    "20news-svd": (256, _bow),
    "mnist-pca-128": (128, _mnist),
    "faces-dlib": (128, _faces),
}
_LINKED = {
    "er-amazon-google": (256, partial(_linked, "er_amazon_google")),
    "er-dblp-acm": (256, partial(_linked, "er_dblp_acm")),
}


def adapter_datasets():
    """Return the data sets of the benchmark by name: number of features, and loader."""
    found = {
        f"{name}-{kind}-{n}": (d, partial(_asked, read, kind, n))
        for name, (d, read) in _LABELLED.items()
        for kind in KINDS[:3]
        for n in _SIZES
        if (name, kind) != ("faces-dlib", "labels") or n <= _MAX_LABELLED_FACES
    }
    more = [("labels", 3000), ("near", 3000)]
    for kind, n in more:
        found[f"20news-minilm-{kind}-{n}"] = (384, partial(_asked, _minilm, kind, n))
    for name, (d, read) in _LINKED.items():
        for n in _SIZES:
            found[f"{name}-judged-{n}"] = (d, partial(_asked, read, "judged", n))
    return found


def _simulated(n, d, kind):
    """Return rows whose 8 classes differ in 20 directions, and what is judged."""
    rng = np.random.default_rng(0)
    y = rng.integers(8, size=n)
    X = rng.standard_normal(size=(n, d), dtype=np.float32)
    X[:, :20] = 0.5 * X[:, :20] + 1.5 * rng.normal(size=(8, 20))[y]
    return X, np.column_stack([y, np.full(n, KINDS.index(kind))])


def timed_datasets():
    """Return simulated data sets, by name, for the time of a fit."""
    return {
        f"embeddings-{n}x{d}-{kind}": (d, partial(_simulated, n, d, kind))
        for n, d in ((5000, 384), (100_000, 768))
        for kind in ("labels", "random")
    }


def collections_of_embeddings():
    """Return the names that data sets begin with."""
    return [*_LABELLED, *_LINKED]
