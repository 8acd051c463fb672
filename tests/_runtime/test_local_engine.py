"""Tasks of blocks in this process."""

import numpy as np
import pytest
from tasks_of_blocks import assert_tasks_run

from likewise._runtime.blocks import stored_results
from likewise._runtime.blocks.engines import LocalEngine, shared, tree_sum


@pytest.fixture(params=["held", "stored"])
def engine(request, monkeypatch):
    if request.param == "stored":
        monkeypatch.setattr(stored_results, "_MAX_HELD", 0)
        monkeypatch.setattr(stored_results, "_MIN_STORED", 0)
    return LocalEngine(1)


def test_tasks_run(engine):
    assert_tasks_run(engine)


def test_a_shared_value_and_a_sum_in_a_tree(engine):
    value = shared(engine, np.arange(3.0))
    parts = engine.submit_each(np.add, [value] * 5, list(range(5)))
    np.testing.assert_array_equal(tree_sum(engine, parts), 5 * np.arange(3.0) + 10)
