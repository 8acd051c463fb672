"""Targets among rows in blocks, against all distances of integer rows, which have many ties."""

import numpy as np
import pytest
from blocked_rows import blocked

from likewise._runtime.blocks import stored_results
from likewise.batch.lmnn import blocked_targets
from likewise.batch.lmnn.blocked_targets import select_targets
from likewise.batch.lmnn.near_rows import near_rows_together
from likewise.objectives.blocked import MappedRows


def targets_by_definition(X, classes, k):
    """Return the targets of every row: nearest of its class, of equal distances the first."""
    targets = []
    for a, row in enumerate(X):
        sqdist = np.square(X - row).sum(axis=1)
        others = np.flatnonzero((classes == classes[a]) & (np.arange(len(X)) != a))
        targets.append(set(others[np.lexsort((others, sqdist[others]))][:k].tolist()))
    return targets


def targets_among_blocks(X, classes, counts, k, arranged=True):
    """Return the same from blocks, by the numbers of the rows in X."""
    rows = blocked(X, classes, counts)
    engine = rows.engine
    if arranged:
        rows, numbers = near_rows_together(rows)
    else:
        ends = np.cumsum(counts)
        numbers = engine.submit_each(np.arange, (ends - counts).tolist(), ends.tolist())
    given = np.concatenate(engine.gather(numbers))
    pairs = select_targets(MappedRows(rows, np.eye(X.shape[1])), numbers, k)
    assert pairs.targets
    targets = [set() for _ in X]
    for start, local in zip(rows.starts, engine.gather(pairs.handles), strict=True):
        np.testing.assert_array_equal(local.X, X[given[local.numbers]])
        assert len(local.impostors.rows) == 0
        assert (np.diff(local.targets.rows) >= 0).all()
        np.testing.assert_array_equal(local.targets.rows, local.targets.groups)
        for row, col in zip(local.targets.rows, local.targets.cols, strict=True):
            found = targets[given[start + row]]
            assert given[local.numbers[col]] not in found
            found.add(given[local.numbers[col]])
    return targets


def grid(n, d, most, seed=0):
    return np.random.default_rng(seed).integers(0, most, (n, d)).astype(np.float64)


CASES = {
    "ties": (grid(240, 2, 6), np.arange(240) % 3),
    "one feature": (grid(240, 1, 20), np.arange(240) % 3),
    "float32": (grid(240, 3, 4).astype(np.float32), np.arange(240) % 3),
    "far from zero": (grid(240, 2, 6) + 2**30, np.arange(240) % 3),
    "all rows equal": (np.ones((240, 2)), np.arange(240) % 2),
    "two rows, many times": (grid(240, 1, 2), np.arange(240) % 2),
    "one class": (grid(240, 2, 6), np.zeros(240, np.int64)),
    "classes of one block each": (grid(240, 2, 6), np.arange(240) // 60),
    "small classes": (grid(240, 2, 6), np.random.default_rng(0).permutation(240) // 3),
    "one small class": (grid(240, 2, 6), (np.arange(240) % 80 == 0).astype(np.int64)),
    "rows alone in their class": (grid(240, 2, 6), np.maximum(np.arange(240) - 200, 0)),
    "many features": (grid(240, 60, 2), np.arange(240) % 3),
}


@pytest.mark.parametrize("k", [1, 3, 100])
@pytest.mark.parametrize(
    "counts", [(240,), (60, 60, 60, 60), (1, 100, 2, 137), (0, 120, 0, 120)], ids=str
)
@pytest.mark.parametrize("case", CASES)
def test_targets_are_the_first_of_the_nearest_of_the_class(case, counts, k):
    X, classes = CASES[case]
    expected = targets_by_definition(X, classes, k)
    assert targets_among_blocks(X, classes, counts, k) == expected
    assert targets_among_blocks(X, classes, counts, k, arranged=False) == expected


@pytest.fixture
def fallbacks(monkeypatch):
    """Which searches of the nearest are between two blocks."""
    called, nearest = [], blocked_targets.nearest_of_class_in_block

    def recorded(*arguments, same_block, **options):
        called.append(not same_block)
        return nearest(*arguments, same_block=same_block, **options)

    monkeypatch.setattr(blocked_targets, "nearest_of_class_in_block", recorded)
    return called


@pytest.mark.parametrize("most", [0, 1])
def test_too_many_candidates_are_reduced_to_the_nearest(monkeypatch, fallbacks, most):
    monkeypatch.setattr(blocked_targets, "_MAX_CANDIDATES", most)
    X, classes = CASES["ties"]
    found = targets_among_blocks(X, classes, (60, 60, 60, 60), 3, arranged=False)
    assert found == targets_by_definition(X, classes, 3)
    assert any(fallbacks)


def test_equal_rows_are_too_many_candidates(fallbacks):
    X = np.random.default_rng(0).permutation(np.repeat(grid(3, 2, 9), 200, axis=0))
    classes = np.zeros(600, np.int64)
    found = targets_among_blocks(X, classes, (300, 300), 3, arranged=False)
    assert found == targets_by_definition(X, classes, 3)
    assert fallbacks == [False, False, True, True]


def test_results_in_files_are_the_same(monkeypatch):
    X, classes = CASES["ties"]
    monkeypatch.setattr(stored_results, "_MAX_HELD", 0)
    monkeypatch.setattr(stored_results, "_MIN_STORED", 0)
    assert targets_among_blocks(X, classes, (60,) * 4, 3) == targets_by_definition(X, classes, 3)
