"""Compiled loops against their NumPy twins, and the twins against plain loops."""

import inspect
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from likewise import _loops
from likewise._loops import TooManyPairs, common, reference
from likewise.losses import Hinge, SmoothedHinge

if find_spec("likewise._loops._native"):
    from likewise._loops import _native, compiled

    INSTRUCTIONS = list(compiled.instruction_sets)
else:
    INSTRUCTIONS = []

needs_native = pytest.mark.skipif(not INSTRUCTIONS, reason="the loops were not compiled")
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
    if name == "group_hinges":
        near_start, far_start = (
            np.append(0, np.cumsum(rng.integers(0, m, n))).astype(np.int64) for m in (4, 3 * d)
        )
        near, far = (
            np.round(rng.exponential(2, start[-1]), 1 if kind == "tied" else 9)
            for start in (near_start, far_start)
        )
        return near, near_start, far, far_start, 1.0, 0.0 if kind == "duplicates" else 0.3
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


@pytest.mark.parametrize("name", _loops.NAMES)
def test_every_kernel_has_a_twin(name):
    assert getattr(_loops, name).__name__ == name
    twin = inspect.signature(getattr(reference, name))
    assert inspect.signature(getattr(_loops, name)) == twin
    if INSTRUCTIONS:
        assert inspect.signature(getattr(compiled, name)) == twin


def test_names_lists_every_loop():
    public = {
        name
        for name, value in vars(reference).items()
        if inspect.isfunction(value) and value.__module__ == reference.__name__ and name[0] != "_"
    }
    assert public == set(_loops.NAMES)


@needs_native
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "rtol"), DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", _loops.NAMES)
def test_native_matches_reference(name, shape, dtype, rtol, kind):
    args = case_for(name, shape, dtype, kind)
    assert_same(getattr(compiled, name)(*args), getattr(reference, name)(*args), rtol)


@pytest.fixture(params=[(s, p) for s in INSTRUCTIONS for p in (1, 10**9)], ids=str)
def way(request, monkeypatch):
    """Each way to scan: every set of instructions, tiles or matrix products."""
    instructions, product_features = request.param
    monkeypatch.setattr(compiled, "instruction_sets", [instructions])
    monkeypatch.setitem(compiled.product_features, instructions, product_features)


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
@pytest.mark.parametrize("name", _loops.NAMES)
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


@pytest.mark.parametrize("loss", [Hinge(), SmoothedHinge(0.4)], ids=str)
def test_group_hinges_are_the_losses_of_every_couple(loss):
    width = getattr(loss, "width", 0.0)
    near, near_start, far, far_start, margin, _ = case_for(
        "group_hinges", (40, 3), np.float64, "random"
    )
    value, near_slope, far_slope = np.zeros(40), np.zeros(len(near)), np.zeros(len(far))
    for group in range(40):
        for j in range(near_start[group], near_start[group + 1]):
            for k in range(far_start[group], far_start[group + 1]):
                violation = np.array(margin + near[j] - far[k])
                value[group] += loss.value(violation)
                near_slope[j] += loss.derivative(violation)
                far_slope[k] += loss.derivative(violation)
    assert value.any()
    found = reference.group_hinges(near, near_start, far, far_start, margin, width)
    assert_same(found, (value, near_slope, far_slope), 1e-12)


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


def test_more_pairs_than_memory_is_a_sentence(monkeypatch):
    monkeypatch.setattr(common, "free_memory", lambda: 1000)
    Z, labels, _ = case_for("radius_scan", (330, 3), np.float64, "random")
    everything = np.full(330, np.inf)
    with pytest.raises(MemoryError, match="more than 24 pairs"):
        _loops.radius_scan(Z, labels, everything)
    # Pairs of up to 4 MiB are granted unchecked.
    most = common.UNCHECKED_BYTES // common.BYTES_PER_PAIR
    assert len(_loops.radius_scan(Z, labels, everything, max_pairs=most)[0]) <= most
    with pytest.raises(MemoryError, match="more than 24 pairs"):
        _loops.radius_scan(Z, labels, everything, max_pairs=most + 1)


