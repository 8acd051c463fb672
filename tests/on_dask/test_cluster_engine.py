"""Tasks of blocks on a cluster."""

from functools import partial

import numpy as np
import pytest

from likewise._runtime.blocks.engines import ClusterEngine

pytest.importorskip("distributed", reason="needs likewise[dask]")


def total(*values):
    return sum(sum(value) if isinstance(value, list) else value for value in values)


def _with_factor(factor, value):
    return factor * value


def _wrapper(task, value):
    return task(value)


@pytest.fixture
def engine(client):
    return ClusterEngine(client)


def test_a_task_for_each_row_of_the_columns(engine):
    ones = engine.submit_each(np.full, [3, 3], [1.0, 2.0])
    twos = engine.submit_each(np.full, (3, 3), (10.0, 20.0))
    found = engine.gather(engine.submit_each(total, ones, twos, [100, 200]))
    assert [value.tolist() for value in found] == [[111.0] * 3, [222.0] * 3]


def test_handles_within_lists(engine):
    handles = engine.submit_each(np.full, [2, 2, 2], [1.0, 2.0, 4.0])
    found = engine.gather(engine.submit_each(total, [handles, handles[:1], []], [0, 0, 0]))
    np.testing.assert_array_equal(found[0], [7.0, 7.0])
    np.testing.assert_array_equal(found[1], [1.0, 1.0])
    assert found[2] == 0


def test_no_tasks(engine):
    assert engine.submit_each(total, []) == []
    assert engine.submit_each(total, [], []) == []
    assert engine.gather([]) == []


def test_columns_of_different_lengths_raise(engine):
    for columns in (([1, 2], [3]), ([1], [2, 3]), ([], [1])):
        with pytest.raises(ValueError, match=r"shorter|longer"):
            engine.submit_each(total, *columns)


@pytest.mark.parametrize(
    ("task", "name"),
    [
        (total, "total"),
        (_with_factor, "with_factor"),
        (partial(_with_factor, 2), "with_factor"),
        (partial(_wrapper, partial(_with_factor, 2)), "with_factor"),
    ],
)
def test_tasks_have_the_name_of_their_function_on_the_dashboard(engine, task, name):
    columns = ([2, 2], [1, 2]) if task is _with_factor else ([1, 2],)
    handles = engine.submit_each(task, *columns)
    handles.append(engine.submit(task, *(column[0] for column in columns)))
    assert [handle.key.rsplit("-", 1)[0] for handle in handles] == [name] * 3


def test_keys_are_unique(engine):
    # Equal tasks share nothing: one fit must not end with the data of another.
    keys = [handle.key for _ in range(2) for handle in engine.submit_each(total, [1, 1])]
    assert len(set(keys)) == 4
