"""NCML with kernels between pairs: against CVXPY, plain loops, and kernels between samples."""

import cvxpy as cp
import numpy as np
import pytest
from margin_oracles import blobs
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier

import likewise as lw
from likewise.constraints import doublets


def of_differences(A, B, C, D):
    """Inner products of differences: NCML without any kernel."""
    return (A - B) @ (C - D).T


def of_absolute_differences(A, B, C, D):
    return np.abs(A - B) @ np.abs(C - D).T


def cubed(A, B, C, D):
    return ((A - B) @ (C - D).T) ** 3


def of_images(A, B, C, D, gamma=0.2):
    """The kernel of differences of images under a kernel between samples."""
    return (
        rbf_kernel(A, C, gamma)
        - rbf_kernel(A, D, gamma)
        - rbf_kernel(B, C, gamma)
        + rbf_kernel(B, D, gamma)
    )


def squared(A, B, C, D):
    return ((A - B) @ (C - D).T) ** 2


@pytest.fixture(scope="module")
def problem():
    X, y = blobs(20)
    return X, y, doublets(X, y, 1, 1)


@pytest.fixture(scope="module")
def problem_with_equal_rows(problem):
    X, y, _ = problem
    X, y = (np.concatenate([part, part[:4]]) for part in (X, y))
    return X, y, doublets(X, y, 1, 1)


def in_loops(kernel, X, pairs, a, b):
    """Return κ(l, (a, b))² of every pair l, one by one."""
    return np.array(
        [kernel(X[[i]], X[[j]], np.array([a]), np.array([b])).item() ** 2 for i, j in pairs.index]
    )


@pytest.mark.parametrize("data", ["problem", "problem_with_equal_rows"])
@pytest.mark.parametrize("kernel", [of_differences, of_absolute_differences, cubed, of_images])
def test_is_the_minimum_over_nonnegative_weights(request, data, kernel):
    X, _, pairs = request.getfixturevalue(data)
    K = np.array([in_loops(kernel, X, pairs, X[i], X[j]) for i, j in pairs.index])
    h = np.where(pairs.same, -1.0, 1.0)
    # The unit: squared distances of similar pairs are √K(l, l).
    unit = np.median(np.sqrt(np.diag(K))[pairs.same])
    K = K / unit**2
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.clip(values, 0, None))

    weights, b = cp.Variable(len(h), nonneg=True), cp.Variable()
    distances = root @ (root.T @ weights)
    loss = cp.sum(cp.pos(1 - cp.multiply(h, distances + b)))
    minimum = cp.Problem(cp.Minimize(cp.sum_squares(root.T @ weights) / 2 + 0.5 * loss)).solve(
        solver=cp.CLARABEL
    )

    model = lw.NCML(C=0.5, pair_kernel=kernel, tol=1e-5).fit_pairs(X, pairs.index, pairs.same)
    assert model.objective_ == pytest.approx(minimum, rel=1e-4)
    assert model.duality_gap_ <= 1e-5
    random = np.random.default_rng(3)
    A, B = X[:6] + 0.1 * random.normal(size=(6, 3)), X[6:12]
    expected = [
        np.sqrt(weights.value @ in_loops(kernel, X, pairs, a, b) / unit**2)
        for a, b in zip(A, B, strict=True)
    ]
    # Coordinates are those in the span of the training pairs.
    np.testing.assert_allclose(model.pair_distance(A, B), expected, rtol=0.02)
    distance = model.get_metric()
    assert distance(A[0], B[0]) == pytest.approx(model.pair_distance(A[:1], B[:1])[0])
    np.testing.assert_allclose(model.pair_distance(A, A), 0, atol=1e-9)
    np.testing.assert_allclose(model.pair_distance(A, B), model.pair_distance(B, A))


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("kernel", [squared, cubed])
def test_converges_with_equal_rows_and_tiny_multipliers(kernel, C):
    # The farthest pairs have norms of up to 1e5, equal rows 0, and the multipliers are 1e-11.
    X, y = load_iris(return_X_y=True)
    model = lw.NCML(C=C, pair_kernel=kernel, n_jobs=1).fit(X, y)
    assert model.converged_
    assert 0 <= model.duality_gap_ <= 1e-3


