"""Damaged sparse matrices are refused by every estimator that accepts sparse ones."""

import numpy as np
import pytest
import scipy.sparse as sp

import likewise as lw
from likewise._runtime.sparse import check_sparse_structure

RANDOM = np.random.default_rng(0)
DENSE = RANDOM.normal(size=(20, 6)) * (RANDOM.random((20, 6)) < 0.4)
Y = np.arange(20) % 2
FORMATS = ("csr", "csc", "coo", "bsr")


def damaged(matrix, name, value, at=-1):
    """Return a copy with one entry of an index array replaced."""
    copy = matrix.copy()
    array = getattr(copy, name).copy()
    array[at] = value
    setattr(copy, name, array)
    return copy


def damaged_matrices():
    for make in (sp.csr_matrix, sp.csr_array):
        csr = make(DENSE)
        yield damaged(csr, "indices", 6), "column index 6, but columns 0 to 5"
        yield damaged(csr, "indices", -1, at=3), "column index -1"
        yield damaged(csr, "indices", 2**30, at=0), "column index 1073741824"
        yield damaged(csr, "indptr", 10**6), "indptr ends with 1000000"
        yield damaged(csr, "indptr", 10**6, at=3), "does not ascend"
        yield damaged(csr, "indptr", -5, at=0), "does not ascend from 0"
    yield damaged(sp.csc_matrix(DENSE), "indices", 20), "row index 20, but rows 0 to 19"
    yield damaged(sp.bsr_matrix(DENSE, blocksize=(2, 3)), "indices", 2), "block column index 2"
    yield damaged(sp.coo_matrix(DENSE), "col", 77), "column index 77"
    yield damaged(sp.coo_matrix(DENSE), "row", -3), "row index -3"
    short = sp.csr_matrix(DENSE)
    short.data = short.data[:-2]
    yield short, "values are stored"
    truncated = sp.csr_matrix(DENSE)
    truncated.indptr = truncated.indptr[:-1]
    yield truncated, "indptr has shape"


@pytest.mark.parametrize(("matrix", "message"), list(damaged_matrices()))
def test_a_damaged_matrix_is_refused(matrix, message):
    with pytest.raises(ValueError, match=f"^A is a damaged sparse matrix: .*{message}"):
        check_sparse_structure(matrix, "A")
    euclidean, classifier = lw.Euclidean().fit(DENSE), lw.AROW().fit(DENSE, Y)
    for call in (
        lambda: lw.Euclidean().fit(matrix),
        lambda: euclidean.transform(matrix),
        lambda: lw.AROW().fit(matrix, Y),
        lambda: lw.PA().partial_fit(matrix, Y),
        lambda: lw.Perceptron().learn_one(matrix, 1),
        lambda: classifier.decision_function(matrix),
        lambda: classifier.predict(matrix),
    ):
        with pytest.raises(ValueError, match="X is a damaged sparse matrix"):
            call()


@pytest.mark.parametrize("name", [*FORMATS, "lil", "dok", "dia"])
def test_a_whole_matrix_is_accepted(name):
    matrix = sp.csr_matrix(DENSE).asformat(name)
    check_sparse_structure(matrix, "X")
    found = lw.AROW(random_state=0).fit(matrix, Y).decision_function(matrix)
    expected = lw.AROW(random_state=0).fit(DENSE, Y).decision_function(DENSE)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("name", FORMATS)
def test_empty_matrices_are_whole(name):
    check_sparse_structure(sp.csr_matrix((4, 3)).asformat(name), "X")


def test_room_beyond_the_stored_values_is_not_read():
    matrix = sp.csr_matrix(DENSE)
    matrix.data, matrix.indices = np.append(matrix.data, 0.0), np.append(matrix.indices, 99)
    check_sparse_structure(matrix, "X")
