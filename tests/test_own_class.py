"""The nearest rows of the own class by a radius search: those of brute force, bit by bit."""

import numpy as np
import pytest

from likewise import _loops, constraints
from likewise._loops.distances import frames, types
from likewise.constraints import _from_labels
from likewise.neighbors import _blocks, _own_class
from likewise.neighbors._own_class import nearest_in_large_classes


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Search few rows of few features in this way, too."""
    monkeypatch.setattr(frames, "screen_features", 2)
    monkeypatch.setattr(frames, "screen_rows_per_feature", 0)
    monkeypatch.setattr(_own_class, "_CHUNK", 32)
    monkeypatch.setattr(_own_class, "_CANDIDATES_PER_ROW", 500)


def brute_force(Z, codes, k):
    """Return squared distances and rows: nearest first, then by number."""
    rows, cols = np.divmod(np.arange(len(Z) ** 2), len(Z))
    sqdist = _loops.pair_sqdist(Z, rows, cols).reshape(len(Z), len(Z))
    sqdist[(codes[:, None] != codes) | np.eye(len(Z), dtype=bool)] = np.inf
    index = np.argsort(sqdist, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(sqdist, index, axis=1), index


def rows_of(kind, dtype):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(500, 12)) * 0.8 ** np.arange(12)
    if kind == "grid":
        Z = rng.integers(0, 2, (500, 12)).astype(float)
    elif kind == "equal rows":
        Z = np.repeat(Z[:125], 4, axis=0)[rng.permutation(500)]
    elif kind == "outlier":
        Z[7] = 1e6
    elif kind == "far apart":
        Z = 1e-3 * Z + 1e3 * rng.integers(0, 3, (500, 1))
    elif kind == "far from 0":
        Z += 1e6
    elif kind == "tiny":
        Z *= 1e-30
    elif kind == "squares underflow":
        Z *= 1e-160 if dtype == np.float64 else 1e-40
    elif kind == "large":
        Z *= 1e15
    return np.ascontiguousarray(Z, dtype=dtype), rng.integers(0, 3, 500)


KINDS = ["normal", "grid", "equal rows", "outlier", "far apart", "far from 0"]
KINDS += ["tiny", "squares underflow", "large"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 5])
def test_equals_brute_force(kind, dtype, k):
    Z, codes = rows_of(kind, dtype)
    expected = brute_force(Z, codes, k)
    for n_jobs in (1, 2):
        found = nearest_in_large_classes(Z, codes, k, n_jobs=n_jobs)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_classes_of_few_rows():
    """Classes with fewer rows than neighbours in a chunk are searched as a whole."""
    Z, _ = rows_of("normal", np.float64)
    codes = np.arange(500) // 6
    found, expected = nearest_in_large_classes(Z[:498], codes[:498], 5), brute_force(Z, codes, 5)
    np.testing.assert_array_equal(found[1], expected[1][:498])


def test_it_is_left_to_other_searches(monkeypatch):
    Z, codes = rows_of("normal", np.float64)
    with monkeypatch.context() as patched:
        patched.setattr(_own_class, "_CANDIDATES_PER_ROW", 64)
        assert nearest_in_large_classes(np.zeros((500, 12)), codes, 3) is None  # all are
    assert nearest_in_large_classes(Z, codes, 17) is None
    with monkeypatch.context() as patched:  # less memory than the candidates need
        patched.setattr(types, "allowed_memory", lambda: 1000)
        assert nearest_in_large_classes(np.repeat(Z, 8, axis=0), np.repeat(codes, 8), 3) is None
    monkeypatch.setattr(frames, "screen_features", 13)
    assert nearest_in_large_classes(Z, codes, 3) is None


def test_a_class_of_k_rows_is_left_to_other_searches():
    Z, _ = rows_of("normal", np.float64)
    codes = np.minimum(np.arange(500) // 3, 1)
    assert nearest_in_large_classes(Z, codes, 2) is not None
    assert nearest_in_large_classes(Z, codes, 3) is None


@pytest.fixture
def searched(monkeypatch):
    """The numbers of rows of searches in classes that are large from 100 rows on."""
    calls = []

    def counted(*args, **options):
        calls.append(len(args[0]))
        return nearest_in_large_classes(*args, **options)

    monkeypatch.setattr(_loops, "BACKEND", "native")  # else the twin is not used for it
    monkeypatch.setattr(_own_class, "_LARGE_CLASS", 100)
    for module in (_from_labels, _blocks):
        monkeypatch.setattr(module, "nearest_in_large_classes", counted)
    return calls


def test_target_neighbours_of_large_and_small_classes(searched):
    Z, _ = rows_of("grid", np.float64)
    codes = np.repeat([0, 1, 2, 3], [300, 150, 49, 1])
    with pytest.warns(UserWarning, match="class"):
        found = constraints.target_neighbors(Z, codes, 3)
    assert searched == [450]
    expected = brute_force(Z, codes, 3)[1][:499]
    rows = np.arange(499).repeat(3)
    np.testing.assert_array_equal(found, np.column_stack([rows, expected.ravel()]))


def test_large_and_small_classes_of_a_block(searched):
    Z, _ = rows_of("grid", np.float64)
    codes = np.repeat([4, 1, 2, 0], [300, 49, 150, 1])
    found = _blocks.nearest_of_class_in_block(Z, codes, Z, codes, 3, same_block=True)
    assert searched == [450]
    order = np.lexsort((found.cols, found.sqdist, found.rows))
    expected = brute_force(Z, codes, 3)
    np.testing.assert_array_equal(found.rows[order], np.arange(499).repeat(3))
    np.testing.assert_array_equal(found.sqdist[order], expected[0][:499].ravel())
    np.testing.assert_array_equal(found.cols[order], expected[1][:499].ravel())


def test_without_compiled_loops_all_rows_are_ranked(searched, monkeypatch):
    """The twin of the radius search would take 30 times as long."""
    Z, codes = rows_of("normal", np.float64)
    monkeypatch.setattr(_loops, "BACKEND", "numpy")
    found = constraints.target_neighbors(Z, codes, 3)
    inside = _blocks.nearest_of_class_in_block(Z, codes, Z, codes, 3, same_block=True)
    assert searched == []
    expected = brute_force(Z, codes, 3)[1]
    np.testing.assert_array_equal(found[:, 1], expected.ravel())
    assert len(inside.rows) == 1500


@pytest.mark.parametrize("scale", [1e-300, 1e-165, 1e-162, 1e-161, 1e-160, 1e-155, 1e149])
def test_targets_at_any_scale(searched, scale):
    """Where nearly all squares underflow, other searches take over: most distances are equal."""
    Z, codes = rows_of("normal", np.float64)
    Z = Z * scale
    found = constraints.target_neighbors(Z, codes, 3)
    assert searched == [500]
    np.testing.assert_array_equal(found[:, 1], brute_force(Z, codes, 3)[1].ravel())


@pytest.mark.parametrize("scale", [1e152, 1e155])
@pytest.mark.parametrize("n_rows", [90, 250])  # of a small and a large class
@pytest.mark.parametrize(
    "choose", [constraints.target_neighbors, constraints.doublets, constraints.triplets]
)
def test_rows_whose_squared_distances_may_overflow_raise(searched, choose, n_rows, scale):
    Z, codes = rows_of("normal", np.float64)[0][: 2 * n_rows] * scale, np.arange(2 * n_rows) % 2
    with pytest.raises(ValueError, match="must lie within ±1e150"):
        choose(Z, codes)
    assert searched == ([2 * n_rows] if n_rows >= 100 else [])
