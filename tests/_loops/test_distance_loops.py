"""Loops over distances: compiled against their NumPy twins, and the twins against plain loops."""

import itertools

import numpy as np
import pytest
from loop_backends import SCAN_INSTRUCTIONS, _native, choose_scan, needs_native
from scans_of_blocks import assert_scans_of_blocks_are_the_scan_of_all, blocks_of

from likewise import _loops
from likewise._loops.distances import reference, types
from likewise._loops.distances.frames import frame_of_mapped
from likewise._loops.distances.types import TooManyPairs
from likewise._numerics.products import map_rows

if SCAN_INSTRUCTIONS:
    from likewise._loops.distances import compiled

NAMES = ["laplacian_apply", "pair_sqdist", "radius_scan"]
DTYPES = [(np.float64, 1e-12), (np.float32, 2e-5)]
SHAPES = [(1, 1), (5, 1), (40, 3), (300, 17), (700, 70)]
KINDS = ["random", "empty", "tied", "duplicates", "one class"]


def case_for(name, shape, dtype, kind, seed=0):
    """Return the arguments of a loop, of some kind of difficulty."""
    rng = np.random.default_rng(seed)
    n, d = (0, shape[1]) if kind == "empty" else shape
    if kind == "tied":
        Z = rng.integers(0, 3, (n, d)).astype(dtype)
    elif kind == "duplicates":
        Z = np.repeat(rng.normal(size=(max(1, n // 5), d)), 5, axis=0)[:n].astype(dtype)
        n = len(Z)
    else:
        Z = rng.normal(size=(n, d)).astype(dtype)
    if name == "radius_scan":
        labels = np.zeros(n, np.int64) if kind == "one class" else rng.integers(-2, 3, n)
        return (
            Z,
            labels,
            d * rng.choice([0.0, 0.5, 1.0, 2.0, np.inf], n, p=[0.1, 0.3, 0.3, 0.2, 0.1]),
        )
    m = 0 if n == 0 else 7 * n
    rows, cols = rng.integers(0, max(n, 1), (2, m))
    pairs = Z, np.ascontiguousarray(rows), np.ascontiguousarray(cols)
    return (*pairs, rng.normal(size=m)) if name == "laplacian_apply" else pairs


def assert_same(found, expected, rtol):
    """Compare results, index arrays exactly and real ones up to rtol of their largest value."""
    found, expected = (out if isinstance(out, tuple) else (out,) for out in (found, expected))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        scale = np.abs(b).max(initial=0) if b.dtype.kind == "f" else 0
        np.testing.assert_allclose(a, b, rtol=rtol if b.dtype.kind == "f" else 0, atol=rtol * scale)


def test_assert_same_can_fail():
    one = np.ones(3)
    assert_same(one, one.copy(), 1e-12)
    for other in (one * (1 + 1e-9), one[:2], one.astype(np.float32), np.ones(3, int)):
        with pytest.raises(AssertionError):
            assert_same(one, other, 1e-12)
    with pytest.raises(AssertionError):
        assert_same((one, one), (one,), 1e-12)


@needs_native
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "rtol"), DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_native_matches_reference(name, shape, dtype, rtol, kind):
    args = case_for(name, shape, dtype, kind)
    assert_same(getattr(compiled, name)(*args), getattr(reference, name)(*args), rtol)


@needs_native
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 3, 8, 15, 17, 30, 33, 70, 164])
def test_same_bits_with_any_instructions(instructions, d, dtype):
    """Distances are summed in eight lanes, products in the order of the pairs of a row."""
    rng = np.random.default_rng(d)
    Z = (rng.normal(size=(90, d)) + 3).astype(dtype)
    rows, cols = rng.integers(0, 80, (2, 600))  # the last rows have no pair
    rows[:150] = 7  # and this has very many
    weights = rng.normal(size=600)
    found = compiled.pair_sqdist(Z, rows, cols)
    assert found.tobytes() == reference.pair_sqdist(Z, rows, cols).tobytes()
    expected = np.zeros(Z.shape)
    for a, b, w in zip(rows, cols, weights, strict=True):
        difference = w * np.subtract(Z[a], Z[b], dtype=np.float64)
        expected[a] += difference
        expected[b] -= difference
    found = compiled.laplacian_apply(Z, rows, cols, weights)
    assert found.tobytes() == expected.astype(dtype).tobytes()


def parts_of(loops, rows, cols, weights, n):
    """Return pairs in two lists: their incidence and weights."""
    return [
        (loops.incidence(rows[part].copy(), cols[part].copy(), n), weights[part].copy())
        for part in (slice(0, len(rows) // 3), slice(len(rows) // 3, None))
    ]


def product_of(loops, Z, parts, step=10**6):
    """Return all rows of a Laplacian product, `step` at a time."""
    rows_of = loops.laplacian_slices(Z, parts)
    edges = [*range(0, len(Z), step), len(Z)]
    return np.concatenate(
        [
            rows_of(start, stop, np.full_like(Z[start:stop], np.nan))
            for start, stop in itertools.pairwise(edges)
        ]
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pairs_of_weight_0_and_in_several_lists_change_no_bit(dtype):
    Z, rows, cols, weights = case_for("laplacian_apply", (700, 17), dtype, "random")
    weights[::3] = 0
    expected = _loops.laplacian_apply(
        Z, *(part[weights != 0].copy() for part in (rows, cols, weights))
    )
    for n_jobs in (2, 5):
        args = (part[weights != 0].copy() for part in (rows, cols, weights))
        found = _loops.laplacian_apply(Z, *args, n_jobs=n_jobs)
        np.testing.assert_array_equal(found, expected)
    tolerance = 0 if _loops.BACKEND == "native" else 1e-5  # the twin sums in another order
    parts = parts_of(_loops, rows, cols, weights, len(Z))
    for step in (700, 33, 1):
        found = product_of(_loops, Z, parts, step)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    parts = parts_of(reference, rows, cols, weights, len(Z))
    twin = product_of(reference, Z, parts)
    np.testing.assert_allclose(twin, expected, rtol=2e-5, atol=2e-5 * np.abs(expected).max())
    assert not product_of(_loops, Z, []).any()


@pytest.mark.parametrize("loops", [_loops, reference], ids=["chosen", "reference"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_slices_of_a_laplacian_product(loops, dtype):
    Z, rows, cols, weights = case_for("laplacian_apply", (70, 5), dtype, "random")
    parts = parts_of(loops, rows, cols, weights, len(Z))
    whole, rows_of = product_of(loops, Z, parts), loops.laplacian_slices(Z, parts)
    assert whole.any()
    for start, stop in ((0, 70), (0, 0), (3, 4), (20, 65), (69, 70)):
        memory = np.full((stop - start, 5), np.nan, dtype=dtype)
        assert rows_of(start, stop, memory) is memory
        np.testing.assert_array_equal(memory, whole[start:stop])


@pytest.mark.parametrize("loops", [_loops, reference], ids=["chosen", "reference"])
def test_distances_in_given_memory(loops):
    Z, rows, cols = case_for("pair_sqdist", (70, 5), np.float32, "random")
    memory = np.full(len(rows), np.nan)
    assert loops.pair_sqdist(Z, rows, cols, out=memory) is memory
    np.testing.assert_array_equal(memory, loops.pair_sqdist(Z, rows, cols))


@pytest.fixture(params=[(s, p) for s in SCAN_INSTRUCTIONS for p in (1, 10**9)], ids=str)
def way(request, monkeypatch):
    """Each way to scan: every set of instructions, tiles or matrix products."""
    instructions, product_features = request.param
    choose_scan(monkeypatch, compiled, instructions)
    monkeypatch.setitem(compiled.product_features, instructions, product_features)
    yield
    _native.choose_instructions("best")


@needs_native
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(5, 1), (97, 3), (300, 17), (400, 70)], ids=str)
def test_every_way_to_scan_gives_the_same_bits(way, shape, dtype):
    for kind in KINDS:
        args = case_for("radius_scan", shape, dtype, kind)
        found, expected = compiled.radius_scan(*args), reference.radius_scan(*args)
        for a, b in zip(found, expected, strict=True):
            assert a.tobytes() == b.tobytes()


@needs_native
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(2, 1), (97, 3), (300, 17), (400, 70)], ids=str)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_scans_of_two_blocks(way, shape, share, dtype):
    for kind in KINDS:
        Z, labels, radius2 = case_for("radius_scan", shape, dtype, kind)
        if len(Z):
            assert_scans_of_blocks_are_the_scan_of_all(Z, labels, radius2, int(share * len(Z)))


@needs_native
def test_blocks_of_sorted_classes(way):
    """Panels of one class are left out, and the class goes on in the second block."""
    Z, labels, _ = case_for("radius_scan", (500, 3), np.float64, "random")
    args = Z, np.sort(labels), np.full(500, np.inf)
    assert assert_scans_of_blocks_are_the_scan_of_all(*args, 250) > 100_000


def test_scan_of_blocks_has_a_limit():
    Z, labels, _ = case_for("radius_scan", (300, 3), np.float64, "random")
    first, second = blocks_of(_loops, Z, labels, np.full(300, np.inf), 100)
    total = sum(len(found.rows) for found in _loops.scan_packed(first, second))
    assert total == 2 * (labels[:100, None] != labels[100:]).sum()
    assert len(_loops.scan_packed(first, second, max_pairs=total)[1].rows) == total // 2
    with pytest.raises(TooManyPairs, match=f"max_pairs={total - 1} pairs"):
        _loops.scan_packed(first, second, max_pairs=total - 1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("place", [0.0, 1.0, 1e4])
def test_frame_of_mapped_rows_holds_them(dtype, place):
    """No mapped row is farther than 1 from the centre, nor is the frame much larger than needed."""
    rng = np.random.default_rng(0)
    for d in (1, 5, 60):
        X = (rng.normal(size=(80, d)) * 10.0 ** rng.uniform(-3, 3, d) + place).astype(dtype)
        L = rng.normal(size=(max(1, d - 2), d)) * 10.0 ** rng.uniform(-9, 9)
        exact = X.astype(np.float64)
        largest = np.linalg.norm(exact, axis=1).max()
        frame = frame_of_mapped(L, 80, exact.mean(axis=0), np.cov(exact.T), largest)
        Z = np.ascontiguousarray(map_rows(X, L, 1))
        norms = np.linalg.norm(frame.centred(Z), axis=1)
        assert norms.max() <= 1
        assert np.log2(frame.scale) % 1 == 0
        labels, radius2 = rng.integers(0, 3, 80), rng.choice([0.0, 1.0, np.inf], 80)
        assert_scans_of_blocks_are_the_scan_of_all(Z, labels, radius2, 30, frame)


@needs_native
@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e-8, 1e8, 1e30, 1e150])
def test_scan_at_any_scale_and_place(way, scale):
    Z, labels, radius2 = case_for("radius_scan", (150, 5), np.float64, "random")
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for moved in (Z * scale, (Z + 1e6) * scale):
            args = moved, labels, np.nan_to_num(radius2 * scale * scale, posinf=np.inf)
            for a, b in zip(compiled.radius_scan(*args), reference.radius_scan(*args), strict=True):
                assert a.tobytes() == b.tobytes()


@needs_native
def test_scan_is_exact_at_the_radius(way):
    """A radius that is exactly a distance leaves the pair out; one bit more takes it in."""
    rng = np.random.default_rng(3)
    Z, labels = rng.normal(size=(200, 9)) + 50, np.arange(200) % 2
    partner = (np.arange(200) + 1) % 200
    exact = reference.pair_sqdist(Z, np.arange(200), partner)
    for radius2, inside in ((exact, 0), (np.nextafter(exact, np.inf), 200)):
        rows, cols, _ = compiled.radius_scan(Z, labels, radius2)
        assert (cols == partner[rows]).sum() == inside


@needs_native
def test_scan_with_clusters_far_apart_and_an_outlier(way):
    rng = np.random.default_rng(4)
    Z = rng.normal(size=(120, 4)) * 1e-4 + np.repeat([[0.0], [1e3], [-1e3]], 40, axis=0)
    Z[7] = 1e9
    args = Z, np.arange(120) % 3, np.full(120, 4e-8)
    found, expected = compiled.radius_scan(*args), reference.radius_scan(*args)
    assert len(expected[0]) > 100
    assert_same(found, expected, 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NAMES)
def test_same_bits_for_any_number_of_threads(name, dtype):
    args = case_for(name, (1500, 21), dtype, "random")
    runs = [getattr(_loops, name)(*args, n_jobs=n_jobs) for n_jobs in (1, 2, 5)]
    for run in runs[1:]:
        for a, b in zip(_each(runs[0]), _each(run), strict=True):
            assert a.tobytes() == b.tobytes()


def _each(result):
    return result if isinstance(result, tuple) else (result,)


def test_twins_match_plain_loops():
    Z, rows, cols, weights = case_for("laplacian_apply", (12, 3), np.float64, "random")
    expected = np.zeros_like(Z)
    for a, b, w in zip(rows, cols, weights, strict=True):
        expected[a] += w * (Z[a] - Z[b])
        expected[b] -= w * (Z[a] - Z[b])
    assert_same(reference.laplacian_apply(Z, rows, cols, weights), expected, 1e-12)
    sqdist = np.array([sum((Z[a] - Z[b]) ** 2) for a, b in zip(rows, cols, strict=True)])
    assert_same(reference.pair_sqdist(Z, rows, cols), sqdist, 1e-12)
    labels, radius2 = np.arange(12) % 3, np.linspace(0, 9, 12)
    pairs = [
        (i, j)
        for i in range(12)
        for j in range(12)
        if labels[i] != labels[j] and sum((Z[i] - Z[j]) ** 2) < radius2[i]
    ]
    found = reference.radius_scan(Z, labels, radius2)
    assert list(zip(*found[:2], strict=True)) == pairs


def test_points_of_another_array():
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(4, 3)), rng.normal(size=(6, 3))
    found = _loops.pair_sqdist(A, np.array([3, 0]), np.array([5, 4]), points=B)
    np.testing.assert_allclose(found, ((A[[3, 0]] - B[[5, 4]]) ** 2).sum(axis=1))


