"""LMNN in the feature space of a kernel agrees with LMNN on explicit features."""

import numpy as np
import pytest

import likewise as lw
from likewise._runtime import memory
from likewise.neighbors import nearest
from likewise.testing import parametrize_with_contract


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + 1.2 * rng.normal(size=(3, 2))[y], y


def quadratic_features(X):
    """φ with ⟨φ(x), φ(z)⟩ = (1 + xᵀz)²."""
    a, b = X.T
    root = np.sqrt(2)
    return np.column_stack([root * a, root * b, a * a, b * b, root * a * b])


@pytest.mark.parametrize(
    ("kernel", "params", "features"),
    [
        ("linear", {}, lambda X: X),
        ("poly", {"degree": 2, "gamma": 1.0}, quadratic_features),
        (lambda A, B: (1 + A @ B.T) ** 2, {}, quadratic_features),
    ],
)
def test_a_kernel_agrees_with_explicit_features(kernel, params, features):
    X, y = data()
    settings = {"tol": 1e-4, "max_iter": 5000}
    by_kernel = lw.LMNN(2, kernel=kernel, kernel_params=params, **settings).fit(X, y)
    explicit = lw.LMNN(2, **settings).fit(features(X), y)
    assert by_kernel.converged_
    assert explicit.converged_
    assert by_kernel.objective_ == pytest.approx(explicit.objective_, rel=2e-4)
    assert by_kernel.scale_ == pytest.approx(explicit.scale_, rel=1e-8)
    new, _ = data(30, seed=1)
    found = by_kernel.pair_distance(new[::2], new[1::2])
    expected = explicit.pair_distance(features(new)[::2], features(new)[1::2])
    assert np.corrcoef(found, expected)[0, 1] > 0.999
    mapped = by_kernel.transform(new)
    np.testing.assert_allclose(np.linalg.norm(mapped[::2] - mapped[1::2], axis=1), found, rtol=1e-9)
    metric = by_kernel.get_metric()
    assert metric(new[0], new[1]) == pytest.approx(found[0], rel=1e-9)


def test_the_objective_is_that_of_the_transformed_rows():
    X, y = data()
    # In fewer directions than rows, the minimum is not 0.
    options = {"kernel": "rbf", "kernel_params": {"gamma": 0.5}, "budget": 5}
    model = lw.LMNN(2, init="identity", **options).fit(X, y)
    space = model._space
    images = space.coordinates(X, "rbf", {"gamma": 0.5})
    Z, total = model.transform(X), 0.0
    for i in range(len(X)):
        mates = [j for j in range(len(X)) if j != i and y[j] == y[i]]
        targets = sorted(mates, key=lambda j, i=i: np.square(images[i] - images[j]).sum())[:2]
        for j in targets:
            pull = np.square(Z[i] - Z[j]).sum()
            total += pull / 2
            for row in np.flatnonzero(y != y[i]):
                total += max(0.0, 1 + pull - np.square(Z[i] - Z[row]).sum()) / 2
    assert total > 0.1
    assert model.objective_ == pytest.approx(total, rel=1e-6)


def test_circles_need_a_kernel():
    angle = np.linspace(0, 2 * np.pi, 52, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    X, y = np.vstack([circle, 1.12 * circle]), np.repeat([0, 1], len(angle))

    def left_out_error(metric):
        Z = metric.fit(X, y).transform(X)
        return np.mean(y[nearest(Z, Z, 1, exclude_self=True)[1][:, 0]] != y)

    assert left_out_error(lw.LMNN(1)) == 1
    curved = lw.LMNN(1, kernel="poly", kernel_params={"degree": 2, "gamma": 1.0})
    assert left_out_error(curved) == 0


def test_a_budget_keeps_the_leading_directions():
    X, y = data()
    model = lw.LMNN(2, kernel="rbf", budget=7, validation_fraction=0.2, random_state=0).fit(X, y)
    assert model.components_.shape == (7, 7)
    assert model.transform(X[:3]).shape == (3, 7)
    few = lw.LMNN(2, kernel="rbf", budget=7, n_components=2).fit(X, y)
    assert few.transform(X[:3]).shape == (3, 2)
    with pytest.raises(ValueError, match="n_components=8 is too many: LMNN has at most 7"):
        lw.LMNN(2, kernel="rbf", budget=7, n_components=8).fit(X, y)


def test_triplets_with_a_kernel():
    X, _ = data()
    triplets = [[0, 3, 1], [3, 0, 4], [6, 9, 2], [1, 4, 0]]
    model = lw.LMNN(kernel="rbf", max_iter=200).fit_triplets(X, triplets)
    for anchor, positive, negative in triplets:
        near = model.pair_distance(X[[anchor]], X[[positive]])
        assert near < model.pair_distance(X[[anchor]], X[[negative]])


def test_too_many_rows_for_the_memory(monkeypatch):
    X, y = data()
    monkeypatch.setattr(memory, "free_memory", lambda: 10_000)
    monkeypatch.setattr("likewise._runtime.memory.UNCHECKED_BYTES", 0)
    with pytest.raises(MemoryError, match="The kernel of 60 rows"):
        lw.LMNN(2, kernel="rbf").fit(X, y)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"kernel": "gauss"}, "kernel='gauss' is not allowed"),
        ({"kernel": "rbf", "kernel_params": {"degree": 2}}, "kernel_params has 'degree'"),
        ({"kernel": "rbf", "budget": 0}, "budget=0"),
        ({"kernel": lambda A, B: A @ B.T + np.arange(len(B))}, "not symmetric"),
        ({"kernel": lambda A, B: -(A @ B.T)}, "not positive semidefinite"),
        ({"kernel": lambda A, B: A}, "shape"),
    ],
)
def test_bad_kernels(wrong, sentence):
    X, y = data()
    with pytest.raises(ValueError, match=sentence):
        lw.LMNN(2, **wrong).fit(X, y)


def test_a_kernel_model_has_no_mahalanobis_matrix():
    X, y = data()
    with pytest.raises(AttributeError, match="A kernel model has no matrix"):
        lw.LMNN(2, kernel="rbf", max_iter=3, tol=1.0).fit(X, y).mahalanobis_matrix()


_EXCEPTIONS = {
    lw.LMNN: {
        "check_distance_forms_agree": "a kernel model has no matrix over the features",
        "check_components_shape": "the components of a kernel model are over its space",
        "check_scale_equivariance": "the width of an rbf kernel fixes a scale",
    }
}


@parametrize_with_contract([lw.LMNN(1, kernel="rbf", budget=3, max_iter=10, tol=0.5)], _EXCEPTIONS)
def test_contract_with_a_kernel(estimator, check):
    check(estimator)
