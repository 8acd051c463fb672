"""The radius scan that drops tiles early: the same pairs, bits and order as the definition."""

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loop_backends import SCAN_INSTRUCTIONS, _native, choose_scan, needs_native
from scans_of_blocks import assert_scans_of_blocks_are_the_scan_of_all

from likewise._loops.distances import frames, reference

if SCAN_INSTRUCTIONS:
    from likewise._loops.distances import compiled

pytestmark = needs_native


@pytest.fixture(params=SCAN_INSTRUCTIONS, autouse=True)
def screened(request, monkeypatch):
    """Screen at any size, with each set of instructions."""
    choose_scan(monkeypatch, compiled, request.param)
    monkeypatch.setattr(frames, "screen_features", 2)
    monkeypatch.setattr(frames, "screen_rows_per_feature", 0)
    monkeypatch.setattr(compiled, "screen_stops", (1, 4, 20))
    yield monkeypatch
    _native.choose_instructions("best")


def clusters(n, d, seed=0, dtype=np.float64):
    """Return rows around a few centres, with variances that decay, and random labels."""
    rng = np.random.default_rng(seed)
    spread = 1 / np.arange(1, d + 1)
    centres = 4 * rng.normal(size=(6, d)) * spread
    own = rng.integers(6, size=n)
    Z = centres[own] + 0.3 * rng.normal(size=(n, d)) * spread
    return np.ascontiguousarray(Z @ rotation(d, rng), dtype=dtype), rng.integers(3, size=n)


def rotation(d, rng):
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def assert_same_bits(args):
    found, expected = compiled.radius_scan(*args), reference.radius_scan(*args)
    for a, b in zip(found, expected, strict=True):
        assert a.tobytes() == b.tobytes()
    return len(expected[0])


def scan_of(args):
    """Return the scan itself, after all its tiles, if there are any."""
    rows = compiled.PackedRows(*args, frames.frame_of(args[0]), 1).native
    of_type = (
        _native.RadiusScanFloat32 if args[0].dtype == np.float32 else _native.RadiusScanFloat64
    )
    scan, found = of_type(rows, rows, False, 10**9), _native.Found()
    if rows.panelled:
        scan.scan_tiles(0, rows.panels, found, found)
    return scan


