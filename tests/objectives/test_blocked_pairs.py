"""Pairs of the anchors of a block, against a construction pair by pair."""

import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from likewise.objectives.blocked.pairs import ImpostorsInBlock, LocalPairs

COUNTS = (5, 0, 4, 7)
STARTS = np.cumsum(COUNTS) - COUNTS
X = np.random.default_rng(0).normal(size=(sum(COUNTS), 3)).astype(np.float32)


def rows_of(block):
    return slice(STARTS[block], STARTS[block] + COUNTS[block])


def random_pairs(block, share, seed):
    """Return pairs of a local anchor and another row of all rows, sorted."""
    drawn = np.random.default_rng(seed).random((COUNTS[block], len(X))) < share
    drawn[np.arange(COUNTS[block]), STARTS[block] + np.arange(COUNTS[block])] = False
    return np.nonzero(drawn)


def with_targets(block, share=0.2, seed=1):
    """Return the local pairs of random targets, and these as pairs of all rows."""
    rows, numbers = random_pairs(block, share, seed)
    halo = []
    for other in range(len(COUNTS)):
        if other != block:
            of_other = np.unique(numbers[block_of(numbers) == other])
            halo.append((X[of_other], of_other))
    local = LocalPairs.of_targets(X[rows_of(block)], int(STARTS[block]), rows, numbers, halo)
    return local, list(zip(rows.tolist(), numbers.tolist(), strict=True))


def block_of(numbers):
    return np.searchsorted(np.cumsum(COUNTS), numbers, side="right")


def impostors_in(block, rows, numbers, sqdist):
    """Return impostors by the block that they are in, as searches find them."""
    found = []
    for other in range(len(COUNTS)):
        there = block_of(numbers) == other
        halo = np.unique(numbers[there])
        if other == block:
            part = ImpostorsInBlock(
                rows[there], numbers[there] - STARTS[block], sqdist[there], None, None
            )
        else:
            cols = np.searchsorted(halo, numbers[there])
            part = ImpostorsInBlock(rows[there], cols, sqdist[there], X[halo], halo)
        found.append(part)
    return found


def as_pairs(local, pairs):
    """Return grouped pairs as pairs of an anchor and a number among all rows."""
    np.testing.assert_array_equal(pairs.rows, pairs.groups)
    assert len(pairs.indptr) == local.n_anchors + 1
    return list(zip(pairs.rows.tolist(), local.numbers[pairs.cols].tolist(), strict=True))


def assert_rows(local, block, others):
    """Check that the rows are those of the block, and each of the others once, in order."""
    own = np.arange(len(X))[rows_of(block)].tolist()
    assert local.numbers.tolist() == own + sorted(set(others) - set(own))
    np.testing.assert_array_equal(local.X, X[local.numbers])
    assert local.X.dtype == X.dtype


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("block", range(len(COUNTS)))
def test_targets(block, share):
    local, expected = with_targets(block, share)
    assert as_pairs(local, local.targets) == expected
    assert as_pairs(local, local.impostors) == []
    assert_rows(local, block, [number for _, number in expected])


def test_targets_of_the_only_block():
    local = LocalPairs.of_targets(X[:4], 0, np.array([0, 2]), np.array([3, 1]), [])
    assert as_pairs(local, local.targets) == [(0, 3), (2, 1)]
    np.testing.assert_array_equal(local.X, X[:4])


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("target_share", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("block", range(len(COUNTS)))
def test_impostors_beside_targets(block, target_share, share):
    local, targets = with_targets(block, target_share)
    rows, numbers = random_pairs(block, share, seed=2)
    sqdist = np.arange(float(len(rows)))
    before = local.numbers.copy(), local.targets.cols.copy(), local.X.copy()
    found, found_sqdist = local.with_impostors(impostors_in(block, rows, numbers, sqdist))
    # Blocks are in the order of rows, so that the pairs of an anchor are sorted, as they were.
    impostors = list(zip(rows.tolist(), numbers.tolist(), strict=True))
    assert as_pairs(found, found.impostors) == impostors
    np.testing.assert_array_equal(found_sqdist, sqdist)
    assert as_pairs(found, found.targets) == targets
    assert_rows(found, block, [number for _, number in targets + impostors])
    for now, then in zip((local.numbers, local.targets.cols, local.X), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_impostors_replace_those_before():
    local, targets = with_targets(2)
    for share in (0.8, 0.1):
        rows, numbers = random_pairs(2, share, seed=3)
        parts = impostors_in(2, rows, numbers, np.zeros(len(rows)))
        local, _ = local.with_impostors(parts)
    assert as_pairs(local, local.impostors) == list(
        zip(rows.tolist(), numbers.tolist(), strict=True)
    )
    assert_rows(local, 2, [*numbers, *(number for _, number in targets)])


def test_a_thread_has_one_memory_for_all_pairs_that_lasts_as_long_as_they():
    first, second = with_targets(0)[0], with_targets(2)[0]
    memory = first.memory_of_thread()
    assert second.memory_of_thread() is memory
    with ThreadPoolExecutor(1) as other:
        assert other.submit(first.memory_of_thread).result() is not memory
    held = weakref.ref(memory)
    del memory, first
    assert held() is second.memory_of_thread()
    del second
    assert held() is None


def test_pairs_travel_without_memory():
    local, _ = with_targets(3)
    size = len(pickle.dumps(local))
    local.memory_of_thread().array("much", 10**5)
    moved = pickle.loads(pickle.dumps(local))
    assert len(pickle.dumps(local)) == size
    for name in ("X", "numbers"):
        np.testing.assert_array_equal(getattr(moved, name), getattr(local, name))
    assert as_pairs(moved, moved.targets) == as_pairs(local, local.targets)
    assert as_pairs(moved, moved.impostors) == as_pairs(local, local.impostors)


def test_the_size_is_that_of_the_arrays():
    local, _ = with_targets(3)
    pairs = local.targets
    incidence = len(pairs) * 2 * 2 * 4 + (len(local.X) + 1) * 8  # of a pair twice: pair, other row
    arrays = (local.X, local.numbers, pairs.rows, pairs.cols, pairs.indptr)
    expected = sum(array.nbytes for array in arrays) + incidence
    np.testing.assert_allclose(local.__sizeof__(), expected, rtol=0.1)