def test_max_pairs_stops_the_search():
    Z, labels, _ = case_for("radius_scan", (300, 3), np.float64, "random")
    radius2 = np.full(300, np.inf)
    total = len(_loops.radius_scan(Z, labels, radius2)[0])
    assert len(_loops.radius_scan(Z, labels, radius2, max_pairs=total)[0]) == total
    for n_jobs in (1, 2):
        with pytest.raises(TooManyPairs, match=f"max_pairs={total - 1} pairs") as caught:
            _loops.radius_scan(Z, labels, radius2, max_pairs=total - 1, n_jobs=n_jobs)
    assert caught.value.max_pairs == total - 1


def test_more_pairs_than_memory_raise(monkeypatch):
    monkeypatch.setattr(types, "allowed_memory", lambda: 1000)
    Z, labels, _ = case_for("radius_scan", (330, 3), np.float64, "random")
    everything = np.full(330, np.inf)
    with pytest.raises(MemoryError, match="more than 24 pairs"):
        _loops.radius_scan(Z, labels, everything)
    # Pairs of up to 4 MiB are granted unchecked.
    most = types.UNCHECKED_BYTES // types.BYTES_PER_PAIR
    assert len(_loops.radius_scan(Z, labels, everything, max_pairs=most)[0]) <= most
    with pytest.raises(MemoryError, match="more than 24 pairs"):
        _loops.radius_scan(Z, labels, everything, max_pairs=most + 1)