def test_bad_arguments_get_a_sentence():
    Z, labels, radius2 = np.zeros((4, 2)), np.zeros(4, np.int64), np.zeros(4)
    two = np.zeros(2, np.int64)

    def hinges(near_start=(0, 2), far_start=(0, 4), margin=1.0, width=0.0):
        starts = (np.array(start, dtype=np.int64) for start in (near_start, far_start))
        near_start, far_start = starts
        return _loops.group_hinges(radius2[:2], near_start, radius2, far_start, margin, width)

    for error, words, call in [
        (ValueError, "near_start must rise from 0 to 2", lambda: hinges(near_start=(0, 3))),
        (ValueError, "far_start must rise from 0 to 4", lambda: hinges(far_start=(0, 5, 4))),
        (ValueError, "must be as long", lambda: hinges(far_start=(0, 1, 4))),
        (ValueError, "width at least 0", lambda: hinges(width=-1.0)),
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
        (ValueError, "as long", lambda: _loops.pair_sqdist(Z, two, two[:1])),
        (ValueError, "one a pair", lambda: _loops.laplacian_apply(Z, two, two, radius2)),
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
    pairs = _native.Adjacency(two, two, out, 4)
    zeros = np.zeros(4, np.int64)
    make = _native.RadiusScanFloat64
    bounds = np.array([0, 2])

    def hinges(near_start=bounds, far_start=bounds, value=out[:1], slope=out, end=1):
        return _native.group_hinges(
            out, near_start, out, far_start, 1.0, 0.0, 0, end, value, slope, out
        )

    for error, call in [
        (TypeError, lambda: _native.pair_sqdist(np.asfortranarray(Z), Z, two, two, out)),
        (TypeError, lambda: _native.pair_sqdist(Z, Z, two.astype(np.int32), two, out)),
        (TypeError, lambda: _native.pair_sqdist(Z, Z.astype(np.float32), two, two, out)),
        (TypeError, lambda: _native.laplacian_rows(Z, pairs, 0, 4, np.asfortranarray(Z))),
        (IndexError, lambda: _native.pair_sqdist(Z, Z, two + 4, two, out)),
        (IndexError, lambda: _native.pair_sqdist(Z, Z, two, two - 1, out)),
        (IndexError, lambda: _native.laplacian_rows(Z, pairs, 0, 5, Z.copy())),
        (IndexError, lambda: _native.Adjacency(two, two + 4, out, 4)),
        (ValueError, lambda: _native.pair_sqdist(Z, Z, two, two, out[:1])),
        (ValueError, lambda: _native.pair_sqdist(Z, Z[:, :1].copy(), two, two, out)),
        (ValueError, lambda: _native.Adjacency(two, two, out[:1], 4)),
        (ValueError, lambda: _native.laplacian_rows(Z, pairs, 0, 4, Z[:3].copy())),
        (IndexError, lambda: hinges(near_start=bounds + 1)),
        (IndexError, lambda: hinges(far_start=np.array([-1, 2]))),
        (IndexError, lambda: hinges(end=2)),
        (ValueError, lambda: hinges(near_start=two[:0])),
        (ValueError, lambda: hinges(near_start=np.array([0, 1, 2]))),
        (ValueError, lambda: hinges(value=out)),
        (ValueError, lambda: hinges(slope=out[:1])),
        (ValueError, lambda: make(Z, two, zeros, Z[:, 0].copy(), out, 1.0, 9, True, "portable")),
        (IndexError, lambda: make(Z, zeros + 4, zeros, np.zeros(4), out, 1.0, 9, True, "portable")),
    ]:
        with pytest.raises(error):
            call()


def test_no_array_is_converted():
    """nanobind must refuse a wrong array, not copy it: what is written to a copy is lost."""
    native = Path(__file__).parents[2] / "src/likewise/_loops/native"
    text = "".join(module.read_text() for module in sorted(native.glob("*.cpp")))
    arguments = re.findall(r'nb::arg\("(\w+)"\)(\.noconvert\(\))?', text)
    assert len(arguments) > 10
    assert [name for name, kept in arguments if not kept] == []
    plain = set(re.findall(r'"(\w+)"_a', text))  # everything else is a number, a word or an object
    assert plain == {
        *("scale", "limit", "panelled", "instructions", "panel", "begin", "end"),
        *("row", "column", "found", "blocks", "n", "pairs", "margin", "width"),
        *("b", "variant", "C", "slack", "tolerance", "max_updates", "count"),
        *("label", "top2", "kind", "size", "positive", "negative", "R", "bias", "top"),
        *("gains", "share", "softness", "weight"),
    }


@pytest.mark.parametrize(
    ("wish", "compiled_there", "expected"),
    [
        ("", True, "native"),
        ("", False, "numpy"),
        ("numpy", True, "numpy"),
        ("numpy", False, "numpy"),
        ("native", True, "native"),
    ],
)
def test_backend_choice(wish, compiled_there, expected):
    assert _loops.choose_backend(wish, compiled_there) == expected


def test_backend_that_cannot_be():
    with pytest.raises(ValueError, match=r"LIKEWISE_LOOPS must be .* not 'fast'"):
        _loops.choose_backend("fast", True)
    with pytest.raises(ImportError, match="no compiled"):
        _loops.choose_backend("native", False)


def test_environment_forces_the_twins():
    code = "from likewise import _loops; print(_loops.BACKEND, _loops.radius_scan.__module__)"
    env = {**os.environ, "LIKEWISE_LOOPS": "numpy"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["numpy", "likewise._loops.reference"]
