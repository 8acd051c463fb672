"""The growing basis against the full Gram matrix, and the errors about kernels."""

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

import likewise as lw
from likewise.kernels import kernel_function
from likewise.online._kernel_basis import KernelDifferences, KernelState, squared_lengths
from likewise.testing._assertions import assert_raises_clear_error

rbf = kernel_function("rbf", {"gamma": 0.3}, 3)


def random_pairs(n, d=3, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, d)), random.normal(size=(n, d))


def keep_all(kernel, A, B, *, blocks=1, budget=None, tolerance=1e-5):
    """Add all pairs to an empty basis; return the state and the coordinates of each pair."""
    state, rows = KernelState.empty(A.shape[1], budget), []
    for a, b in zip(np.array_split(A, blocks), np.array_split(B, blocks), strict=True):
        differences = KernelDifferences(
            state, kernel, a, b, scale=1.0, tolerance=tolerance, budget=budget
        )
        for k in range(len(a)):
            rows.append(differences.row_for_update(k))
            differences.updated(k)
    V = np.zeros((len(A), state.basis.capacity))
    for row, wide in zip(rows, V, strict=True):
        wide[: len(row)] = row
    return state, V


def gram_of(kernel, A, B):
    return kernel(A, A) - kernel(A, B) - kernel(B, A) + kernel(B, B)


@pytest.mark.parametrize(
    ("name", "params", "exact"),
    [
        ("linear", {}, linear_kernel),
        ("rbf", {"gamma": 0.4}, lambda A, B: rbf_kernel(A, B, 0.4)),
        ("rbf", {}, rbf_kernel),
        ("poly", {"degree": 2, "coef0": 0.5}, lambda A, B: polynomial_kernel(A, B, 2, coef0=0.5)),
        ("poly", {}, polynomial_kernel),
    ],
)
def test_kernel_differences_equal_those_of_scikit_learn(name, params, exact):
    A, B = random_pairs(7)
    kernel = kernel_function(name, params, 3)
    expected = np.diag(gram_of(exact, A, B))
    np.testing.assert_allclose(squared_lengths(kernel, A, B), expected, rtol=1e-10)


@pytest.mark.parametrize("blocks", [1, 3, 40])
def test_coordinates_give_the_gram_matrix(blocks):
    A, B = random_pairs(40)
    state, V = keep_all(rbf, A, B, blocks=blocks)
    assert state.basis.count == 40
    np.testing.assert_allclose(V @ V.T, gram_of(rbf, A, B), atol=1e-12)
    np.testing.assert_allclose(V[:, :40], np.linalg.cholesky(gram_of(rbf, A, B)), atol=1e-8)


def test_new_points_have_the_coordinates_of_their_projection():
    A, B = random_pairs(20)
    basis = keep_all(rbf, A, B)[0].basis
    new, other = random_pairs(5, seed=1)
    found = basis.coordinates(basis.products(rbf, new) - basis.products(rbf, other))
    across = rbf(A, new) - rbf(A, other) - rbf(B, new) + rbf(B, other)
    expected = np.einsum("in,ij,jn->n", across, np.linalg.inv(gram_of(rbf, A, B)), across)
    np.testing.assert_allclose(np.square(found).sum(axis=1), expected, rtol=1e-8)


def test_differences_in_the_span_add_no_direction():
    A, B = random_pairs(6)
    again = np.concatenate([A, B, A[:3]]), np.concatenate([B, A, B[:3]])
    state, V = keep_all(rbf, *again)
    assert state.basis.count == 6
    np.testing.assert_allclose(V[6:12], -V[:6], atol=1e-12)
    np.testing.assert_allclose(V[12:], V[:3], atol=1e-12)
    linear = keep_all(kernel_function("linear", {}, 3), *random_pairs(30))[0]
    assert linear.basis.count == 3


def test_large_tolerance_drops_small_residuals():
    A, B = np.array([[0.0, 0.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 0.05]])
    linear = kernel_function("linear", {}, 2)
    assert keep_all(linear, A, B, tolerance=0.01)[0].basis.count == 2
    assert keep_all(linear, A, B, tolerance=0.1)[0].basis.count == 1


def test_pairs_beyond_the_budget_are_projected():
    A, B = random_pairs(30)
    state, V = keep_all(rbf, A, B, budget=11)
    full = keep_all(rbf, A, B)[1]
    assert state.basis.count == state.basis.capacity == 11
    np.testing.assert_allclose(V, full[:, :11], atol=1e-12)


def test_equal_points_have_no_difference_despite_rounding():
    random = np.random.default_rng(0)
    X = random.normal(size=(20, 7))

    def rounded_at_random(A, B):
        return A @ B.T + random.normal(scale=1e-9, size=(len(A), len(B)))

    assert squared_lengths(rounded_at_random, X, X + 1e-3).all()
    np.testing.assert_array_equal(squared_lengths(rounded_at_random, X, X.copy()), 0)
    _, V = keep_all(rounded_at_random, np.concatenate([X + 1, X]), np.concatenate([X, X]))
    np.testing.assert_array_equal(V[20:], 0)