@pytest.mark.parametrize("k", [1, 3, 40])
def test_smallest_of_groups(k):
    rng = np.random.default_rng(0)
    start = np.cumsum([0, *rng.integers(0, 60, 900)])
    values = rng.integers(0, 20, start[-1]).astype(float)  # with equal values
    values[rng.random(len(values)) < 0.1] = np.inf
    expected = np.full((900, k), -1)
    for group, (first, last) in enumerate(itertools.pairwise(start)):
        best = first + np.argsort(values[first:last], kind="stable")[:k]
        expected[group, : len(best)] = best
    for loops in (compiled, reference) if SCAN_INSTRUCTIONS else (reference,):
        for n_jobs in (1, 2):
            found = loops.smallest_of_groups(values, start, k, n_jobs=n_jobs)
            np.testing.assert_array_equal(found, expected)
    assert _loops.smallest_of_groups(values[:0], start[:1], k).shape == (0, k)
    for bad in (start[:-1], start[1:], start[:0]):
        with pytest.raises(ValueError, match="start must rise"):
            _loops.smallest_of_groups(values, bad, k)
    with pytest.raises(ValueError, match="k must be at least 1"):
        _loops.smallest_of_groups(values, start, 0)


def test_bad_arguments_raise():
    Z, labels, radius2 = np.zeros((4, 2)), np.zeros(4, np.int64), np.zeros(4)
    two = np.zeros(2, np.int64)

    for error, words, call in [
        (
            TypeError,
            "float32 or float64",
            lambda: _loops.radius_scan(Z.astype(int), labels, radius2),
        ),
        (TypeError, "C-contiguous", lambda: _loops.pair_sqdist(np.asfortranarray(Z), two, two)),
        (
            TypeError,
            "labels must be an array",
            lambda: _loops.radius_scan(Z, labels * 1.0, radius2),
        ),
        (
            TypeError,
            "contiguous vector",
            lambda: _loops.pair_sqdist(Z, np.zeros(4, int)[::2], two),
        ),
        (
            TypeError,
            "points must be",
            lambda: _loops.pair_sqdist(Z, two, two, points=Z[:, :1].copy()),
        ),
        (ValueError, "radius2 must hold 4", lambda: _loops.radius_scan(Z, labels, radius2[:3])),
        (ValueError, "NaN", lambda: _loops.radius_scan(Z, labels, radius2 + np.nan)),
        (ValueError, "finite", lambda: _loops.radius_scan(Z + np.inf, labels, radius2)),
        (ValueError, "1e300", lambda: _loops.radius_scan(Z + 1e305, labels, radius2)),
        (ValueError, "at least 0", lambda: _loops.radius_scan(Z, labels, radius2, max_pairs=-1)),
        (ValueError, "same length", lambda: _loops.pair_sqdist(Z, two, two[:1])),
        (ValueError, "one per pair", lambda: _loops.laplacian_apply(Z, two, two, radius2)),
        (
            ValueError,
            "must index the rows of Z",
            lambda: product_of(
                _loops, Z, [(_loops.incidence(two, two, len(Z) + 1), radius2[: len(two)])]
            ),
        ),
        (IndexError, "rows must lie in 0 to 3", lambda: _loops.pair_sqdist(Z, two + 4, two)),
        (
            IndexError,
            "cols must lie",
            lambda: _loops.laplacian_apply(Z, two, two - 1, radius2[:2]),
        ),
        (
            ValueError,
            "n_jobs",
            lambda: _loops.laplacian_apply(Z, two, two, radius2[:2], n_jobs=0),
        ),
    ]:
        with pytest.raises(error, match=words):
            call()


