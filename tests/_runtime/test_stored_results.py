"""Results in memory up to a limit, in files beyond, and gone with their handles."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import likewise as lw
from likewise._runtime.blocks import stored_results
from likewise._runtime.blocks.engines import LocalEngine
from likewise._runtime.blocks.stored_results import HeldResult, ResultStore, StoredResult, load


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(stored_results, "_MAX_HELD", 200_000)


ROWS = np.random.default_rng(0).normal(size=(100, 150))  # 120 kB


@pytest.mark.usefixtures("little_memory")
def test_what_exceeds_the_limit_is_in_a_file_until_its_handle_is_gone():
    store = ResultStore()
    first, second = store.keep((ROWS, "a")), store.keep([ROWS.T, {"b": np.arange(3)}])
    assert isinstance(first, HeldResult)
    assert isinstance(second, StoredResult)
    path = Path(second.path)
    assert path.stat().st_size == ROWS.nbytes + np.arange(3).nbytes
    again, other = second.load()
    np.testing.assert_array_equal(again, ROWS.T)
    np.testing.assert_array_equal(other["b"], [0, 1, 2])
    again[0, 0] = 5  # a copy
    assert second.load()[0][0, 0] == ROWS[0, 0]
    del second
    assert not path.exists()
    del first
    assert isinstance(store.keep(ROWS), HeldResult)


@pytest.mark.usefixtures("little_memory")
def test_the_folder_goes_with_the_store_and_its_results():
    store = ResultStore()
    kept = [store.keep(ROWS + k) for k in range(3)]
    folder = Path(kept[2].path).parent
    del store
    np.testing.assert_array_equal(kept[2].load(), ROWS + 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del kept
    assert not folder.exists()
    assert caught == []


def test_max_memory_limits_what_is_held():
    with lw.config_context(max_memory="16MiB"):
        store = ResultStore()
    kept = [store.keep(np.zeros(n)) for n in (2**17, 2**17 + 1, 10)]  # of 2 MiB
    assert [type(handle) for handle in kept] == [HeldResult, StoredResult, HeldResult]


@pytest.mark.usefixtures("little_memory")
def test_tasks_get_results_in_place_of_handles():
    engine = LocalEngine()
    handles = [engine.submit(np.multiply, ROWS, k) for k in range(4)]
    total = engine.submit(lambda parts, factor: factor * sum(parts), handles, 2)
    np.testing.assert_array_equal(engine.gather([total])[0], 12 * ROWS)
    assert load([1, "a"]) == [1, "a"]
