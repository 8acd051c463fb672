"""Tasks of blocks on a cluster."""

from functools import partial

import pytest
from tasks_of_blocks import assert_tasks_run, total

from likewise._runtime.blocks.engines import ClusterEngine

pytest.importorskip("distributed", reason="needs likewise[dask]")


def _with_factor(factor, value):
    return factor * value


def _wrapper(task, value):
    return task(value)


@pytest.fixture
def engine(client):
    return ClusterEngine(client)


def test_tasks_run(engine):
    assert_tasks_run(engine)


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


def test_futures_are_released_after_the_next_tasks_were_sent(engine):
    # Released before, the next tasks would wait 10 ms for the message that says so.
    keys = []
    for _ in range(2):
        handles = engine.submit_each(total, [1, 1])
        keys.append({handle.key for handle in handles})
        engine.gather(handles)
    del handles
    assert {str(key) for key in engine.client.refcount} >= keys[1]
    assert not {str(key) for key in engine.client.refcount} & keys[0]