def test_rounding_errors_add_no_direction():
    A, B = random_pairs(30)
    close = A[:5] + 1e-9
    state, _ = keep_all(rbf, np.concatenate([A, A[:5]]), np.concatenate([B, close]))
    assert state.basis.count == 30


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_close_and_far_points_keep_their_digits(scale):
    A, B = random_pairs(10)
    gamma = 0.3 / scale**2
    kernel = kernel_function("rbf", {"gamma": gamma}, 3)
    V, expected = keep_all(kernel, A * scale, B * scale)[1], keep_all(rbf, A, B)[1]
    np.testing.assert_allclose(V, expected, atol=1e-9)
    tiny = squared_lengths(rbf, A * 1e-9, B * 1e-9)
    np.testing.assert_allclose(tiny, 0.6e-18 * np.square(A - B).sum(axis=1), rtol=1e-8)


def test_growing_keeps_the_metric():
    A, B = random_pairs(100)
    model = lw.POLA(kernel="rbf")
    for a, b, same in zip(A[:7], B[:7], np.arange(7) % 2 == 0, strict=True):
        model.learn_pair(a, b, same)
    before = model.pair_distance(A, B)
    state = model._state
    while state.basis.capacity < 100:  # beyond the crossover to the eigenbasis
        state.grow(None)
        model._components_cache.n_updates = -1
        np.testing.assert_allclose(model.pair_distance(A, B), before, rtol=1e-10)


@settings(max_examples=30, deadline=None)
@given(
    points=hnp.arrays(
        np.float64, st.tuples(st.integers(1, 25), st.just(4)), elements=st.integers(-3, 3)
    ),
    budget=st.none() | st.integers(1, 6),
)
def test_coordinates_are_never_longer_than_the_difference(points, budget):
    """Duplicates, dependent and equal points on a small grid; lengths from the kernel."""
    A, B = np.ascontiguousarray(points[:, :2]), np.ascontiguousarray(points[:, 2:])
    kernel = kernel_function("poly", {"degree": 2, "gamma": 1.0, "coef0": 0.0}, 2)
    state, V = keep_all(kernel, A, B, budget=budget)
    length2 = squared_lengths(kernel, A, B)
    assert state.basis.count <= min(3, budget or 3)  # all products of two features
    found = np.square(V).sum(axis=1)
    assert (found <= length2 * (1 + 1e-9) + 1e-9).all()
    if budget is None or budget >= 3:
        np.testing.assert_allclose(found, length2, rtol=1e-8, atol=1e-9)


def wrong_shape(A, B):
    return np.zeros((len(B) + 1, len(A)))


def not_finite(A, B):
    return np.full((len(A), len(B)), np.nan)


def ragged(A, B):
    return [[0.0] * (1 + i) for i in range(len(A))]


def text(A, B):
    return np.full((len(A), len(B)), "near")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"kernel": "laplace"}, ["kernel='laplace'", "'rbf'"]),
        ({"kernel": 3}, ["kernel=3"]),
        ({"kernel": wrong_shape}, ["kernel", "(3, 2)", "(2, 2)"]),
        ({"kernel": not_finite}, ["kernel", "NaN"]),
        ({"kernel": ragged}, ["The kernel's result has rows of different lengths", "a matrix"]),
        ({"kernel": text}, ["The kernel's result holds 'near'", "only real numbers are allowed"]),
        ({"kernel": lambda A, B: None}, ["The kernel's result holds None", "real numbers"]),
        ({"kernel": "rbf", "kernel_params": {"width": 1.0}}, ["'width'", "'gamma'"]),
        ({"kernel": "linear", "kernel_params": {"gamma": 1.0}}, ["'gamma'", "none"]),
        ({"kernel": "rbf", "kernel_params": {"gamma": -1.0}}, ["gamma=-1.0", "above 0"]),
        ({"kernel": "poly", "kernel_params": {"degree": 0}}, ["degree=0"]),
        ({"kernel": "rbf", "kernel_params": [1]}, ["kernel_params=[1]", "dict"]),
        ({"kernel": "rbf", "budget": 0}, ["budget=0"]),
        ({"kernel": "rbf", "tol": 1.0}, ["tol=1.0"]),
    ],
)
def test_errors(params, words):
    model = lw.POLA(**params)
    assert_raises_clear_error(lambda: model.learn_pair([0.0, 1.0], [1.0, 1.0], True), *words)
    X = [[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [3.0, 0.0]]
    assert_raises_clear_error(lambda: lw.POLA(**params).fit_pairs(X, [[0, 1]], [True]), *words)
    assert not hasattr(model, "_state")


def test_overflowing_kernels_raise_clear_errors():
    model = lw.POLA(kernel="poly").partial_fit_pairs(np.eye(3), [[0, 1]], [True])
    before = deepcopy(model._state)
    assert_raises_clear_error(
        lambda: model.learn_pair([1e200] * 3, [0.0] * 3, True), "kernel", "infinity"
    )
    assert_raises_clear_error(
        lambda: model.learn_pair([1e40] * 3, [0.0] * 3, True), "feature space"
    )
    np.testing.assert_equal(vars(model._state.basis), vars(before.basis))
    np.testing.assert_equal(model._state.dense(), before.dense())
