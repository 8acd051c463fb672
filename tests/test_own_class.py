"""The nearest rows of the own class by a radius search: those of brute force, bit by bit."""

import numpy as np
import pytest

from likewise import _loops, constraints
from likewise._loops.distances import frames, types
from likewise.constraints import _from_labels
from likewise.neighbors import _own_class
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
    elif kind == "large":
        Z *= 1e15
    return np.ascontiguousarray(Z, dtype=dtype), rng.integers(0, 3, 500)


KINDS = ["normal", "grid", "equal rows", "outlier", "far apart", "far from 0", "tiny", "large"]


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


def test_target_neighbours_of_large_and_small_classes(monkeypatch):
    Z, _ = rows_of("grid", np.float64)
    codes = np.repeat([0, 1, 2, 3], [300, 150, 49, 1])
    with pytest.warns(UserWarning, match="class"):
        expected = constraints.target_neighbors(Z, codes, 3)
    searched = []

    def counted(*args, **options):
        searched.append(len(args[0]))
        return nearest_in_large_classes(*args, **options)

    monkeypatch.setattr(_from_labels, "LARGE_CLASS", 100)
    monkeypatch.setattr(_from_labels, "nearest_in_large_classes", counted)
    with pytest.warns(UserWarning, match="class"):
        found = constraints.target_neighbors(Z, codes, 3)
    assert searched == [450]
    np.testing.assert_array_equal(found, expected)
    rows, index = np.arange(450), brute_force(Z, codes, 3)[1][:450]
    np.testing.assert_array_equal(
        found[: 3 * 450], np.column_stack([rows.repeat(3), index.ravel()])
    )
