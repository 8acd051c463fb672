"""Blocked products against NumPy's, with the same bits for any blocks' order and threads."""

import numpy as np
import pytest

from likewise._numerics import products
from likewise._numerics.products import (
    gradient_in_components,
    map_rows,
    product_over_rows,
    product_over_slices,
)


@pytest.fixture(name="X")
def sample():
    return np.random.default_rng(0).normal(size=(5000, 4))


@pytest.fixture(name="L")
def components():
    return np.random.default_rng(1).normal(size=(3, 4))


@pytest.fixture(name="small_blocks")
def shrink_blocks(monkeypatch):
    monkeypatch.setattr(products, "_SLICE", 2)
    monkeypatch.setattr(products, "_SMALL_SUMS", 3)
    monkeypatch.setattr(products, "_BLOCK_PRODUCTS", 1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_are_mapped_in_their_precision(X, L, dtype):
    mapped = map_rows(X.astype(dtype), L, None)
    assert mapped.dtype == dtype
    np.testing.assert_allclose(
        mapped, X @ L.T, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-5
    )


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n_samples", [0, 1, 2, 7, 50])
def test_many_blocks_are_one_product(X, L, n_samples):
    X = X[:n_samples]
    Z = map_rows(X, L, None)
    np.testing.assert_allclose(Z, X @ L.T, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(product_over_rows(Z, X, None), Z.T @ X, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n_samples", [0, 1, 2, 7, 50])
def test_a_product_of_rows_that_are_made_slice_by_slice(X, L, n_samples):
    X = X[:n_samples].astype(np.float32)
    Z, slices = map_rows(X, L, None), []

    def rows_of(start, stop, memory):
        assert memory.shape == (stop - start, len(L))
        assert memory.dtype == X.dtype
        slices.append((start, stop))
        memory[:] = Z[start:stop]
        return memory

    found = product_over_slices(rows_of, len(L), X, 2)
    np.testing.assert_array_equal(found, product_over_rows(Z, X, None))
    assert all(stop - start <= 2 for start, stop in slices)
    covered = [row for start, stop in sorted(slices) for row in range(start, stop)]
    assert covered == list(range(n_samples))


@pytest.mark.parametrize(
    ("n_rows", "shape", "cheap", "expensive"),
    [
        (20_000, (16, 16), 1, 20),
        (10**6, (16, 16), 31, 64),
        (10**6, (784, 784), 16, 16),  # more sums would take much memory
        (100, (2, 2), 1, 1),
    ],
)
def test_rows_that_take_long_are_in_more_blocks(n_rows, shape, cheap, expensive):
    """A loop over many pairs per row has work for many threads, where the product has none."""
    found = [-(-n_rows // products._summed_rows(n_rows, shape, cost)) for cost in (0, 10**5)]
    assert found == [cheap, expensive]
    assert products.count_sums(n_rows, shape) == expensive


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_are_mapped_to_given_memory(X, L, dtype):
    X = X.astype(dtype)
    memory = np.full((len(X), len(L)), np.nan, dtype=dtype)
    assert map_rows(X, L, 2, out=memory) is memory
    np.testing.assert_array_equal(memory, map_rows(X, L, None))


def test_float32_slices_are_summed_in_float64():
    """Adding ones in single precision would stop at 2²⁴."""
    ones = np.ones((2**25, 1), dtype=np.float32)
    total = product_over_rows(ones, ones, None)
    assert total.dtype == np.float64
    assert total == 2**25


@pytest.mark.usefixtures("small_blocks")
def test_the_same_bits_for_any_number_of_threads(X, L):
    answers = []
    for n_jobs in (1, 2, 5):
        Z = map_rows(X, L, n_jobs)
        answers.append((Z, product_over_rows(Z, X, n_jobs)))
    for answer in answers[1:]:
        for found, expected in zip(answer, answers[0], strict=True):
            np.testing.assert_array_equal(found, expected)


def test_the_gradient_in_components_is_a_finite_difference(X, L):
    """Of ``Σ sin(z)`` over the entries of ``Z = XLᵀ``, up to the factor 2 of squared distances."""
    step = 1e-6 * np.random.default_rng(2).normal(size=L.shape)
    after, before = (np.sin(X @ (L + sign * step).T).sum() for sign in (1, -1))
    gradient = gradient_in_components(np.cos(X @ L.T), X, None) / 2
    assert after - before == pytest.approx(2 * np.vdot(gradient, step), rel=1e-6)
