"""Rows that are sorted into blocks by a key, against a sort of all of them."""

import numpy as np
import pytest
from blocked_rows import blocked, contents

from likewise._runtime.blocks import rows as blocks_of_rows
from likewise._runtime.blocks import stored_results


def assert_sorted_by_key(X, groups, keys_of, n_keys, counts):
    """Compare with a stable sort of all rows, which is then cut into blocks."""
    rows, numbers = blocked(X, groups, counts).sorted_by(lambda X, groups: keys_of(X), n_keys)
    assert rows.counts.tolist() == list(counts)
    order = np.argsort(keys_of(X), kind="stable")
    ends = np.cumsum(counts)
    for (X_of, groups_of, numbers_of), start, end in zip(
        contents(rows, numbers), ends - counts, ends, strict=True
    ):
        expected = np.sort(order[start:end])
        np.testing.assert_array_equal(numbers_of, expected)
        np.testing.assert_array_equal(X_of, X[expected])
        np.testing.assert_array_equal(groups_of, groups[expected])
        assert X_of.dtype == X.dtype
        assert X_of.shape[1:] == X.shape[1:]


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("n_keys", [1, 2, 7, 500])
@pytest.mark.parametrize(
    "counts",
    [(40,), (10, 20, 10), (0, 20, 0, 20, 0), (0, 0, 40), (1,) * 40, (39, 1)],
    ids=str,
)
def test_rows_are_in_the_blocks_of_a_stable_sort(monkeypatch, held, n_keys, counts):
    if not held:
        monkeypatch.setattr(stored_results, "_MAX_HELD", 0)
        monkeypatch.setattr(stored_results, "_MIN_STORED", 0)
    random = np.random.default_rng(n_keys)
    X = random.integers(0, n_keys, (40, 3)).astype(np.float32)
    groups = random.integers(0, 3, 40)
    assert_sorted_by_key(X, groups, lambda X: X[:, 0].astype(np.int64), n_keys, counts)


def test_blocks_without_any_row_stay_so():
    assert_sorted_by_key(
        np.empty((0, 2)), np.empty(0, np.int64), lambda X: np.zeros(len(X), np.int64), 3, (0, 0)
    )


def test_only_the_order_of_keys_within_a_block_is_lost():
    X = np.array([[2.0], [0.0], [1.0], [0.0], [2.0], [1.0]])
    rows, numbers = blocked(X, np.arange(6), [3, 3]).sorted_by(
        lambda X, groups: X[:, 0].astype(np.int64), 3
    )
    first, second = contents(rows, numbers)
    assert first[2].tolist() == [1, 2, 3]
    assert second[2].tolist() == [0, 4, 5]
    assert first[1].tolist() == [1, 2, 3]
    assert second[0].ravel().tolist() == [2, 2, 1]


def test_keys_that_differ_when_computed_again_end_the_fit(monkeypatch):
    # Other processors may round otherwise: rows would be lost, or be in two blocks.
    piece, calls = blocks_of_rows._piece, []

    def other_keys_for_the_second_block(start, stop, block, keys, *places):
        calls.append(start)
        changed = np.roll(keys, 1) if start else keys
        return piece(start, stop, block, changed, *places)

    monkeypatch.setattr(blocks_of_rows, "_piece", other_keys_for_the_second_block)
    X = np.array([[2.0], [0.0], [1.0], [0.0], [2.0], [1.0], [0.0], [0.0]])
    rows = blocked(X, np.arange(8), [3, 5])
    with pytest.raises(RuntimeError, match="Rows were lost or doubled between blocks"):
        rows.sorted_by(lambda X, groups: X[:, 0].astype(np.int64), 3)
    assert len(set(calls)) == 2
