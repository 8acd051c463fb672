"""What every learner of a single linear map promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from likewise.testing._data import blobs


def check_metric_axioms(estimator: Any) -> None:
    """Distances are non-negative, symmetric, zero to oneself, and take no detours."""
    X, y = blobs()
    model = estimator.fit(X, y)
    first, second, third = X[:20], X[20:40], X[40:]
    there = model.pair_distance(first, second)
    assert (there >= 0).all(), "a distance is negative"
    np.testing.assert_array_equal(there, model.pair_distance(second, first))
    np.testing.assert_array_equal(model.pair_distance(first, first), np.zeros(20))
    detour = model.pair_distance(first, third) + model.pair_distance(third, second)
    assert (there <= detour * (1 + 1e-12)).all(), "a detour is shorter than the direct way"


def check_distance_forms_agree(estimator: Any) -> None:
    """The distance is the same by pairs, by transform, by matrix and as a plain function."""
    X, y = blobs()
    model = estimator.fit(X, y)
    A, B = X[:30], X[30:]
    by_pairs = model.pair_distance(A, B)
    by_transform = np.linalg.norm(model.transform(A) - model.transform(B), axis=1)
    by_matrix = np.sqrt(np.einsum("ij,jk,ik->i", A - B, model.mahalanobis_matrix(), A - B))
    by_function = [model.get_metric()(a, b) for a, b in zip(A, B, strict=True)]
    for other in (by_transform, by_matrix, by_function):
        np.testing.assert_allclose(other, by_pairs, rtol=1e-8)


def check_components_shape(estimator: Any) -> None:
    """L has a column per feature and gives its names to the mapped features."""
    X, y = blobs()
    model = estimator.fit(X, y)
    assert model.components_.shape[1] == X.shape[1]
    assert model.components_.flags.c_contiguous
    assert len(model.get_feature_names_out()) == model.components_.shape[0]
    assert model.transform(X).shape == (len(X), model.components_.shape[0])


def check_float32_preserved(estimator: Any) -> None:
    """float32 in is float32 out, and close to what float64 gives."""
    X, y = blobs()
    rows = X.astype(np.float32)
    exact, single = clone(estimator).fit(rows.astype(np.float64), y), clone(estimator).fit(rows, y)
    assert single.components_.dtype == np.float32
    assert single.transform(rows).dtype == np.float32
    assert single.pair_distance(rows[:30], rows[30:]).dtype == np.float32
    np.testing.assert_allclose(
        single.pair_distance(rows[:30], rows[30:]),
        exact.pair_distance(X[:30], X[30:]),
        rtol=1e-3,
    )


def check_translation_invariance(estimator: Any) -> None:
    """X + 1e6 gives the distances that X gives."""
    X, y = blobs()
    _assert_same_shape_of_distances(estimator, (X, X), (X + 1e6, X + 1e6), y, exact_size=True)


def check_scale_equivariance(estimator: Any) -> None:
    """Data of size 1e-8 to 1e8 give the same distances up to one common factor."""
    if not getattr(estimator, "_scale_free", True):
        return
    X, y = blobs()
    for scale in (1e-8, 1e8):
        _assert_same_shape_of_distances(
            estimator, (X, X), (X * scale, X * scale), y, exact_size=False
        )


def _assert_same_shape_of_distances(
    estimator: Any, first: Any, second: Any, y: Any, *, exact_size: bool
) -> None:
    found = []
    for rows, queries in (first, second):
        model = clone(estimator).fit(rows, y)
        distances = model.pair_distance(queries[:30], queries[30:])
        found.append(distances if exact_size else distances / distances.mean())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


METRIC_CHECKS: tuple[Callable[[Any], None], ...] = (
    check_metric_axioms,
    check_distance_forms_agree,
    check_components_shape,
    check_float32_preserved,
    check_translation_invariance,
    check_scale_equivariance,
)
