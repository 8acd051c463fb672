"""Canonical forms, the nearest PSD matrix and row lengths against what defines them."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from likewise.metric import (
    canonical_components,
    canonical_form,
    nearest_psd,
    row_norms,
    with_positive_peaks,
)

entries = st.floats(-4, 4, allow_subnormal=False).map(lambda value: round(value, 3))


def matrices(rows, columns):
    return st.tuples(rows, columns).flatmap(lambda shape: arrays(float, shape, elements=entries))


squares = st.integers(1, 6).flatmap(lambda n: arrays(float, (n, n), elements=entries))
components = matrices(st.integers(1, 8), st.integers(1, 5))


def assert_canonical(L):
    """Rows orthogonal, their lengths descending, the largest entry of each positive."""
    gram = L @ L.T
    tiny = 1e-12 * max(1.0, gram.max())
    assert np.abs(gram - np.diag(np.diag(gram))).max() <= tiny
    assert (np.diff(np.diag(gram)) <= tiny).all()
    peaks = np.take_along_axis(L, np.abs(L).argmax(axis=1)[:, None], axis=1)
    assert (peaks >= 0).all()


@pytest.mark.parametrize(
    "L", [[[1.0, 0.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 2.0]], [[-1.0, 0.0]]], ids=str
)
def test_assert_canonical_can_fail(L):
    with pytest.raises(AssertionError):
        assert_canonical(np.array(L))


@settings(deadline=None)
@given(root=components)
def test_components_give_back_a_psd_matrix(root):
    M = root.T @ root
    L = canonical_components(M)
    assert L.shape == M.shape
    np.testing.assert_allclose(L.T @ L, M, atol=1e-11 * max(1, np.abs(M).max()))
    assert_canonical(L)


@settings(deadline=None)
@given(matrix=squares)
def test_components_of_any_matrix_give_its_nearest_psd_matrix(matrix):
    L = canonical_components(matrix)
    np.testing.assert_allclose(L.T @ L, nearest_psd(matrix), atol=1e-11)
    assert_canonical(L)


@settings(deadline=None)
@given(root=components)
def test_form_is_canonical_and_the_same_metric(root):
    L = canonical_form(root)
    assert L.shape == (root.shape[1], root.shape[1])
    np.testing.assert_allclose(L.T @ L, root.T @ root, atol=1e-11)
    assert_canonical(L)


def test_form_and_components_agree_where_the_form_is_unique():
    random = np.random.default_rng(1)
    for shape in ((5, 5), (3, 5), (9, 5)):
        root = random.normal(size=shape)
        expected = canonical_components(root.T @ root)
        np.testing.assert_allclose(canonical_form(root), expected, atol=1e-6)


def test_form_keeps_the_metric_of_small_columns():
    """Features in units 16 orders apart: distances along each stay right to the last digits."""
    random = np.random.default_rng(2)
    for n_rows in (4, 9):
        root = random.normal(size=(n_rows, 4))
        units = np.array([1e8, 1e3, 1e-3, 1e-8])
        L = canonical_form(root * units) / units
        np.testing.assert_allclose(L.T @ L, root.T @ root, rtol=1e-12, atol=1e-13)


def test_fewer_components_are_the_first_ones():
    M = np.diag([1.0, 9.0, 4.0])
    np.testing.assert_allclose(canonical_components(M, 2), [[0, 3, 0], [0, 0, 2]])


def test_peaks_keep_the_type_and_lose_negative_zeros():
    rows = with_positive_peaks(np.array([[0.0, -2.0], [-0.0, 0.0]], dtype=np.float32))
    assert rows.dtype == np.float32
    assert rows.tolist() == [[0.0, 2.0], [0.0, 0.0]]
    assert not np.signbit(rows).any()


@settings(deadline=None)
@given(matrix=squares, data=st.data())
def test_nearest_psd_satisfies_the_variational_inequality(matrix, data):
    """P is nearest to A exactly if it is in the cone and ⟨A − P, K − P⟩ ≤ 0 for all K in it."""
    A = (matrix + matrix.T) / 2
    P = nearest_psd(A)
    np.testing.assert_array_equal(P, P.T)
    assert np.linalg.eigvalsh(P)[0] >= -1e-12
    root = data.draw(arrays(float, A.shape, elements=entries))
    assert np.vdot(A - P, root @ root.T - P) <= 1e-10
    assert abs(np.vdot(A - P, P)) <= 1e-10


def test_nearest_psd_drops_nothing_that_is_positive():
    A = np.diag([1.0, 1e-12, -1.0])
    np.testing.assert_array_equal(nearest_psd(A), np.diag([1.0, 1e-12, 0.0]))


def test_nearest_psd_against_a_generic_solver():
    A = np.random.default_rng(3).normal(size=(4, 4))
    A = A + A.T
    P = cp.Variable((4, 4), PSD=True)
    cp.Problem(cp.Minimize(cp.sum_squares(P - A))).solve(solver=cp.SCS, eps=1e-9)
    np.testing.assert_allclose(nearest_psd(A), P.value, atol=1e-5)


def test_a_psd_matrix_is_its_own_nearest():
    A = np.array([[2.0, 1.0], [1.0, 2.0]])
    np.testing.assert_array_equal(nearest_psd(A), A)


@pytest.mark.parametrize("scale", [1e-200, 1e-8, 1.0, 1e8, 1e200])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.coo_array], ids=lambda f: f.__name__)
def test_row_norms_neither_overflow_nor_vanish(scale, make):
    rows = np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0], [-2.0, 0.0, 0.0]]) * scale
    np.testing.assert_allclose(row_norms(make(rows)), np.array([5.0, 0.0, 2.0]) * scale, rtol=1e-15)


def test_row_norms_of_the_smallest_numbers():
    tiny = np.array([[5e-324, 0.0], [3e-320, 4e-320]])
    np.testing.assert_allclose(row_norms(tiny), [5e-324, 5e-320], rtol=1e-3)
    np.testing.assert_allclose(row_norms(sp.csr_array(tiny)), [5e-324, 5e-320], rtol=1e-3)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_row_norms_keep_float32_and_empty_tables(make):
    rows = np.array([[3e30, 4e30]], dtype=np.float32)
    assert row_norms(make(rows)).dtype == np.float32
    np.testing.assert_allclose(row_norms(make(rows)), [5e30], rtol=1e-6)
    assert row_norms(make(np.zeros((0, 3)))).shape == (0,)


def test_row_norms_of_no_features():
    np.testing.assert_array_equal(row_norms(np.zeros((2, 0))), [0, 0])


def test_row_norms_add_up_entries_stored_twice():
    twice = sp.csr_array((np.array([1.0, 2.0, 4.0]), [0, 0, 1], [0, 3]), shape=(1, 2))
    assert row_norms(twice) == 5.0
    assert twice.nnz == 3  # the caller's matrix is left alone
