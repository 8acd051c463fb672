"""The softmax kernel of NCA against NumPy, in Triton's interpreter or on a GPU."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

from on_device import DEVICE, there  # noqa: E402

from likewise._runtime import kernel_check  # noqa: E402
from likewise.objectives import SoftmaxNeighbours, triton_softmax  # noqa: E402
from likewise.objectives import torch_softmax_neighbours as plain  # noqa: E402


def by_definition(products, sqnorms, anchors, classes):
    exponents = 2 * products - sqnorms
    exponents[np.arange(len(anchors)), anchors] = -np.inf
    p = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    same = classes[anchors, None] == classes
    probability = np.sum(p, axis=1, where=same)
    return p * (same - probability[:, None]), probability


@pytest.mark.parametrize("softmax", [plain.softmax_weights, triton_softmax.softmax_weights])
@pytest.mark.parametrize(
    ("n_samples", "n_classes", "scale", "offset"),
    [(2, 1, 1.0, 0.0), (37, 5, 1.0, -1e3), (64, 2, 1e5, 1e7), (100, 100, 0.0, 0.0)],
)
def test_weights_and_probabilities_are_those_of_the_definition(
    monkeypatch, softmax, n_samples, n_classes, scale, offset
):
    monkeypatch.setattr(triton_softmax, "_BLOCK", 32)  # several blocks, the last one not full
    random = np.random.default_rng(0)
    products = random.normal(size=(7, n_samples)) * scale + offset
    sqnorms = random.random(n_samples) * scale
    anchors = random.integers(0, n_samples, size=7)
    classes = np.sort(random.integers(0, n_classes, size=n_samples))
    given = (products, sqnorms, anchors, classes)
    expected = by_definition(*given)
    found = softmax(*(there(part) for part in given))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.cpu().numpy(), theirs, rtol=1e-10, atol=1e-14)


def test_the_check_of_the_kernel_passes_and_fails(monkeypatch):
    assert triton_softmax._agrees(DEVICE, 2048)
    softmax = triton_softmax.softmax_weights
    monkeypatch.setattr(
        triton_softmax,
        "softmax_weights",
        lambda *args: [part * (1 + 1e-6) for part in softmax(*args)],
    )
    assert not triton_softmax._agrees(DEVICE, 2048)


def test_gradients_by_the_kernel_are_those_of_arrays(monkeypatch):
    random = np.random.default_rng(1)
    X, y = random.normal(size=(50, 4)), random.integers(0, 3, size=50)
    L = random.normal(size=(2, 4))
    expected = SoftmaxNeighbours.of(X, y, 1).same_class_probability(L)
    for module in (kernel_check, plain):
        monkeypatch.setattr(module, "has_kernels", lambda device: True)
    monkeypatch.setattr(triton_softmax.CHECK, "_passed", {})
    monkeypatch.setattr(plain, "softmax_weights", None)  # not used
    monkeypatch.setattr(triton_softmax.CHECK, "agrees", lambda device, block: True)
    monkeypatch.setattr(plain, "tile_elements", lambda device: 4 * 50 * 11)
    rows = there(X)
    found = plain.TorchSoftmaxNeighbours.of(rows, y).same_class_probability(L)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
