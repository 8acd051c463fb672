"""A fit needs less than two copies of the rows, and equal rows are found without a copy."""

import tracemalloc

import numpy as np
import pytest

import likewise as lw
from likewise.adapter._items import equal_rows


@pytest.fixture(scope="module")
def rows():
    """Return 60 000 unit rows, in which 5 of 64 directions tell classes apart."""
    rng = np.random.default_rng(0)
    y = rng.integers(8, size=60_000)
    X = rng.standard_normal(size=(len(y), 64), dtype=np.float32)
    X[:, :5] = 0.3 * X[:, :5] + 2 * rng.normal(size=(8, 5))[y]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, y


@pytest.mark.parametrize("kind", ["labels", "pairs"])
def test_a_fit_needs_less_than_two_copies_of_the_rows(rows, kind):
    X, y = rows
    pairs = np.random.default_rng(1).permutation(len(X))[:1000].reshape(-1, 2)
    adapter = lw.EmbeddingAdapter(n_jobs=1)
    tracemalloc.start()
    try:
        if kind == "labels":
            adapter.fit(X[:500], y[:500], unlabelled=X[500:])
        else:
            adapter.fit_pairs(X, pairs, y[pairs[:, 0]] == y[pairs[:, 1]])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert adapter.chosen_ != "identity"  # so that the map was learned from all rows
    assert peak < 2 * X.nbytes


def test_equal_rows_are_numbered_as_by_unique(rng):
    X = rng.integers(3, size=(9000, 4)).astype(np.float32)
    X[X == 0] *= rng.choice([-1.0, 1.0], int((X == 0).sum()))  # -0.0 equals 0.0
    expected = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    assert np.array_equal(equal_rows(X), expected)
    assert np.array_equal(equal_rows(np.asfortranarray(X)), expected)
