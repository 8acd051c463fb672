"""The fused kernels of NCA against arrays, in Triton's interpreter or on a GPU."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

from on_device import DEVICE, there  # noqa: E402

from likewise._runtime import kernel_check  # noqa: E402
from likewise.objectives import SoftmaxNeighbours, triton_neighbours  # noqa: E402
from likewise.objectives import torch_softmax_neighbours as plain  # noqa: E402

# Where a sample is infinitely far from others, or from itself, the interpreter warns.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value):RuntimeWarning")


@pytest.fixture(autouse=True)
def _short_chunks(monkeypatch):
    monkeypatch.setattr(triton_neighbours, "_CHUNK", 256)


def by_definition(Z, classes):
    """Return the probabilities and the rows, from all differences in float64."""
    sqdist = np.square(Z[:, None] - Z[None]).sum(axis=2)
    np.fill_diagonal(sqdist, np.inf)
    p = np.exp(sqdist.min(axis=1, keepdims=True) - sqdist)
    p /= p.sum(axis=1, keepdims=True)
    same = classes[:, None] == classes
    probability = np.sum(p, axis=1, where=same)
    weights = p * (same - probability[:, None])
    weights += weights.T
    return probability, weights.sum(axis=1)[:, None] * Z - weights @ Z


def samples(n_samples, n_features, *, size=1.0, n_classes=3):
    random = np.random.default_rng(n_samples)
    Z = random.normal(size=(n_samples, n_features)) * size / np.sqrt(n_features)
    return Z - Z.mean(axis=0), np.sort(random.integers(0, n_classes, size=n_samples))


@pytest.mark.parametrize(
    ("n_samples", "n_features", "size", "n_classes"),
    [
        (2, 1, 1.0, 1),
        (300, 5, 2.0, 3),  # two chunks
        (130, 140, 8.0, 10),  # features in two blocks, nearly hard neighbours
        (60, 256, 0.0, 2),  # all samples are equal
        (40, 3, 1e-12, 2),
    ],
)
def test_probabilities_and_sums_are_those_of_the_definition(n_samples, n_features, size, n_classes):
    Z, classes = samples(n_samples, n_features, size=size, n_classes=n_classes)
    expected = by_definition(Z, classes)
    given = there(Z), there(classes)
    found = triton_neighbours.probability_and_product(*given)
    for ours, theirs in zip(found, expected, strict=True):
        scale = np.abs(theirs).max() + 1e-300
        np.testing.assert_allclose(ours.cpu().numpy() / scale, theirs / scale, atol=2e-5)
    assert float(found[0].sum()) == pytest.approx(expected[0].sum(), rel=1e-6)


def test_rows_are_two_numbers_of_half_precision():
    """Down to entries of 2⁻¹⁵ of the largest, the sum has 22 bits."""
    random = np.random.default_rng(0)
    Z = torch.from_numpy(random.normal(size=(50, 20)) * 2.0 ** random.integers(-15, 1, size=20))
    halves = triton_neighbours._Halves.of(Z.to(DEVICE))
    rebuilt = (halves.high.double() + halves.low.double())[:50, :20].cpu() / halves.scale
    error = (rebuilt - Z).abs() / Z.abs().clamp(min=2.0**-15 * float(Z.abs().max()))
    assert float(error.max()) <= 2.0**-22
    np.testing.assert_allclose(
        halves.sqnorms[:50].cpu(), Z.square().sum(dim=1) * np.log2(np.e), rtol=1e-6
    )


@pytest.mark.parametrize(
    ("shared", "depth", "expected"),
    [
        (227 << 10, 192, (128, 64, 8, 2)),
        (227 << 10, 256, (128, 32, 8, 2)),
        (99 << 10, 128, (128, 32, 8, 2)),
        (99 << 10, 192, (64, 32, 4, 2)),
        (48 << 10, 256, (64, 16, 4, 1)),
    ],
)
def test_tiles_fit_the_shared_memory(monkeypatch, shared, depth, expected):
    monkeypatch.setattr(triton_neighbours, "_INTERPRETED_SHARED", shared)
    tile = triton_neighbours.fitting_tile(triton_neighbours._SUM_TILES, depth, torch.device("cpu"))
    assert tuple(tile.values()) == expected


def test_without_the_size_of_shared_memory_tiles_fit_the_least(monkeypatch):
    """PyTorch before 2.7 does not tell it."""
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: object())
    tile = triton_neighbours.fitting_tile(triton_neighbours._SUM_TILES, 128, torch.device("cuda"))
    assert tuple(tile.values()) == (128, 32, 8, 2)


@pytest.mark.parametrize("limit", ["sums", "tile"])
def test_few_sums_of_chunks_are_in_memory(monkeypatch, limit):
    """Three chunks: neither the tiles of a large GPU nor little memory change the result."""
    Z, classes = samples(700, 5)
    given = there(Z), there(classes)
    expected = triton_neighbours.probability_and_product(*given)
    one_chunk, many = 768 * 16, 1 << 40
    sums, tile = (one_chunk, many) if limit == "sums" else (many, one_chunk)
    monkeypatch.setattr(triton_neighbours, "_PARTIAL_SUMS", sums)
    monkeypatch.setattr(triton_neighbours, "tile_elements", lambda device: tile)
    allocated, empty = [], torch.empty
    monkeypatch.setattr(
        torch, "empty", lambda shape, **kind: allocated.append(shape) or empty(shape, **kind)
    )
    found = triton_neighbours.probability_and_product(*given)
    assert (1, 768, 16) in allocated
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.equal(ours, theirs)


def test_the_check_of_the_kernels_passes_and_fails(monkeypatch):
    assert triton_neighbours._agrees(DEVICE, 16, 0)
    exact = triton_neighbours.probability_and_product
    monkeypatch.setattr(
        triton_neighbours,
        "probability_and_product",
        lambda *args: [part * (1 + 1e-3) for part in exact(*args)],
    )
    assert not triton_neighbours._agrees(DEVICE, 16, 0)


@pytest.fixture
def _kernels(monkeypatch):
    for module in (kernel_check, plain):
        monkeypatch.setattr(module, "has_kernels", lambda device: True)
    monkeypatch.setattr(triton_neighbours.CHECK, "_passed", {})
    monkeypatch.setattr(triton_neighbours.CHECK, "agrees", lambda *args: True)


def gradient_of(X, y, L):
    rows = there(X)
    return plain.TorchSoftmaxNeighbours.of(rows, y).same_class_probability(L)


@pytest.mark.usefixtures("_kernels")
def test_gradients_by_the_kernels_are_those_of_arrays(monkeypatch):
    random = np.random.default_rng(1)
    X = random.normal(size=(90, 4)).astype(np.float32)
    y, L = random.integers(0, 3, size=90), random.normal(size=(2, 4))
    expected = SoftmaxNeighbours.of(X, y, 1).same_class_probability(L)
    monkeypatch.setattr(plain.TorchSoftmaxNeighbours, "sums_in_tiles", None)  # not used
    found = gradient_of(X, y, L)
    assert found[0].sum() == pytest.approx(expected[0].sum(), rel=1e-6)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-5 * np.abs(expected[1]).max())


@pytest.mark.usefixtures("_kernels")
@pytest.mark.parametrize(
    ("dtype", "scale"), [(np.float64, 1.0), (np.float32, 1e3)], ids=["double", "large norms"]
)
def test_what_single_precision_would_lose_is_computed_in_double(monkeypatch, dtype, scale):
    monkeypatch.setattr(triton_neighbours, "probability_and_product", None)  # not used
    monkeypatch.setattr(plain, "_fastest_softmax", lambda Z: plain.softmax_weights)
    X, y = samples(50, 4)
    L = np.eye(4) * scale
    expected = SoftmaxNeighbours.of(X.astype(dtype), y, 1).same_class_probability(L)
    for ours, theirs in zip(gradient_of(X.astype(dtype), y, L), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


@pytest.mark.usefixtures("double_by_default")
def test_the_default_type_of_tensors_does_not_matter():
    Z, classes = samples(40, 3)
    found = triton_neighbours.probability_and_product(there(Z), there(classes))
    np.testing.assert_allclose(found[0].cpu().numpy(), by_definition(Z, classes)[0], atol=2e-5)
    halves = triton_neighbours._Halves.of(there(Z))
    assert halves.sqnorms.dtype == torch.float32


def test_rows_that_are_almost_zero():
    Z, classes = samples(40, 3)
    found = triton_neighbours.probability_and_product(there(Z * 1e-311), there(classes))
    others = (classes[:, None] == classes).sum(axis=1) - 1
    np.testing.assert_allclose(found[0].cpu().numpy(), others / 39, atol=1e-6)
