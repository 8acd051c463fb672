"""Euclidean and Whitening against their definitions, and against degenerate data."""

import numpy as np
import pytest
import scipy.sparse as sp

import likewise as lw


@pytest.fixture(name="X")
def sample():
    random = np.random.default_rng(0)
    return random.normal(size=(60, 4)) @ random.normal(size=(4, 4)) + random.normal(size=4)


def test_metric_is_the_inverse_covariance(X):
    expected = np.linalg.inv(np.cov(X, rowvar=False, bias=True))
    np.testing.assert_allclose(lw.Whitening().fit(X).mahalanobis_matrix(), expected, rtol=1e-10)


def test_mapped_rows_are_uncorrelated_with_variance_one(X):
    mapped = lw.Whitening().fit_transform(X)
    np.testing.assert_allclose(np.cov(mapped, rowvar=False, bias=True), np.eye(4), atol=1e-12)


def test_eigenvalues_descend_and_peaks_are_positive(X):
    L = lw.Whitening().fit(X).components_
    gram = L @ L.T
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-10 * gram.max())
    assert (np.diff(np.diag(gram)) <= 0).all()
    assert (L[np.arange(4), np.abs(L).argmax(axis=1)] > 0).all()


def test_labels_do_not_matter(X):
    L = lw.Whitening().fit(X).components_
    np.testing.assert_array_equal(lw.Whitening().fit(X, np.arange(60)).components_, L)


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 1e8])
def test_scale_of_the_data_divides_the_metric(X, scale):
    M = lw.Whitening().fit(X).mahalanobis_matrix()
    scaled = lw.Whitening().fit(X * scale).mahalanobis_matrix()
    np.testing.assert_allclose(scaled * scale**2, M, rtol=1e-9)


def test_a_shift_changes_nothing(X):
    M = lw.Whitening().fit(X).mahalanobis_matrix()
    shifted = lw.Whitening().fit(X + 1e6).mahalanobis_matrix()
    np.testing.assert_allclose(shifted, M, rtol=1e-7, atol=1e-8 * np.abs(M).max())


def test_distances_do_not_depend_on_the_units_of_each_feature(X):
    units = np.array([1e-8, 1e-2, 1e3, 1e8])
    plain = lw.Whitening().fit(X).pair_distance(X[:-1], X[1:])
    other = lw.Whitening().fit(X * units).pair_distance(X[:-1] * units, X[1:] * units)
    np.testing.assert_allclose(other, plain, rtol=1e-10)


def test_a_constant_feature_has_no_weight(X):
    with_constant = np.insert(X, 2, 0.1, axis=1)
    M = lw.Whitening().fit(with_constant).mahalanobis_matrix()
    assert not M[2].any()
    assert not M[:, 2].any()
    kept = [0, 1, 3, 4]
    expected = lw.Whitening().fit(X).mahalanobis_matrix()
    np.testing.assert_allclose(M[np.ix_(kept, kept)], expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_a_feature_that_others_add_up_to_changes_no_distance(X, dtype, shift):
    """Where the sum was rounded, the difference from it is not a direction of the data."""
    X = X.astype(dtype) + dtype(shift)
    redundant = np.column_stack([X, X[:, 0] + X[:, 1]])
    whitened = lw.Whitening().fit(redundant)
    assert np.linalg.matrix_rank(whitened.components_) == 4
    np.testing.assert_allclose(
        whitened.pair_distance(redundant[:-1], redundant[1:]),
        lw.Whitening().fit(X).pair_distance(X[:-1], X[1:]),
        rtol=1e-3 if dtype == np.float32 else 1e-8,
    )


@pytest.mark.filterwarnings("ignore::likewise.OverfitWarning")
def test_more_features_than_rows():
    X = np.random.default_rng(1).normal(size=(5, 12))
    whitened = lw.Whitening(shrinkage=None).fit(X)
    assert np.linalg.matrix_rank(whitened.components_) == 4
    M = whitened.mahalanobis_matrix()
    # Inverse on the span of the data: in units of the spread, all rows are equally far apart.
    centred = X - X.mean(axis=0)
    quadratic = np.einsum("ij,jk,ik->i", centred, M, centred)
    np.testing.assert_allclose(quadratic, np.full(5, 4.0), rtol=1e-9)


def test_float32_stays_float32_and_close(X):
    small = lw.Whitening().fit(X.astype(np.float32))
    assert small.components_.dtype == np.float32
    assert small.transform(X.astype(np.float32)).dtype == np.float32
    M = lw.Whitening().fit(X).mahalanobis_matrix()
    np.testing.assert_allclose(
        small.mahalanobis_matrix(), M, rtol=1e-4, atol=1e-5 * np.abs(M).max()
    )


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, 2.0], [1.0, 2.0]], "All rows of X are equal, but Whitening needs two different"),
        ([[1.0, 2.0]], "minimum of 2 is required by Whitening"),
        ([[1.0, np.nan], [0.0, 1.0]], r"X contains NaN in 1 row \(first in row 0, column 1\)"),
    ],
)
def test_errors(X, message):
    with pytest.raises(ValueError, match=message):
        lw.Whitening().fit(X)


def test_euclidean_is_euclidean(X):
    metric = lw.Euclidean().fit(X)
    np.testing.assert_array_equal(metric.components_, np.eye(4))
    np.testing.assert_array_equal(metric.transform(X), X)
    assert metric.transform(X) is not X
    expected = np.sqrt(((X[:-1] - X[1:]) ** 2).sum(axis=1))
    np.testing.assert_allclose(metric.pair_distance(X[:-1], X[1:]), expected, rtol=1e-14)


def test_euclidean_takes_sparse_rows(X):
    A, B = sp.csr_array(X[:-1] * (X[:-1] > 0)), sp.csr_array(X[1:] * (X[1:] > 0))
    metric = lw.Euclidean().fit(A)
    assert sp.issparse(metric.transform(A))
    expected = metric.pair_distance(A.toarray(), B.toarray())
    np.testing.assert_allclose(metric.pair_distance(A, B), expected, rtol=1e-14)


def test_euclidean_refuses_an_identity_that_does_not_fit():
    wide = sp.csr_array((1, 10_000_000))
    with pytest.raises(MemoryError, match="identity needs about"):
        lw.Euclidean().fit(wide)
