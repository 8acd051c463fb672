"""Kernels over pairs against NumPy, and when a kernel is used."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

from on_device import DEVICE, there  # noqa: E402

from likewise import _loops  # noqa: E402
from likewise._numerics import torch_pairs, triton_pairs  # noqa: E402
from likewise._runtime import kernel_check  # noqa: E402


def on_device(*arrays):
    return [there(array) for array in arrays]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [0, 1, 7, 8, 50])
def test_distances_have_the_bits_of_the_loop(n_features, dtype):
    random = np.random.default_rng(0)
    Z = (random.normal(size=(40, n_features)) * 1e3 + 1e6).astype(dtype)
    rows, cols = random.integers(0, 40, size=(2, 131))
    found = triton_pairs.pair_sqdist(*on_device(Z, rows, cols, Z))
    expected = _loops.pair_sqdist(Z, rows, cols, n_jobs=1)
    np.testing.assert_array_equal(found.cpu().numpy(), expected)


def test_no_pairs_have_no_distances():
    Z = torch.zeros((3, 2), device=DEVICE)
    nothing = torch.zeros(0, dtype=torch.int64, device=DEVICE)
    assert triton_pairs.pair_sqdist(Z, nothing, nothing, Z).shape == (0,)


def sums_by_definition(Z, rows, cols, weights):
    out = np.zeros(Z.shape)
    difference = weights[:, None] * (Z[rows].astype(np.float64) - Z[cols])
    np.add.at(out, rows, difference)
    np.subtract.at(out, cols, difference)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n_features", "n_pairs"), [(1, 5), (9, 60), (130, 40), (3, 0)])
def test_sums_over_pairs_are_those_of_the_definition(monkeypatch, n_features, n_pairs, dtype):
    random = np.random.default_rng(1)
    Z = random.normal(size=(20, n_features)).astype(dtype)
    rows, cols = random.integers(0, 15, size=(2, n_pairs))  # the last rows are in no pair
    rows[: n_pairs // 2] = 3  # and one is in many, whose sum is divided
    monkeypatch.setattr(torch_pairs, "_PART", 8)
    weights = np.where(random.random(n_pairs) < 0.4, 0.0, random.normal(size=n_pairs))
    incidence = torch_pairs.Incidence.of(*on_device(rows, cols), len(Z))
    there, values = on_device(Z, weights)
    found = incidence.product_by_kernel(there, values)
    expected = sums_by_definition(Z, rows, cols, weights)
    np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=1e-12, atol=1e-12)
    gathered = incidence.gathered_product(there, values)
    np.testing.assert_allclose(gathered.cpu().numpy(), expected, rtol=1e-12, atol=1e-12)


def test_the_checks_of_the_kernels_pass_and_fail(monkeypatch):
    variants = {"sqdist": (7, torch.float32, torch.float64), "laplacian": (16, torch.float32)}
    checks = {"sqdist": triton_pairs._sqdist_agrees, "laplacian": triton_pairs._laplacian_agrees}
    for name, agrees in checks.items():
        assert agrees(DEVICE, *variants[name])
    for name in ("pair_sqdist", "sums_of_parts"):
        function = getattr(triton_pairs, name)
        monkeypatch.setattr(
            triton_pairs, name, lambda *args, function=function: function(*args) * (1 + 2.0**-20)
        )
    for name, agrees in checks.items():
        assert not agrees(DEVICE, *variants[name])


@pytest.fixture
def _any_device(monkeypatch):
    monkeypatch.setattr(kernel_check, "has_kernels", lambda device: True)


@pytest.mark.usefixtures("_any_device")
def test_a_kernel_is_checked_once_per_device_and_variant():
    calls = []
    check = kernel_check.KernelCheck("an example", lambda *args: calls.append(args) or True)
    for variant in (16, 16, 64, 16):
        assert check.passes(torch.device("cpu"), variant)
    assert check.passes(torch.device("meta"), 16)
    assert calls == [
        (torch.device("cpu"), 16),
        (torch.device("cpu"), 64),
        (torch.device("meta"), 16),
    ]


@pytest.mark.usefixtures("_any_device")
def test_a_kernel_is_checked_whatever_the_default_device_of_tensors():
    check = kernel_check.KernelCheck("an example", triton_pairs._sqdist_agrees)
    with torch.device("meta"):
        assert check.passes(DEVICE, 7, torch.float32, torch.float64)


def fail_to_compile(device):
    raise ValueError("no such instruction")


@pytest.mark.usefixtures("_any_device")
@pytest.mark.parametrize(
    ("agrees", "reason"),
    [
        (lambda device: False, "its result differs"),
        (fail_to_compile, "it failed with ValueError: no such instruction"),
    ],
)
def test_a_kernel_that_differs_or_fails_is_not_used_and_said_once(agrees, reason):
    check = kernel_check.KernelCheck("an example", agrees)
    message = f"The Triton kernel for an example is not used on cpu, since {reason}; plain PyTorch"
    with pytest.warns(RuntimeWarning, match=message):
        assert not check.passes(torch.device("cpu"))
    assert not check.passes(torch.device("cpu"))  # a second warning would be an error


@pytest.mark.usefixtures("_any_device")
@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("full"),
        RuntimeError("Triton Error [CUDA]: out of memory"),
    ],
    ids=repr,
)
def test_too_little_memory_for_a_check_decides_nothing(error):
    outcomes = iter([error, None])

    def agrees(device):
        error = next(outcomes)
        if error is not None:
            raise error
        return True

    check = kernel_check.KernelCheck("an example", agrees)
    assert not check.passes(torch.device("cpu"))
    assert check.passes(torch.device("cpu"))


def test_kernels_are_not_tried_on_the_processor():
    assert not kernel_check.has_kernels(torch.device("cpu"))
    check = kernel_check.KernelCheck("an example", fail_to_compile)
    assert not check.passes(torch.device("cpu"))


@pytest.mark.parametrize(
    ("capability", "hip", "installed", "tried"),
    [
        ((9, 0), None, True, True),
        ((8, 0), None, True, True),
        ((7, 5), None, True, False),
        ((9, 0), "6.4", True, False),
        ((9, 0), None, False, False),
    ],
)
def test_kernels_are_tried_where_their_bounds_hold(monkeypatch, capability, hip, installed, tried):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.version, "hip", hip)
    monkeypatch.setattr(kernel_check, "_has_triton", lambda: installed)
    assert kernel_check.has_kernels(torch.device("cuda", 0)) is tried


@pytest.mark.filterwarnings("ignore:LMNN stopped after max_iter")
def test_a_search_and_a_fit_use_the_kernels_where_they_pass(monkeypatch):
    """The whole path of a GPU, on the processor: the same pairs and the same objective."""
    import likewise as lw
    from likewise import neighbors
    from likewise.neighbors import _triton_radius
    from likewise.objectives import torch_large_margin, triton_hinges

    random = np.random.default_rng(2)
    X = random.normal(size=(60, 3)).astype(np.float32)
    y = (X[:, 0] + 0.3 * random.normal(size=60) > 0).astype(int)
    expected = neighbors.within_radius_of_other_class(X, y, 1.0)
    objective = lw.LMNN(max_iter=5).fit(X, y).objective_
    for module in (kernel_check, torch_pairs, neighbors._radius, torch_large_margin):
        monkeypatch.setattr(module, "has_kernels", lambda device: True)
    checks = (triton_pairs.SQDIST_CHECK, triton_pairs.LAPLACIAN_CHECK, triton_hinges.CHECK)
    for check in (_triton_radius.CHECK, *checks):
        monkeypatch.setattr(check, "_passed", {})
        monkeypatch.setattr(check, "agrees", lambda *args: True)
    monkeypatch.setattr(_triton_radius, "_CHUNK", 128)
    used = []
    for module, name in (
        (_triton_radius, "within_radius_of_other_class"),
        (triton_pairs, "pair_sqdist"),
        (triton_pairs, "sums_of_parts"),
        (triton_hinges, "group_losses"),
    ):
        function = getattr(module, name)
        monkeypatch.setattr(
            module,
            name,
            lambda *args, name=name, function=function, **options: (
                used.append(name) or function(*args, **options)
            ),
        )
    rows = there(X)
    found = neighbors.within_radius_of_other_class(rows, y, 1.0)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours.cpu().numpy(), theirs)
    assert lw.LMNN(max_iter=5).fit(rows, y).objective_ == pytest.approx(objective, rel=1e-4)
    kernels = {"within_radius_of_other_class", "pair_sqdist", "sums_of_parts", "group_losses"}
    assert set(used) == kernels
