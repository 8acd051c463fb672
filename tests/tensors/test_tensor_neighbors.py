"""Neighbour search on tensors: the same pairs, order and distances as that of arrays."""

import numpy as np
import pytest

from likewise import neighbors
from likewise._numerics import products

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from on_device import DEVICE, host, there  # noqa: E402

from likewise._numerics import torch_products  # noqa: E402
from likewise._runtime import tensors  # noqa: E402


def zeros(*shape):
    return torch.zeros(shape, device=DEVICE)


def cases():
    random = np.random.default_rng(0)
    normal = random.normal(size=(300, 12))
    yield "normal", normal
    yield "one feature", normal[:, :1]
    yield "integers with ties", random.integers(0, 3, size=(200, 4)).astype(float)
    yield "duplicates", np.repeat(normal[:40], 5, axis=0)
    yield "far from zero", normal + 1e6
    yield "with an outlier", np.vstack([normal, np.full((1, 12), 1e8)])
    yield "tiny", normal * 1e-30
    yield "squares underflow", normal * 1e-162
    yield "equal", np.ones((30, 3))


CASES = [
    pytest.param(X.astype(dtype), id=f"{name}, {dtype.__name__}")
    for name, X in cases()
    for dtype in (np.float32, np.float64)
]


@pytest.fixture(params=["one tile", "small tiles"])
def tiles(request, monkeypatch):
    if request.param == "small tiles":
        for module in ("_torch_nearest", "_torch_radius"):
            monkeypatch.setattr(f"likewise.neighbors.{module}.tile_elements", lambda device: 2500)
            monkeypatch.setattr(f"likewise.neighbors.{module}._ROWS_PER_TILE", 50)


@pytest.mark.parametrize("X", CASES)
@pytest.mark.parametrize("exclude_self", [False, True])
@pytest.mark.parametrize("k", [1, 7])
@pytest.mark.usefixtures("tiles")
def test_nearest_is_that_of_arrays(X, exclude_self, k):
    queries = X if exclude_self else X[::2] + np.float32(0.25)
    expected = neighbors.nearest(queries, X, k, exclude_self=exclude_self)
    found = neighbors.nearest(there(queries), there(X), k, exclude_self=exclude_self)
    for ours, theirs in zip(found, expected, strict=True):
        assert isinstance(ours, torch.Tensor)
        np.testing.assert_array_equal(host(ours), theirs)


@pytest.mark.parametrize("X", CASES)
@pytest.mark.usefixtures("tiles")
def test_pairs_within_the_radius_are_those_of_arrays(X):
    random = np.random.default_rng(1)
    labels = random.integers(0, 3, size=len(X))
    typical = np.median(neighbors.nearest(X, X, min(20, len(X) - 1), exclude_self=True)[0])
    radii = typical * random.choice([0.0, 0.5, 1.0, 2.0], size=len(X))
    # A radius that is a distance: strictly less is inside.
    radii[0] = neighbors.nearest(X[:1], X, 5)[0][0, -1]
    expected = neighbors.within_radius_of_other_class(X, labels, radii)
    found = neighbors.within_radius_of_other_class(there(X), labels, radii)
    assert len(expected[0]) or not typical
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(host(ours), theirs)


def test_an_infinite_radius_finds_all_other_classes():
    Z, labels = zeros(6, 2), [0, 0, 1, 1, 2, 2]
    rows, cols, _ = neighbors.within_radius_of_other_class(Z, labels, np.inf)
    assert len(rows) == 6 * 4
    assert all(labels[a] != labels[b] for a, b in zip(host(rows), host(cols), strict=True))


@pytest.mark.usefixtures("tiles")
def test_only_rows_of_one_class_ask():
    random = np.random.default_rng(4)
    X, labels = random.normal(size=(300, 3)), random.integers(0, 3, size=300)
    radii = np.where(labels == 1, 1.5, 0.0)
    expected = neighbors.within_radius_of_other_class(X, labels, radii)
    found = neighbors.within_radius_of_other_class(there(X), labels, radii)
    assert len(expected[0]) > 1000
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(host(ours), theirs)


def test_one_class_has_no_pairs():
    found = neighbors.within_radius_of_other_class(zeros(6, 2), np.ones(6, int), 1.0)
    assert [len(part) for part in found] == [0, 0, 0]


def test_products_of_reduced_precision_are_not_used():
    random = np.random.default_rng(2)
    X = there(random.normal(size=(200, 30)).astype(np.float32))
    assert torch_products.product_dtype(torch.float32) == torch.float32
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        assert torch_products.product_dtype(torch.float32) == torch.float64
        found = neighbors.nearest(X, X, 3)[1]
    finally:
        torch.set_float32_matmul_precision(before)
    np.testing.assert_array_equal(host(found), neighbors.nearest(host(X), host(X), 3)[1])


def test_autocast_changes_nothing():
    """It would round rows of float32 to half precision in every product."""
    random = np.random.default_rng(5)
    X = there(random.normal(size=(200, 30)).astype(np.float32))
    labels, L = np.arange(200) % 3, random.normal(size=(2, 30))
    expected = (
        *neighbors.nearest(X, X, 3),
        *neighbors.within_radius_of_other_class(X, labels, 40.0),
    )
    mapped = torch_products.map_tensor(X, L)
    with torch.autocast(X.device.type):
        found = (
            *neighbors.nearest(X, X, 3),
            *neighbors.within_radius_of_other_class(X, labels, 40.0),
        )
        mapped_inside = torch_products.map_tensor(X, L)
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.equal(ours, theirs)
    torch.testing.assert_close(mapped_inside, mapped, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_autocast_of_any_device_asks_for_double(monkeypatch, device):
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: kind == device)
    assert torch_products.product_dtype(torch.float32) == torch.float64