@st.composite
def searches(draw):
    n, d = draw(st.integers(1, 160)), draw(st.integers(2, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(
        st.sampled_from(
            ["decaying", "grid", "duplicates", "constant", "one direction", "any magnitude"]
        )
    )
    if kind == "grid":
        Z = rng.integers(0, 3, (n, d)).astype(float)
    elif kind == "duplicates":
        Z = np.repeat(rng.normal(size=(n, d)), 4, axis=0)[rng.permutation(4 * n)[:n]]
    elif kind == "constant":
        Z = np.ones((n, d))
    elif kind == "one direction":
        Z = rng.normal(size=(n, 1)) * rng.normal(size=d)
    elif kind == "any magnitude":
        Z = rng.choice([-1.0, 0.0, 1.0], (n, d)) * 10.0 ** rng.uniform(-45, 0, (n, d))
    else:
        Z = rng.normal(size=(n, d)) * 0.8 ** np.arange(d) @ rotation(d, rng)
    Z = Z * draw(st.sampled_from([1e-30, 1e-3, 1.0, 1e6])) + draw(st.sampled_from([0.0, 1.0, 1e8]))
    Z = np.ascontiguousarray(Z, dtype=draw(st.sampled_from([np.float32, np.float64])))
    labels = rng.integers(0, draw(st.integers(1, 4)), n)
    # Radii that are the distance to some other row, exactly or to the next number.
    exact = reference.pair_sqdist(Z, np.arange(n), rng.integers(0, n, n))
    radius2 = rng.choice(
        [exact, np.nextafter(exact, np.inf), np.zeros(n), np.full(n, np.inf)], axis=0
    )
    chosen = rng.integers(0, 3, n)
    radius2 = np.where(chosen == 0, exact, np.where(chosen == 1, radius2, 2 * exact))
    return Z, labels, radius2


# The fixture sets the same for all inputs.
@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(args=searches())
def test_equals_brute_force(screened, args):
    assert_same_bits(args)
    assert_scans_of_blocks_are_the_scan_of_all(*args, len(args[0]) // 3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_drops_tiles_and_finds_the_same_pairs(dtype, share):
    """On clustered rows the screen drops most pairs, whether few or many are near."""
    Z, labels = clusters(700, 40, dtype=dtype)
    distances = reference.pair_sqdist(Z, np.arange(699), np.arange(1, 700))
    args = Z, labels, np.full(700, np.quantile(distances, share))
    n_pairs = assert_same_bits(args)
    assert n_pairs > 0
    scan = scan_of(args)
    assert scan.found == n_pairs
    different = sum((labels == a).sum() * (labels == b).sum() for a in range(3) for b in range(a))
    assert scan.dropped > (0.5 if share < 0.5 else 0.1) * different


def test_nothing_is_dropped_within_infinite_radii():
    Z, labels = clusters(300, 12)
    args = Z, labels, np.full(300, np.inf)
    assert assert_same_bits(args) == (labels[:, None] != labels).sum()
    assert scan_of(args).dropped <= 300 * 48  # of the rows that fill the last panel


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e-8, 1e8, 1e30, 1e150])
def test_at_any_scale_and_place(scale):
    Z, labels = clusters(200, 30)
    radius2 = np.random.default_rng(1).choice([0.0, 0.5, 2.0, np.inf], 200)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for moved in (Z * scale, (Z + 1e6) * scale):
            assert_same_bits((moved, labels, np.nan_to_num(radius2 * scale**2, posinf=np.inf)))


@pytest.mark.parametrize("place", [0.0, 50.0, 1e8])
def test_exact_at_the_radius(place):
    """A radius that is exactly a distance leaves the pair out; one bit more takes it in."""
    Z, _ = clusters(200, 25)
    Z, labels, rows = Z + place, np.arange(200) % 2, np.arange(200)
    partner = (rows + 1) % 200
    exact = reference.pair_sqdist(Z, rows, partner)
    for radius2, inside in ((exact, 0), (np.nextafter(exact, np.inf), 200)):
        found, cols, _ = compiled.radius_scan(Z, labels, radius2)
        assert (cols == partner[found]).sum() == inside


def test_outlier_and_clusters_far_apart():
    rng = np.random.default_rng(4)
    Z = rng.normal(size=(120, 24)) * 1e-4 + np.repeat([[0.0], [1e3], [-1e3]], 40, axis=0)
    Z[7] = 1e9
    assert assert_same_bits((Z, np.arange(120) % 3, np.full(120, 24 * 4e-8))) > 100


def test_same_bits_for_any_number_of_threads():
    Z, labels = clusters(1500, 40, dtype=np.float32)
    args = Z, labels, np.full(1500, 1.0)
    runs = [compiled.radius_scan(*args, n_jobs=n_jobs) for n_jobs in (1, 2, 5)]
    assert len(runs[0][0]) > 100
    for run in runs[1:]:
        assert all(a.tobytes() == b.tobytes() for a, b in zip(runs[0], run, strict=True))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_in_the_order_of_a_kd_tree(dtype):
    """The same pairs and bits, by other numbers, wherever near rows are."""
    Z, labels = clusters(900, 40, dtype=dtype)
    radius2 = np.random.default_rng(2).uniform(0, 2, 900)
    order = np.arange(900)
    _native.kd_order(Z.astype(np.float32), order, 0, 900)
    assert assert_same_bits((np.ascontiguousarray(Z[order]), labels[order], radius2[order])) > 500
    rows, cols, sqdist = compiled.radius_scan(
        np.ascontiguousarray(Z[order]), labels[order], radius2[order]
    )
    back = np.lexsort((order[cols], order[rows]))
    found = order[rows[back]], order[cols[back]], sqdist[back]
    for a, b in zip(found, compiled.radius_scan(Z, labels, radius2), strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize(
    "stops", [(1,), (39,), (2, 3, 5), (16, 32), (1, 17, 38), (1, 2, 3)], ids=str
)
def test_any_stops(screened, stops):
    screened.setattr(compiled, "screen_stops", stops)
    Z, labels = clusters(500, 40)
    args = Z, labels, np.full(500, 2.0)
    assert assert_same_bits(args) > 100
    assert scan_of(args).dropped > 0


@pytest.mark.parametrize("d", [3, 24, 90])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1 + 2.0**-8, 1 + 2.0**-8),  # both rounded down by 2^-8, a tie
        (2 - 2.0**-8 - 2.0**-20, 2 - 2.0**-8 - 2.0**-20),  # by 2^-9 of it, where the bound is least
        (2 - 2.0**-7, 2 - 2.0**-8 - 2.0**-20),  # only one is rounded
    ],
)
def test_roundings_to_bfloat16_that_add_up(d, one, other):
    """Rows just within their radii, of which all products are too small where they are rounded."""
    n = 48  # rows of a panel, so that a tile has pairs of one and other only
    Z = np.array([[one] * d] * n + [[other] * d]) / 2 ** np.ceil(np.log2(2 * d**0.5))
    rows, labels = np.arange(n + 1), np.arange(n + 1) // n
    radius2 = np.nextafter(reference.pair_sqdist(Z, rows[:1], rows[-1:]), 1).repeat(n + 1)
    for stops in ([1], [2], [1, 2], [d - 1]):
        options = np.zeros(d), 1.0, True, stops, compiled.instruction_sets[0]
        packed = _native.PackedRowsFloat64(Z, rows, labels, radius2, *options)
        packed.pack_rotated(0, 2, Z)
        scan, found = _native.RadiusScanFloat64(packed, packed, False, 999), _native.Found()
        scan.scan_tiles(0, 2, found, found)
        assert scan.found == len(found) == 2 * n


