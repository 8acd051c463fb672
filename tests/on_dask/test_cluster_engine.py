"""Tasks of blocks on a cluster."""

from functools import partial

import numpy as np
import pytest
from tasks_of_blocks import assert_tasks_run, total

import likewise as lw
from likewise._runtime.blocks.engines import ClusterEngine
from likewise._runtime.configuration import max_working_bytes

CommClosedError = pytest.importorskip(
    "distributed.comm", reason="needs likewise[dask]"
).CommClosedError


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


def test_results_are_at_their_places(engine):
    """Left to the scheduler, all would be where their argument is."""
    argument = engine.submit_each(np.zeros, [10])[0]
    places = [0, 1, 0, 3, 2, 1]
    handles = engine.submit_each(np.negative, [argument] * 6, places=places)
    engine.gather(engine.submit_each(len, handles))
    held_by = [set(engine.client.who_has([handle])[handle.key]) for handle in handles]
    assert len(set.union(*held_by)) == 2
    for place, workers in zip(places, held_by, strict=True):
        assert len(workers) == 1
        assert workers == held_by[place % 2]


def test_tasks_for_a_worker_that_was_lost_run_elsewhere(engine, monkeypatch):
    monkeypatch.setattr(engine.client, "nthreads", lambda: {"tcp://127.0.0.1:1": 1})
    assert engine.gather(engine.submit_each(total, [3, 4, 5], places=range(3))) == [3, 4, 5]


def test_without_workers_tasks_wait_for_any(engine, monkeypatch):
    monkeypatch.setattr(engine.client, "nthreads", dict)
    assert engine.gather(engine.submit_each(total, [3, 4, 5], places=range(3))) == [3, 4, 5]


def test_workers_are_not_asked_for_at_every_call(engine, monkeypatch):
    asked, nthreads = [], engine.client.nthreads
    monkeypatch.setattr(engine.client, "nthreads", lambda: asked.append(0) or nthreads())
    for _ in range(3):
        engine.gather(engine.submit_each(total, [1, 2], places=range(2)))
    assert len(asked) == 1


@pytest.mark.parametrize("places", [[0], [0, 1, 2]])
def test_every_task_has_a_place(engine, places):
    with pytest.raises(ValueError, match=r"shorter|longer"):
        engine.submit_each(total, [1, 2], places=places)


def test_a_scheduler_that_does_not_answer_is_a_sentence(engine, monkeypatch):
    def nthreads():
        raise CommClosedError("closed")

    monkeypatch.setattr(engine.client, "nthreads", nthreads)
    with pytest.raises(RuntimeError, match="cluster went away"):
        engine.submit_each(total, [1, 2], places=range(2))


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
