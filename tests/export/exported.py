"""Models to export, and how close a target must come."""

import numpy as np

import likewise as lw
from likewise.base import AffineMap

RTOL = 1e-5
# Of squared distances, relative to the largest: a few roundings in float32.
TIES = 3e-7


def affine_map(*, normalize, n_components=5, n_features=8, seed=0):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(n_components, n_features))
    return AffineMap(W, rng.normal(size=n_features), normalize)


def vectors(n, n_features=8, seed=1):
    return np.random.default_rng(seed).normal(size=(n, n_features)).astype(np.float32)


def learned():
    """A learner's L has another number of rows than columns."""
    return lw.FDA().fit(*labelled())


def labelled():
    """Rows of four classes."""
    y = np.arange(60) % 4
    return vectors(60) + 2.0 * np.eye(8)[y], y


MAPS = {
    "plain": affine_map(normalize=False),
    "normalised": affine_map(normalize=True),
    "wide": affine_map(normalize=False, n_components=11),
}


QUERY_SIDE = AffineMap(
    affine_map(normalize=True, n_components=8).W, MAPS["plain"].mean, normalize=True, side="query"
)


def query_side_sqdist(queries, X):
    """Of images of queries and vectors as they are, both of length 1."""
    Z, points = images(QUERY_SIDE, queries), np.asarray(X, dtype=np.float64)
    points = points / np.sqrt((points**2).sum(axis=1, keepdims=True))
    return np.array([[np.sum((z - point) ** 2) for point in points] for z in Z])


def images(model, X):
    """By the definition, in double precision."""
    affine = AffineMap.from_model(model)
    rows = []
    for x in np.asarray(X, dtype=np.float64):
        z = affine.W @ (x - affine.mean)
        rows.append(z / np.sqrt(z @ z) if affine.normalize else z)
    return np.array(rows)


def assert_same_images(found, expected):
    """Each row is right up to 1e-5 of its length."""
    error = np.linalg.norm(np.asarray(found, np.float64) - expected, axis=1)
    assert (error <= RTOL * np.linalg.norm(expected, axis=1)).all(), error.max()


def assert_order(found, distances, k, slack):
    """The first k of a search are those of brute force, up to ties within `slack`.

    Parameters
    ----------
    found : array of shape (n_queries, k)
    distances : array of shape (n_queries, n_vectors)
        Squared learned distances, by brute force in double precision.
    """
    for row, of_row in zip(found, distances, strict=True):
        assert len(set(row)) == k
        best = np.sort(of_row)[:k]
        # Sorted by the target, each place has the distance that belongs there.
        assert (np.abs(of_row[row] - best) <= slack).all(), np.abs(of_row[row] - best).max()


def sqdist(model, queries, X):
    """Squared learned distances by brute force, in double precision."""
    Z, points = images(model, queries), images(model, X)
    return np.array([[np.sum((z - point) ** 2) for point in points] for z in Z])
