"""Deskewing against a slow reference, one image at a time."""

import os

import numpy as np
import pytest
from scipy import ndimage

from likewise.datasets import deskew, load


def deskew_slowly(image):
    r, c = np.indices(image.shape)
    mass = image.sum()
    if mass == 0:
        return image
    r0, c0 = (r * image).sum() / mass, (c * image).sum() / mass
    spread = ((r - r0) ** 2 * image).sum()
    slant = ((r - r0) * (c - c0) * image).sum() / spread if spread > 1e-9 * mass else 0.0
    matrix = np.array([[1.0, 0.0], [slant, 1.0]])
    middle = (np.array(image.shape) - 1) / 2
    offset = np.array([r0, c0]) - matrix @ middle
    return ndimage.affine_transform(image, matrix, offset, order=1, mode="grid-constant")


@pytest.mark.parametrize("shape", [(28, 28), (5, 9), (8, 3), (1, 4), (4, 1)])
def test_equals_the_slow_reference(shape):
    rng = np.random.default_rng(0)
    images = rng.random((40, *shape)) * (rng.random((40, *shape)) < 0.3)
    fast = deskew(images.reshape(40, -1), shape)
    slow = [deskew_slowly(image).ravel() for image in images]
    np.testing.assert_allclose(fast, slow, atol=1e-12)


def test_equals_the_slow_reference_on_digits():
    images = load("digits").X[:200]
    slow = [deskew_slowly(image.reshape(8, 8)).ravel() for image in images]
    np.testing.assert_allclose(deskew(images, (8, 8)), slow, atol=1e-10)


def test_blocks_do_not_matter(monkeypatch):
    images = load("digits").X[:50]
    whole = deskew(images, (8, 8))
    monkeypatch.setattr("likewise.datasets._images._BLOCK_ROWS", 7)
    np.testing.assert_array_equal(deskew(images, (8, 8)), whole)


@pytest.mark.parametrize(
    ("given", "returned"),
    [(np.float32, np.float32), (np.float64, np.float64), (np.uint8, np.float32)],
)
def test_types(given, returned):
    images = load("digits").X[:5].astype(given)
    upright = deskew(images, (8, 8))
    assert upright.dtype == returned
    np.testing.assert_allclose(upright, deskew(images.astype(float), (8, 8)), atol=2e-5)


def test_blank_images_and_single_pixels_are_unharmed():
    images = np.zeros((3, 25))
    images[1, 0] = 3.0
    images[2, 10:15] = 1.0
    upright = deskew(images, (5, 5))
    np.testing.assert_array_equal(upright[0], 0)
    np.testing.assert_array_equal(upright[1].nonzero(), [[12]])
    np.testing.assert_array_equal(upright[2].nonzero(), [[10, 11, 12, 13, 14]])
    assert deskew(np.empty((0, 25)), (5, 5)).shape == (0, 25)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_scale_does_not_matter(scale):
    images = load("digits").X[:5]
    np.testing.assert_allclose(deskew(images * scale, (8, 8)) / scale, deskew(images, (8, 8)))


@pytest.mark.parametrize(
    ("images", "sentence"),
    [
        (np.zeros((2, 10)), r"one row of 28 × 28 = 784 values an image, found shape \(2, 10\)"),
        (np.full((1, 784), np.nan), "must be finite and not negative"),
        (np.full((1, 784), -1.0), "must be finite and not negative"),
        (np.full((1, 784), "a"), "images must be numbers, found <U1"),
    ],
)
def test_bad_images(images, sentence):
    with pytest.raises(ValueError, match=sentence):
        deskew(images)


def three_neighbours_error(train, y_train, test, y_test, n_components):
    from sklearn.decomposition import PCA

    from likewise.evaluation import knn_error

    pca = PCA(n_components, svd_solver="covariance_eigh").fit(train)
    return knn_error(train, y_train, test, y_test, metric=pca).error


@pytest.mark.skipif(
    not os.environ.get("LIKEWISE_DATA"), reason="LIKEWISE_DATA names no folder of data sets"
)
def test_deskewing_helps_neighbours_on_a_part_of_mnist():
    mnist = load("mnist")
    train, test = mnist.X[:3000] / 255, mnist.X_test[:1000] / 255
    labels = mnist.y[:3000], mnist.y_test[:1000]
    plain = three_neighbours_error(train, labels[0], test, labels[1], 100)
    upright = three_neighbours_error(deskew(train), labels[0], deskew(test), labels[1], 100)
    assert upright < 0.7 * plain


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("LIKEWISE_DATA"), reason="LIKEWISE_DATA names no folder of data sets"
)
def test_mnist_as_in_the_papers():
    mnist = load("mnist")
    train, test = deskew(mnist.X / 255), deskew(mnist.X_test / 255)
    error = three_neighbours_error(train, mnist.y, test, mnist.y_test, 164)
    assert error == pytest.approx(0.0142, abs=0.0005)
