"""What every learner of a single linear map promises about its distance."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from likewise._runtime.arrays import Array
from likewise.testing._check import Check, check, is_metric, is_scale_equivariant
from likewise.testing._data import blobs, fitted


@check(is_metric)
def check_metric_axioms(estimator: Any) -> None:
    """Distances are non-negative and symmetric, d(x, x) = 0, and the triangle inequality holds."""
    X, y = blobs()
    model = fitted(estimator, X, y)
    first, second, third = X[:20], X[20:40], X[40:]
    direct = model.pair_distance(first, second)
    assert (direct >= 0).all(), "a distance is negative"
    np.testing.assert_array_equal(direct, model.pair_distance(second, first))
    np.testing.assert_array_equal(model.pair_distance(first, first), np.zeros(20))
    detour = model.pair_distance(first, third) + model.pair_distance(third, second)
    assert (direct <= detour * (1 + 1e-12)).all(), "the triangle inequality is violated"


@check(is_metric)
def check_distance_forms_agree(estimator: Any) -> None:
    """`pair_distance`, `transform`, `mahalanobis_matrix` and `get_metric` agree."""
    X, y = blobs()
    model = fitted(estimator, X, y)
    A, B = X[:30], X[30:]
    by_pairs = model.pair_distance(A, B)
    by_transform = np.linalg.norm(model.transform(A) - model.transform(B), axis=1)
    by_matrix = np.sqrt(np.einsum("ij,jk,ik->i", A - B, model.mahalanobis_matrix(), A - B))
    by_function = [model.get_metric()(a, b) for a, b in zip(A, B, strict=True)]
    for other in (by_transform, by_matrix, by_function):
        np.testing.assert_allclose(other, by_pairs, rtol=1e-8)


@check(is_metric)
def check_components_shape(estimator: Any) -> None:
    """`components_` has one column per feature and one row per output feature."""
    X, y = blobs()
    model = fitted(estimator, X, y)
    assert model.components_.shape[1] == X.shape[1]
    assert model.components_.flags.c_contiguous
    assert len(model.get_feature_names_out()) == model.components_.shape[0]
    assert model.transform(X).shape == (len(X), model.components_.shape[0])


@check(is_metric)
def check_float32_preserved(estimator: Any) -> None:
    """float32 input gives float32 output, close to that of float64 input."""
    X, y = blobs()
    single = X.astype(np.float32)
    exact, model = fitted(estimator, single.astype(np.float64), y), clone(estimator).fit(single, y)
    assert model.components_.dtype == np.float32
    assert model.transform(single).dtype == np.float32
    assert model.pair_distance(single[:30], single[30:]).dtype == np.float32
    np.testing.assert_allclose(
        model.pair_distance(single[:30], single[30:]),
        exact.pair_distance(X[:30], X[30:]),
        rtol=1e-3,
    )


@check(is_metric)
def check_translation_invariance(estimator: Any) -> None:
    """X + 1e6 gives the distances of X."""
    X, y = blobs()
    np.testing.assert_allclose(
        _half_distances(estimator, X + 1e6, y), _half_distances(estimator, X, y), rtol=1e-5
    )


@check(is_scale_equivariant)
def check_scale_equivariance(estimator: Any) -> None:
    """X times 1e-8 or 1e8 gives the distances of X up to one common factor."""
    X, y = blobs()
    expected = _half_distances(estimator, X, y)
    for scale in (1e-8, 1e8):
        found = _half_distances(estimator, X * scale, y)
        np.testing.assert_allclose(found / found.mean(), expected / expected.mean(), rtol=1e-5)


def _half_distances(estimator: Any, X: Array, y: Array) -> Array:
    """Fit to X, and return the distances of its first half to its second."""
    half = len(X) // 2
    return np.asarray(fitted(estimator, X, y).pair_distance(X[:half], X[half:]))


METRIC_CHECKS: tuple[Check, ...] = (
    check_metric_axioms,
    check_distance_forms_agree,
    check_components_shape,
    check_float32_preserved,
    check_translation_invariance,
    check_scale_equivariance,
)