@needs_native
def test_native_checks_for_itself():
    Z, two, out = np.zeros((4, 2)), np.zeros(2, np.int64), np.zeros(2)
    pairs = [_native.Incidence(two, two, 4)]
    zeros = np.zeros(4, np.int64)
    make = _native.PackedRowsFloat64

    for error, call in [
        (TypeError, lambda: _native.pair_sqdist(np.asfortranarray(Z), Z, two, two, out)),
        (TypeError, lambda: _native.pair_sqdist(Z, Z, two.astype(np.int32), two, out)),
        (TypeError, lambda: _native.pair_sqdist(Z, Z.astype(np.float32), two, two, out)),
        (TypeError, lambda: _native.laplacian_rows(Z, pairs, [out], 0, 4, np.asfortranarray(Z))),
        (IndexError, lambda: _native.pair_sqdist(Z, Z, two + 4, two, out)),
        (IndexError, lambda: _native.pair_sqdist(Z, Z, two, two - 1, out)),
        (IndexError, lambda: _native.laplacian_rows(Z, pairs, [out], 0, 5, Z.copy())),
        (IndexError, lambda: _native.Incidence(two, two + 4, 4)),
        (ValueError, lambda: _native.pair_sqdist(Z, Z, two, two, out[:1])),
        (ValueError, lambda: _native.pair_sqdist(Z, Z[:, :1].copy(), two, two, out)),
        (ValueError, lambda: _native.Incidence(two, two[:1], 4)),
        (ValueError, lambda: _native.laplacian_rows(Z, pairs, [out[:1]], 0, 4, Z.copy())),
        (ValueError, lambda: _native.laplacian_rows(Z, pairs, [], 0, 4, Z.copy())),
        (ValueError, lambda: _native.laplacian_rows(Z[:3], pairs, [out], 0, 3, Z[:3].copy())),
        (TypeError, lambda: _native.laplacian_rows(Z, pairs, [two], 0, 4, Z.copy())),
        (ValueError, lambda: _native.laplacian_rows(Z, pairs, [out], 0, 4, Z[:3].copy())),
        (
            ValueError,
            lambda: make(Z, two, zeros, Z[:, 0].copy(), out, 1.0, True, [], "portable"),
        ),
        (
            IndexError,
            lambda: make(Z, zeros + 4, zeros, np.zeros(4), out, 1.0, True, [], "portable"),
        ),
    ]:
        with pytest.raises(error):
            call()
