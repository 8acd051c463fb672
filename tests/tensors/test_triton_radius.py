"""The kernel of the radius search against brute force, in Triton's interpreter or on a GPU."""

import warnings

import numpy as np
import pytest

import likewise as lw
from likewise import neighbors

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

from on_device import DEVICE, there  # noqa: E402

from likewise.neighbors import _triton_radius  # noqa: E402


@pytest.fixture(autouse=True)
def _short_chunks(monkeypatch):
    # The interpreter takes milliseconds per operation, and rows are padded to whole chunks.
    monkeypatch.setattr(_triton_radius, "_CHUNK", 128)
    monkeypatch.setattr(_triton_radius, "_SMALLEST_BUFFER", 128 * 128)


def brute_force(Z, labels, radius2):
    """Return rows, columns and distances by the definition, from differences in float64."""
    wide = Z.astype(np.float64)
    with np.errstate(over="ignore"):
        sqdist = np.square(wide[:, None] - wide[None]).sum(axis=2)
    rows, cols = np.nonzero((sqdist < radius2[:, None]) & (labels[:, None] != labels))
    return rows, cols, sqdist[rows, cols]


def search(Z, labels, radius2, **options):
    found = _triton_radius.within_radius_of_other_class(
        *(there(part) for part in (Z, labels, radius2)),
        **options,
    )
    return [part.cpu().numpy() for part in found]


def assert_is_the_definition(Z, labels, radius2):
    found = search(Z, labels, radius2)
    rows, cols, sqdist = brute_force(Z, labels, radius2)
    expected = neighbors.within_radius_of_other_class(Z, labels, radius2)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    # Sums of another order may decide otherwise on the edge only.
    differing = set(zip(rows, cols, strict=True)) ^ set(zip(*found[:2], strict=True))
    distances = {**dict(zip(zip(rows, cols, strict=True), sqdist, strict=True))}
    for row, col in differing:
        near = distances.get((row, col), radius2[row])
        assert near == pytest.approx(radius2[row], rel=1e-12)
    return found


def cases():
    random = np.random.default_rng(0)
    normal = random.normal(size=(150, 12))
    yield "normal", normal
    yield "one feature", normal[:, :1]
    yield "many features", random.normal(size=(140, 150))
    yield "integers with ties", random.integers(0, 3, size=(150, 4)).astype(float)
    yield "duplicates", np.repeat(normal[:40], 4, axis=0)
    yield "far from zero", normal + 1e8
    yield "with an outlier", np.vstack([normal, np.full((1, 12), 1e8)])
    yield "tiny", normal * 1e-30
    yield "squares underflow", normal * 1e-162
    yield "of many scales", normal * np.logspace(-12, 6, 12)
    yield "large", normal * 1e15
    yield "equal", np.ones((30, 3))
    yield "one row", np.ones((1, 3))
    yield "a whole block", random.normal(size=(128, 3))
    yield "a row more than a block", random.normal(size=(129, 3))


CASES = [
    pytest.param(X.astype(dtype), id=f"{name}, {dtype.__name__}")
    for name, X in cases()
    for dtype in (np.float32, np.float64)
]


@pytest.mark.parametrize("X", CASES)
def test_pairs_are_those_of_brute_force(X):
    random = np.random.default_rng(1)
    labels = random.integers(-1, 3, size=len(X)) * 10**9
    radii = np.zeros(len(X))
    if len(X) > 1:
        typical = np.median(neighbors.nearest(X, X, min(20, len(X) - 1), exclude_self=True)[0])
        radii = typical * random.choice([0.0, 0.5, 1.0, 2.0], size=len(X))
        radii[0] = neighbors.nearest(X[:1], X, 5)[0][0, -1]  # a distance: strictly less is inside
    radii[-1] = np.inf
    found = assert_is_the_definition(X, labels, radii)
    assert len(found[0]) or len(X) == 1


