"""Families of directions, against eigenproblems and regressions written out."""

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles

from likewise.adapter import _bilinear_ridge, _directions
from likewise.adapter._bilinear_ridge import ridge_directions
from likewise.adapter._grouped_rows import RowsInMemory


def classes(rng, n=120, d=7, n_classes=4):
    codes = np.arange(n) % n_classes
    rows = 2 * rng.normal(size=(n_classes, d))[codes] + rng.normal(size=(n, d)) * np.arange(
        1, d + 1
    )
    rows -= rows.mean(axis=0)
    return rows, codes, rows.T @ rows / n


def scatters(rows, codes):
    within, between = np.zeros((rows.shape[1],) * 2), np.zeros((rows.shape[1],) * 2)
    for c in np.unique(codes):
        members = rows[codes == c]
        offset = members.mean(axis=0) - rows.mean(axis=0)
        within += (members - members.mean(axis=0)).T @ (members - members.mean(axis=0))
        between += len(members) * np.outer(offset, offset) / len(rows)
    return within, between


def check_discriminants(F, within, between, covariance, n_classes):
    assert F.shape == (n_classes - 1, len(within))
    _, vectors = eigh(between, within)
    wanted = vectors[:, ::-1][:, : n_classes - 1]
    assert subspace_angles(F.T, wanted).max() < 1e-6
    whitened = F @ within @ F.T
    assert np.allclose(whitened, whitened[0, 0] * np.eye(len(F)), atol=1e-9 * whitened[0, 0])
    assert np.trace(F @ covariance @ F.T) == pytest.approx(1)


def test_discriminants_solve_the_shrunk_eigenproblem(rng):
    rows, codes, covariance = classes(rng)
    within, between = scatters(rows, codes)
    within /= len(rows) - 4
    shrunk = 0.4 * within + 0.6 * np.trace(within) / 7 * np.eye(7)
    F = _directions.discriminants(RowsInMemory(rows, codes), 4, covariance)
    check_discriminants(F, shrunk, between, covariance, 4)


def test_discriminants_of_all_rows_take_the_scatter_from_the_covariance(rng):
    rows, codes, covariance = classes(rng)
    within, between = scatters(rows, codes)
    within /= len(rows)
    shrunk = 0.97 * within + 0.03 * np.trace(within) / 7 * np.eye(7)
    F = _directions.between_classes(*RowsInMemory(rows).class_means(codes, 4), covariance)
    check_discriminants(F, shrunk, between, covariance, 4)


def test_equal_rows_in_every_class_have_no_discriminants():
    rows = np.repeat([[1.0, 0.0], [-1.0, 0.0]], 5, axis=0)
    grouped = RowsInMemory(rows, np.repeat([0, 1], 5))
    assert _directions.discriminants(grouped, 2, rows.T @ rows / 10) is None


def closest_by_cosine(rows, centres, M):
    def cosine(a, b):
        return a @ M @ b / np.sqrt((a @ M @ a) * (b @ M @ b))

    return np.array([np.argmax([cosine(row, centre) for centre in centres]) for row in rows])


def test_rows_are_assigned_by_the_cosine_under_the_metric(rng):
    rows, codes, covariance = classes(rng)
    F = _directions.discriminants(RowsInMemory(rows, codes), 4, covariance)
    M = np.eye(7) / np.trace(covariance) + 2 * F.T @ F
    space = RowsInMemory(rows).space(F, np.trace(covariance))
    centres = np.array(
        [sum(row / np.sqrt(row @ M @ row) for row in rows[codes == c]) for c in range(4)]
    )
    assert np.allclose(space.means(codes, 4), centres)
    assert (space.assign(centres) == closest_by_cosine(rows, centres, M)).all()


def test_self_training_finds_the_classes_of_separate_clusters(rng):
    centres = 6 * np.eye(8)[:3]
    codes = np.arange(300) % 3
    rows = centres[codes] + rng.normal(size=(300, 8))
    rows -= rows.mean(axis=0)
    covariance = rows.T @ rows / 300
    grouped = RowsInMemory(rows, codes[:9])
    start = _directions.discriminants(grouped, 3, covariance)
    F = _directions.self_trained_discriminants(start, grouped, 3, covariance)
    known = _directions.between_classes(*RowsInMemory(rows).class_means(codes, 3), covariance)
    assert subspace_angles(F.T, known.T).max() < 0.02


def test_clusters_are_found_and_few_rows_have_none(rng):
    codes = np.arange(200) % 4
    rows = 8 * np.eye(6)[codes] + rng.normal(size=(200, 6))
    rows -= rows.mean(axis=0)
    covariance = rows.T @ rows / 200
    start = np.zeros((1, 6))
    F = _directions.cluster_discriminants(start, RowsInMemory(rows), covariance, 20, rng)
    along = F @ (rows.reshape(50, 4, 6).mean(axis=0)).T  # the means of the classes differ
    assert np.linalg.norm(along, axis=0).min() > 0.3
    few = RowsInMemory(rows[:9])
    assert _directions.cluster_discriminants(start, few, covariance, 20, rng) is None


def ridge_by_features(first, second, targets, weights, intercept):
    """Regress on all products of two features, in the primal."""
    d = first.shape[1]
    upper = np.triu_indices(d)
    # An orthonormal basis of symmetric matrices, so that the penalty is the squared norm.
    scale = np.where(upper[0] == upper[1], 1.0, np.sqrt(2))
    symmetric = np.einsum("ni,nj->nij", first, second)
    symmetric = (symmetric + symmetric.transpose(0, 2, 1)) / 2
    features = symmetric[:, *upper] * scale
    known = (first * second).sum(axis=1)
    design = np.column_stack([np.ones(len(known)), known]) if intercept else known[:, None]
    W = np.diag(weights)
    coefficients = np.linalg.solve(design.T @ W @ design, design.T @ W @ targets)
    residuals = targets - design @ coefficients
    penalty = np.square(features).sum(axis=1).mean()
    solution = np.linalg.solve(
        features.T @ W @ features + penalty * np.eye(features.shape[1]),
        features.T @ W @ residuals,
    )
    form = np.zeros((d, d))
    form[upper] = solution / scale
    form[upper[::-1]] = solution / scale
    return form


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("dense", [True, False])
def test_ridge_is_the_regression_on_all_products(rng, monkeypatch, intercept, dense):
    if not dense:
        monkeypatch.setattr(_bilinear_ridge, "_DENSE_PRODUCTS", 0)
        monkeypatch.setattr(_bilinear_ridge, "_CG_TOLERANCE", 1e-12)
    first, second = rng.normal(size=(2, 60, 5))
    targets, weights = rng.choice([-1.0, 1.0], 60), rng.uniform(0.5, 2, 60)
    covariance = np.diag([1.0, 2, 3, 4, 5])
    F = ridge_directions(first, second, targets, weights, covariance, intercept=intercept)
    values, vectors = eigh(ridge_by_features(first, second, targets, weights, intercept))
    positive = (vectors * np.maximum(values, 0)) @ vectors.T
    assert np.allclose(F.T @ F, positive / np.trace(positive @ covariance), atol=1e-8)
