"""The affine map: made from models, and applied."""

import numpy as np
import pytest
from exported import MAPS, affine_map, assert_same_images, images, labelled, learned, vectors

import likewise as lw
from likewise.base import AffineMap


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_transform_is_the_formula(name, dtype):
    X = vectors(9).astype(dtype)
    found = MAPS[name].transform(X)
    assert found.dtype == dtype
    assert_same_images(found, images(MAPS[name], X))


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint8, np.int16])
def test_small_types_are_computed_in_float32(dtype):
    X = np.random.default_rng(0).integers(0, 100, size=(6, 8)).astype(dtype)
    for affine in MAPS.values():
        found = affine.transform(X)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, affine.transform(X.astype(np.float32)))


def test_lists_and_large_integers_are_computed_in_float64():
    affine = MAPS["plain"]
    X = [[2**40 + 1] * 8, list(range(8))]
    assert affine.transform(X).dtype == np.float64
    assert_same_images(affine.transform(X), images(affine, X))


def test_every_linear_learner_and_its_classifiers():
    X, y = labelled()
    model = learned()
    knn = lw.MetricKNN(metric=lw.FDA()).fit(X, y)
    for fitted, transform in [
        (model, model.transform),
        (knn, knn.metric_.transform),
        (lw.MetricKNN(metric=None).fit(X, y), np.asarray),
        (lw.PAMetric().fit(X, y), None),
        (lw.EnergyClassifier(metric=lw.FDA()).fit(X, y), lw.FDA().fit(X, y).transform),
    ]:
        affine = AffineMap.from_model(fitted)
        assert not affine.normalize
        np.testing.assert_allclose(affine.transform(X), (transform or fitted.transform)(X))
    assert AffineMap.from_model(affine) is affine


def test_an_object_with_an_affine_map_is_asked_for_it():
    class Adapter:
        def affine_map(self):
            return MAPS["normalised"]

    assert AffineMap.from_model(Adapter()) is MAPS["normalised"]


def test_an_image_of_length_zero_stays_zero():
    affine = AffineMap(np.eye(2), [1.0, 1.0], normalize=True)
    np.testing.assert_array_equal(affine.transform([[1.0, 1.0], [4.0, 5.0]]), [[0, 0], [0.6, 0.8]])


def test_bias():
    affine = affine_map(normalize=False)
    X = vectors(4).astype(np.float64)
    np.testing.assert_allclose(X @ affine.W.T + affine.bias, affine.transform(X))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [0.0], False), "W has shape .1,., but it must have rows and columns"),
        (([[1.0]], [0.0, 1.0], False), "mean has shape .2,., but W with 1 columns"),
        (([[np.nan]], [0.0], False), "Input W contains NaN"),
        (([[1.0]], [np.inf], False), "Input mean contains infinity"),
        (([["a"]], [0.0], False), "W holds 'a', but only real numbers"),
        (([[1.0]], [0.0], "yes"), "normalize is 'yes', but only True or False"),
    ],
)
def test_bad_parts(arguments, message):
    with pytest.raises(ValueError, match=message):
        AffineMap(*arguments)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((2, 7)), "X has vectors of 7 numbers, but the model maps vectors of 8"),
        (np.zeros(8), "X has shape .8,., but a matrix is needed"),
        (np.full((1, 8), np.nan), "Input X contains NaN in 1 row"),
        ([["a"] * 8], "X holds 'a', but only real numbers are allowed"),
    ],
)
def test_bad_vectors(X, message):
    with pytest.raises(ValueError, match=message):
        MAPS["plain"].transform(X)


def test_models_without_a_linear_map():
    X, y = vectors(30).astype(np.float64), np.arange(30) % 2
    kernel = lw.LMNN(kernel="rbf", max_iter=2)
    with pytest.warns(lw.base.learner.ConvergenceWarning):
        kernel.fit(X, y)
    with pytest.raises(ValueError, match="LMNN was fitted with a kernel and has no linear map"):
        AffineMap.from_model(kernel)
    local = lw.PLML(n_metrics=2).fit(X, y)
    with pytest.raises(ValueError, match=r"PLML has no single linear map to export: .* rerank"):
        AffineMap.from_model(local)
    with pytest.raises(ValueError, match="model is a str, but a fitted linear metric is needed"):
        AffineMap.from_model("model")
    with pytest.raises(ValueError, match="not fitted"):
        AffineMap.from_model(lw.FDA())