def test_differences_give_the_metric_without_a_kernel(problem):
    X, y, _ = problem
    plain = lw.NCML(C=0.3, tol=1e-6).fit(X, y)
    model = lw.NCML(C=0.3, tol=1e-6, pair_kernel=of_differences).fit(X, y)
    np.testing.assert_allclose(
        model.pair_distance(X[:10], X[10:]), plain.pair_distance(X[:10], X[10:]), rtol=1e-3
    )
    assert model.threshold_ == pytest.approx(plain.threshold_, rel=1e-3)


def test_differences_of_images_give_the_kernel_metric(problem):
    X, _, pairs = problem
    by_samples = lw.NCML(C=0.3, tol=1e-6, kernel="rbf", kernel_params={"gamma": 0.2})
    by_samples.fit_pairs(X, pairs.index, pairs.same)
    by_pairs = lw.NCML(C=0.3, tol=1e-6, pair_kernel=of_images)
    by_pairs.fit_pairs(X, pairs.index, pairs.same)
    assert by_pairs.objective_ == pytest.approx(by_samples.objective_, rel=1e-4)
    np.testing.assert_allclose(
        by_pairs.pair_distance(X[:10], X[10:]), by_samples.pair_distance(X[:10], X[10:]), rtol=0.02
    )


def test_neighbours_vote_by_the_distance(problem):
    X, y, _ = problem
    model = lw.NCML(pair_kernel=of_absolute_differences).fit(X, y)
    knn = KNeighborsClassifier(1, metric=model.get_metric(), algorithm="brute").fit(X[::2], y[::2])
    every = np.array([model.pair_distance(np.tile(x, (10, 1)), X[::2]) for x in X[1::2]])
    np.testing.assert_array_equal(knn.predict(X[1::2]), y[::2][every.argmin(axis=1)])


def test_rows_cannot_be_transformed(problem):
    X, y, _ = problem
    model = lw.NCML(pair_kernel=of_differences).fit(X, y)
    with pytest.raises(ValueError, match="use pair_distance or get_metric"):
        model.transform(X)
    with pytest.raises(AttributeError, match="pair_distance"):
        model.mahalanobis_matrix()


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda A, B, C, D: A @ C.T, "the same up to its sign|0 for a pair of equal samples"),
        (lambda A, B, C, D: np.ones((len(A), len(C))), "not 0 for a pair of equal samples"),
        (lambda A, B, C, D: -of_differences(A, B, C, D), "not positive semidefinite"),
        (lambda A, B, C, D: (A - B) @ (C + D).T, "not symmetric"),
        (lambda A, B, C, D: 0 * of_differences(A, B, C, D), "0 for all pairs"),
        (lambda A, B, C, D: of_differences(A, B, C, D)[:, 1:], "must be of shape"),
        (lambda A, B, C, D: np.nan * of_differences(A, B, C, D), "NaN or infinity"),
    ],
)
def test_what_is_no_kernel_of_distances_is_refused(problem, kernel, message):
    X, y, _ = problem
    with pytest.raises(ValueError, match=message):
        lw.NCML(pair_kernel=kernel).fit(X, y)


def test_one_kernel_at_a_time(problem):
    X, y, _ = problem
    with pytest.raises(ValueError, match="only one of them is allowed"):
        lw.NCML(kernel="rbf", pair_kernel=of_differences).fit(X, y)
    with pytest.raises(ValueError, match="pair_kernel"):
        lw.NCML(pair_kernel="rbf").fit(X, y)


def test_a_model_with_a_function_is_not_saved(problem, tmp_path):
    X, y, _ = problem
    model = lw.NCML(pair_kernel=of_differences).fit(X, y)
    with pytest.raises(TypeError, match=r"NCML\.pair_kernel is a function"):
        model.save(tmp_path / "model.safetensors")
