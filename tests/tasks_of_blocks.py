"""What both engines must do with tasks of blocks."""

import numpy as np
import pytest


def total(*values):
    return sum(sum(value) if isinstance(value, list) else value for value in values)


def assert_tasks_run(engine):
    """Check results of tasks, handles within lists, no tasks, and columns that do not match."""
    ones = engine.submit_each(np.full, [3, 3], [1.0, 2.0])
    twos = engine.submit_each(np.full, (3, 3), (10.0, 20.0))
    found = engine.gather(engine.submit_each(total, ones, twos, [100, 200]))
    assert [value.tolist() for value in found] == [[111.0] * 3, [222.0] * 3]

    found = engine.gather(engine.submit_each(total, [[*ones, *twos], ones[:1], []], [0, 0, 0]))
    np.testing.assert_array_equal(found[0], [33.0] * 3)
    np.testing.assert_array_equal(found[1], [1.0] * 3)
    assert found[2] == 0

    # Places change nothing but where results are.
    found = engine.submit_each(total, [1, 2, 4, 8], [10, 20, 40, 80], places=[7, 0, 1, 0])
    assert engine.gather(found) == [11, 22, 44, 88]

    assert engine.submit_each(total, []) == []
    assert engine.submit_each(total, [], places=[]) == []
    assert engine.submit_each(total, [], []) == []
    assert engine.gather([]) == []
    for columns in (([1, 2], [3]), ([1], [2, 3]), ([], [1])):
        with pytest.raises(ValueError, match=r"shorter|longer"):
            engine.submit_each(total, *columns)