def test_axes_that_are_not_orthogonal_are_not_used(screened):
    """Twice the axes would double all distances; the check of orthogonality refuses them."""
    Z, labels = clusters(400, 30)
    args = Z, labels, np.full(400, 2.0)
    eigh = np.linalg.eigh
    screened.setattr(np.linalg, "eigh", lambda A: (eigh(A)[0], 2 * eigh(A)[1]))
    assert assert_same_bits(args) > 100
    assert scan_of(args).dropped == 0
    screened.setattr(frames, "_AXES_ERROR", np.inf)  # without the check pairs are lost
    with pytest.raises(AssertionError):
        assert_same_bits(args)


def test_few_rows_or_features_are_not_screened(screened):
    Z, labels = clusters(400, 30)
    args = Z, labels, np.full(400, 2.0)
    assert scan_of(args).dropped > 0
    screened.setattr(frames, "screen_rows_per_feature", 14)
    assert scan_of(args).dropped == 0
    screened.setattr(frames, "screen_rows_per_feature", 13)
    assert scan_of(args).dropped > 0
    screened.setattr(frames, "screen_features", 31)
    assert scan_of(args).dropped == 0


def test_a_scan_keeps_its_rows():
    Z, labels = clusters(300, 12)
    args = Z, labels, np.full(300, 2.0)
    frame = frames.frame_of(Z)
    first, second = (compiled.PackedRows(*args, frame, 1).native for _ in range(2))
    before = [sys.getrefcount(rows) for rows in (first, second)]
    scan = _native.RadiusScanFloat64(first, second, False, 9)
    assert [sys.getrefcount(rows) for rows in (first, second)] == [n + 1 for n in before]
    assert scan.found == 0


def test_kd_order_is_a_permutation_of_near_rows():
    Z, _ = clusters(1000, 6, dtype=np.float32)
    order = np.arange(1000)
    _native.kd_order(Z, order, 0, 1000)
    assert sorted(order) == list(range(1000))
    tiles = [Z[order[k : k + 8]] for k in range(0, 1000, 8)]
    within = np.mean([np.square(tile - tile.mean(axis=0)).sum(axis=1).mean() for tile in tiles])
    assert within < 0.2 * np.square(Z - Z.mean(axis=0)).sum(axis=1).mean()
    part = np.arange(1000)
    _native.kd_order(Z, part, 100, 333)
    assert sorted(part[100:333]) == list(range(100, 333))
    assert (part[:100] == np.arange(100)).all()
    assert (part[333:] == np.arange(333, 1000)).all()


def test_native_checks_for_itself():
    Z, rows, zeros = np.zeros((4, 3)), np.arange(4), np.zeros(4)

    def make(stops, panelled=True):
        return _native.PackedRowsFloat64(
            Z, rows, rows, zeros, zeros[:3], 1.0, panelled, stops, "portable"
        )

    for stops, panelled in (
        ([3], True),
        ([0], True),
        ([2, 1], True),
        ([1], False),
        ([1] * 9, True),
    ):
        with pytest.raises(ValueError, match="stops must"):
            make(stops, panelled)
    with pytest.raises(ValueError, match="must be rotated"):
        make([1]).pack(0, 1)
    with pytest.raises(ValueError, match="rows of the panels"):
        make([1]).pack_rotated(0, 1, Z[:3].copy())
    with pytest.raises(IndexError):
        make([1]).pack_rotated(0, 2, Z)
    for other in (make([2]), make([]), make([], panelled=False)):
        with pytest.raises(ValueError, match="packed alike"):
            _native.RadiusScanFloat64(make([1]), other, False, 9)
    found = _native.Found()
    by_rows = make([], panelled=False)
    with pytest.raises(ValueError, match="in panels"):
        _native.RadiusScanFloat64(by_rows, by_rows, False, 9).scan_tiles(0, 1, found, found)
    with pytest.raises(IndexError):
        _native.kd_order(np.zeros((3, 1), np.float32), np.arange(4), 0, 4)
    with pytest.raises(IndexError):
        _native.kd_order(np.zeros((4, 1), np.float32), np.arange(4), 0, 5)
