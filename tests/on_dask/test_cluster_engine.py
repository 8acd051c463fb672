"""Tasks of blocks on a cluster."""

from functools import partial

import pytest
from tasks_of_blocks import assert_tasks_run, total

import likewise as lw
from likewise._runtime.blocks.engines import ClusterEngine
from likewise._runtime.configuration import max_working_bytes

pytest.importorskip("distributed", reason="needs likewise[dask]")


def _with_factor(factor, value):
    return factor * value


def _wrapper(task, value):
    return task(value)


def _max_memory(_):
    return max_working_bytes()


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


def test_tasks_have_the_max_memory_of_the_client(engine):
    found = []
    for max_memory in ("auto", "64MiB", "auto"):
        with lw.config_context(max_memory=max_memory):
            found += engine.gather(
                [engine.submit(_max_memory, 0), *engine.submit_each(_max_memory, [0])]
            )
    assert found == [None, None, 2**26, 2**26, None, None]


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