@pytest.mark.parametrize("seed", range(6))
def test_random_problems(seed):
    random = np.random.default_rng(seed)
    n, d = random.integers(2, 200), random.integers(1, 20)
    Z = random.normal(size=(n, d)) * 10.0 ** random.integers(-8, 8) + random.normal() * 1e3
    Z = Z.astype(random.choice([np.float32, np.float64]))
    labels = random.integers(0, random.integers(1, n + 1), size=n)
    radii = np.square(Z - Z[random.permutation(n)].astype(float)).sum(axis=1) / 2
    assert_is_the_definition(Z, labels, radii)


@pytest.mark.parametrize("radius2", [0.0, -1.0, np.inf])
def test_radii_that_reach_nothing_or_all(radius2):
    random = np.random.default_rng(2)
    Z, labels = random.normal(size=(140, 3)), random.integers(0, 2, size=140)
    rows, _, _ = assert_is_the_definition(Z, labels, np.full(140, radius2))
    assert len(rows) == (2 * labels.sum() * (140 - labels.sum()) if radius2 > 0 else 0)


def test_one_class_has_no_pairs():
    Z = np.random.default_rng(3).normal(size=(140, 3))
    assert not len(search(Z, np.zeros(140, dtype=int), np.full(140, np.inf))[0])


def test_few_candidates_are_proposed_that_are_not_pairs():
    """A slack that is too wide would also give the right pairs."""
    random = np.random.default_rng(4)
    Z, labels = random.normal(size=(256, 8)).astype(np.float32), random.integers(0, 3, size=256)
    tensors = [there(part) for part in (Z, labels, np.full(256, 6.0))]
    scan = _triton_radius._Scan.of(*tensors)
    n_candidates = sum(len(part) for part in scan.run(1 << 16))
    n_pairs = len(brute_force(Z, labels, np.full(256, 6.0))[0])
    assert n_pairs / 2 <= n_candidates <= n_pairs / 2 * 1.01


def test_thresholds_below_the_bound_would_miss_pairs():
    """The bound is needed: with float16 products and no slack, pairs are missing."""
    random = np.random.default_rng(5)
    Z, labels = random.normal(size=(256, 8)) + 0.1, random.integers(0, 3, size=256)
    sqdist = np.square(Z[:, None] - Z).sum(axis=2)
    sqdist[labels[:, None] == labels] = np.inf
    radii = np.nextafter(sqdist.min(axis=1), np.inf)  # each reaches its nearest by a hair
    rows, cols, _ = assert_is_the_definition(Z, labels, radii)
    n_pairs = len({(min(pair), max(pair)) for pair in zip(rows, cols, strict=True)})
    scan = _triton_radius._Scan.of(*(there(part) for part in (Z, labels, radii)))
    assert sum(len(part) for part in scan.run(1 << 16)) >= n_pairs
    scale = 2.0 ** (14 - np.frexp(np.abs(Z - Z.mean(axis=0)).max())[1])
    half = scan.rows[:256].double().square().sum(dim=1) / 2
    scan.high[:256] = half
    scan.low[:256] = half - there(radii)[scan.order] * (scale**2 / 2)
    assert sum(len(part) for part in scan.run(1 << 16)) < 0.8 * n_pairs


def truncated_dot(a, b, at_once):
    """Return products summed as tensor cores do: aligned to the largest, cut off after 24 bits."""
    total = 0.0
    for start in range(0, len(a), at_once):
        addends = [total, *(a[start : start + at_once] * b[start : start + at_once])]
        unit = 2.0 ** (np.frexp(np.abs(addends).max())[1] - 24)
        total = np.trunc(np.array(addends) / unit).sum()
        if total:
            unit *= 2.0 ** max(0, np.frexp(total)[1] - 24)
            total = np.trunc(total / max(1.0, 2.0 ** (np.frexp(total)[1] - 24))) * unit
    return total


@pytest.mark.parametrize("at_once", [4, 8, 16])
@pytest.mark.parametrize("n_features", [16, 64, 512])
def test_truncated_sums_are_within_the_bound(at_once, n_features):
    random = np.random.default_rng(8)
    share = 0.0
    for _ in range(50):
        a, b = np.abs(random.normal(size=(2, n_features))).astype(np.float16).astype(np.float64)
        off = abs(truncated_dot(a, b, at_once) - a @ b)
        share = max(share, off / ((a @ a + b @ b) / 2))
    assert 0 < share < (n_features + 16) * 2.0**-22 - 2.0**-22