def test_searches_do_not_follow_gradients_and_say_so():
    X = there(np.random.default_rng(6).normal(size=(50, 3)))
    labels = np.arange(50) % 2
    with_gradient = X.clone().requires_grad_()
    with (
        pytest.warns(UserWarning, match="queries requires a gradient, which is not followed"),
        pytest.warns(UserWarning, match="points requires a gradient, which is not followed"),
    ):
        nearest = neighbors.nearest(with_gradient, with_gradient, 2)
    with pytest.warns(UserWarning, match="Z requires a gradient, which is not followed"):
        within = neighbors.within_radius_of_other_class(with_gradient, labels, 1.0)
    expected = (
        *neighbors.nearest(X, X, 2),
        *neighbors.within_radius_of_other_class(X, labels, 1.0),
    )
    for ours, theirs in zip((*nearest, *within), expected, strict=True):
        assert not ours.requires_grad
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize(
    ("module", "name", "arguments"),
    [
        ("_torch_nearest", "nearest", (zeros(4, 2), 1)),
        ("_torch_radius", "within_radius_of_other_class", ([0, 0, 1, 1], 1.0)),
    ],
)
@pytest.mark.usefixtures("plain_torch")
def test_searches_say_that_the_memory_of_the_gpu_does_not_suffice(
    monkeypatch, module, name, arguments
):
    def no_memory(*args):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0.")

    monkeypatch.setattr(f"likewise.neighbors.{module}.centred_for_products", no_memory)
    with pytest.raises(MemoryError) as caught:
        getattr(neighbors, name)(zeros(4, 2), *arguments)
    assert str(caught.value) == (
        f"{name} ran out of the memory of the GPU (tried to allocate 2.00 GiB); take fewer rows or "
        "float32, set a lower max_memory for smaller tiles, or pass arrays."
    )


def test_too_many_pairs_raise():
    Z, labels = zeros(10, 2), np.arange(10) % 2
    with pytest.raises(neighbors.TooManyPairs, match="max_pairs=49"):
        neighbors.within_radius_of_other_class(Z, labels, 1.0, max_pairs=49)
    assert len(neighbors.within_radius_of_other_class(Z, labels, 1.0, max_pairs=50)[0]) == 50


@pytest.mark.usefixtures("plain_torch")
def test_more_pairs_than_memory_raise(monkeypatch):
    name = "allowed_memory" if DEVICE.type == "cpu" else "free_device_memory"
    monkeypatch.setattr(f"likewise.neighbors._torch_radius.{name}", lambda *device: 1000)
    Z, labels = zeros(10, 2), np.arange(10) % 2
    with pytest.raises(MemoryError, match="found more than 24 pairs, which is all that fits"):
        neighbors.within_radius_of_other_class(Z, labels, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 1], [2, 3]], [0, 1], 1.0), "Z must be a float32 or float64 matrix, but .*int64"),
        (([[0.0], [np.nan]], [0, 1], 1.0), "Z must be finite"),
        (([[0.0], [1.0]], [0.0, 1.0], 1.0), "labels must be integer codes, but they are"),
        (([[0.0], [1.0]], [0, 1, 2], 1.0), "labels must hold 2 values, one per row of Z, not 3"),
        (([[0.0], [1.0]], [0, 1], [1.0]), "radius2 must hold 2 values"),
        (([[0.0], [1.0]], [0, 1], np.nan), "radius2 must not hold NaN"),
    ],
)
def test_arguments_of_the_radius_search_are_checked(arguments, message):
    Z, labels, radius2 = arguments
    with pytest.raises(ValueError, match=message):
        neighbors.within_radius_of_other_class(torch.tensor(Z, device=DEVICE), labels, radius2)


@pytest.mark.parametrize(
    ("queries", "points", "k", "message"),
    [
        (zeros(2, 3), zeros(4, 2), 1, r"\(2, 3\) and \(4, 2\)"),
        (zeros(2, 2), zeros(4, 2), 5, "k must lie in 1 to 4"),
        (zeros(2, 2) + torch.nan, zeros(4, 2), 1, "queries must be finite"),
        (zeros(2, 2).to("meta"), zeros(4, 2), 1, "queries is a tensor on meta and"),
    ],
)
def test_arguments_of_the_nearest_search_are_checked(queries, points, k, message):
    with pytest.raises(ValueError, match=message):
        neighbors.nearest(queries, points, k)


def test_tiles_shrink_with_max_memory():
    import likewise as lw

    device = torch.device("cpu")
    most = tensors.tile_elements(device)
    with lw.config_context(max_memory="40MB"):
        assert tensors.tile_elements(device) == 10**6 < most


def test_products_over_rows_are_those_of_arrays():
    random = np.random.default_rng(3)
    X, L = random.normal(size=(40_000, 5)), random.normal(size=(3, 5))
    mapped = torch_products.map_tensor(there(X), L)
    np.testing.assert_allclose(host(mapped), X @ L.T, rtol=1e-12, atol=1e-13)
    found = torch_products.product_over_tensor_rows(mapped, there(X))
    np.testing.assert_allclose(found, products.product_over_rows(X @ L.T, X, 1), rtol=1e-10)


def test_few_blocks_of_a_product_over_rows_are_in_memory(monkeypatch):
    sizes, bmm = [], torch.bmm
    monkeypatch.setattr(torch, "bmm", lambda a, b: sizes.append(len(a)) or bmm(a, b))
    X = torch.ones(300 * 1024, 1)
    assert torch_products.product_over_tensor_rows(X, X) == 300 * 1024
    assert sizes == [256, 44]
