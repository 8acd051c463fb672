"""Tasks of blocks in this process."""

import numpy as np
import pytest

from likewise._runtime.blocks import stored_results
from likewise._runtime.blocks.engines import LocalEngine, shared, tree_sum


def total(*values):
    return sum(sum(value) if isinstance(value, list) else value for value in values)


@pytest.fixture(params=["held", "stored"])
def engine(request, monkeypatch):
    if request.param == "stored":
        monkeypatch.setattr(stored_results, "_MAX_HELD", 0)
        monkeypatch.setattr(stored_results, "_MIN_STORED", 0)
    return LocalEngine(1)


def test_a_task_for_each_row_of_the_columns(engine):
    ones = engine.submit_each(np.full, [3, 3], [1.0, 2.0])
    twos = engine.submit_each(np.full, (3, 3), (10.0, 20.0))
    found = engine.gather(engine.submit_each(total, ones, twos, [100, 200]))
    assert [value.tolist() for value in found] == [[111.0] * 3, [222.0] * 3]


def test_handles_within_lists(engine):
    handles = engine.submit_each(np.full, [2, 2, 2], [1.0, 2.0, 4.0])
    lists = [handles, handles[:1], []]
    found = engine.gather(engine.submit_each(total, lists, [0, 0, 0]))
    np.testing.assert_array_equal(found[0], [7.0, 7.0])
    np.testing.assert_array_equal(found[1], [1.0, 1.0])
    assert found[2] == 0


def test_no_tasks(engine):
    assert engine.submit_each(total, []) == []
    assert engine.submit_each(total, [], []) == []
    assert engine.gather([]) == []


def test_columns_of_different_lengths_raise(engine):
    with pytest.raises(ValueError, match="shorter"):
        engine.submit_each(total, [1, 2], [3])


def test_a_shared_value_and_a_sum_in_a_tree(engine):
    value = shared(engine, np.arange(3.0))
    parts = engine.submit_each(np.add, [value] * 5, list(range(5)))
    np.testing.assert_array_equal(tree_sum(engine, parts), 5 * np.arange(3.0) + 10)
