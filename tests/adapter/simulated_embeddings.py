"""Simulated embeddings with a known best metric."""

import numpy as np

import likewise as lw

D, N_CLASSES, N_RELEVANT = 24, 8, 4


def embeddings(n, seed, noise=2.0, signal=1.0):
    """Return unit rows whose classes differ in 4 of 24 directions, and vary in the others."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(N_CLASSES, N_RELEVANT))
    y = rng.integers(N_CLASSES, size=n)
    X = noise * rng.normal(size=(n, D))
    X[:, :N_RELEVANT] = signal * centres[y] + 0.4 * rng.normal(size=(n, N_RELEVANT))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, y


def fitted(kind, train, pairs, triplets, lists, **parameters):
    X, y = train
    adapter = lw.EmbeddingAdapter(**parameters)
    if kind == "labels":
        return adapter.fit(X[:300], y[:300], unlabelled=X[300:])
    if kind == "pairs":
        return adapter.fit_pairs(X, *pairs)
    if kind == "triplets":
        return adapter.fit_triplets(X, triplets)
    return adapter.fit_relevance(X, *lists)