@pytest.mark.parametrize("programs", [1, 3, 1 << 15])
def test_a_buffer_that_overflows_changes_nothing(monkeypatch, programs):
    random = np.random.default_rng(6)
    Z, labels = random.normal(size=(300, 2)), random.integers(0, 3, size=300)
    radii = np.full(300, 6.0)
    expected = search(Z, labels, radii)
    assert len(expected[0]) > 2**15  # more than one buffer
    monkeypatch.setattr(_triton_radius, "_n_candidates", lambda Z, max_pairs: 128 * 128)
    monkeypatch.setattr(_triton_radius, "_PROGRAMS", programs)
    monkeypatch.setattr(_triton_radius, "_SETTLED", 1000)
    for ours, theirs in zip(search(Z, labels, radii), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_too_many_pairs_raise():
    Z, labels = np.zeros((10, 2)), np.arange(10) % 2
    radii = np.ones(10)
    with pytest.raises(neighbors.TooManyPairs, match="max_pairs=49"):
        search(Z, labels, radii, max_pairs=49)
    assert len(search(Z, labels, radii, max_pairs=50)[0]) == 50


def test_a_flood_is_stopped_before_all_pairs_are_found(monkeypatch):
    """Rows that coincide, as when a line search shrinks L: every pair is within the margin."""
    settled = []
    settle = _triton_radius._settle
    monkeypatch.setattr(
        _triton_radius, "_settle", lambda *args: settled.append(len(args[-1])) or settle(*args)
    )
    Z, labels = np.zeros((600, 2)), np.arange(600) % 2
    with pytest.raises(neighbors.TooManyPairs):
        search(Z, labels, np.ones(600), max_pairs=1000)
    assert sum(settled) <= 128 * 128 < 300 * 300


def test_the_buffer_is_small_where_memory_is():
    Z = torch.zeros((10, 2), device=DEVICE)
    assert _triton_radius._n_candidates(Z, None) == _triton_radius._MAX_CANDIDATES
    assert _triton_radius._n_candidates(Z, 10**6) == 2 * 10**6
    with lw.config_context(max_memory="64MB"):
        assert _triton_radius._n_candidates(Z, None) == 64_000_000 // 4 // 64


def test_without_memory_for_the_copy_plain_torch_searches(monkeypatch):
    random = np.random.default_rng(7)
    Z, labels, radii = random.normal(size=(50, 2)), np.arange(50) % 2, np.full(50, 0.5)
    expected = search(Z, labels, radii)
    monkeypatch.setattr(_triton_radius, "_memory", lambda Z: 1000)
    monkeypatch.setattr(_triton_radius._Scan, "run", None)
    for ours, theirs in zip(search(Z, labels, radii), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("n_features", "depth"), [(0, 16), (1, 16), (17, 32), (50, 64), (128, 128), (129, 192)]
)
def test_depth_is_a_power_of_two_or_a_multiple_of_the_step(n_features, depth):
    assert _triton_radius.padded_depth(n_features) == depth


def test_the_check_of_the_kernel_passes_and_fails(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _triton_radius._agrees(DEVICE, 3)
    with monkeypatch.context() as patch:
        patch.setattr(_triton_radius, "_memory", lambda Z: 1000)
        with pytest.raises(MemoryError):  # the plain search would agree with itself
            _triton_radius._agrees(DEVICE, 3)
    monkeypatch.setattr(
        _triton_radius, "_settle", lambda *args: _triton_radius._nothing(args[0])[1:]
    )
    assert not _triton_radius._agrees(DEVICE, 3)


@pytest.mark.usefixtures("double_by_default")
def test_the_default_type_of_tensors_does_not_matter():
    Z = np.random.default_rng(5).normal(size=(150, 4))
    labels, radius2 = np.arange(150) % 3, np.full(150, 0.5)
    scan = _triton_radius._Scan.of(*(there(part) for part in (Z, labels, radius2)))
    for thresholds in (scan.low, scan.high, scan.screen, scan.widths):
        assert thresholds.dtype == torch.float32
    assert len(assert_is_the_definition(Z, labels, radius2)[0]) > 0
