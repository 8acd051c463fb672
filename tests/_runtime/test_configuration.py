"""The configuration: set, restored, its own in every thread, and its limits obeyed."""

import threading

import numpy as np
import pytest

import likewise as lw
from likewise._runtime import memory
from likewise._runtime.configuration import configured_device, max_working_bytes

DEFAULTS = {"device": "auto", "max_memory": "auto"}


@pytest.fixture(autouse=True)
def _defaults():
    yield
    assert lw.get_config() == DEFAULTS
    assert max_working_bytes() is None


def test_the_context_restores_what_was_before():
    with lw.config_context(device="cuda", max_memory="4GB"):
        assert lw.get_config() == {"device": "cuda", "max_memory": "4GB"}
        with lw.config_context(device="cpu"):
            assert lw.get_config() == {"device": "cpu", "max_memory": "4GB"}
            assert configured_device() == "cpu"
        assert configured_device() == "cuda"
    assert configured_device() == "auto"


def test_the_context_restores_after_an_error():
    with pytest.raises(KeyError), lw.config_context(max_memory="1GB"):
        raise KeyError


def test_set_config_lasts_and_none_changes_nothing():
    lw.set_config(device="cuda:1", max_memory=2**30)
    lw.set_config(device=None)
    assert lw.get_config() == {"device": "cuda:1", "max_memory": 2**30}
    lw.set_config(**DEFAULTS)


def test_every_thread_begins_with_the_defaults_and_has_its_own():
    seen = []

    def change():
        seen.append(lw.get_config())
        lw.set_config(max_memory="1GB")
        seen.append(lw.get_config()["max_memory"])

    with lw.config_context(device="cuda"):
        thread = threading.Thread(target=change)
        thread.start()
        thread.join()
        assert lw.get_config() == {"device": "cuda", "max_memory": "auto"}
    assert seen == [DEFAULTS, "1GB"]


@pytest.mark.parametrize(
    ("given", "n_bytes"),
    [
        ("4GB", 4 * 10**9),
        ("500MiB", 500 * 2**20),
        (" 1.5 gib ", 3 * 2**29),
        ("20000kB", 2 * 10**7),
        ("1TB", 10**12),
        ("20000000", 2 * 10**7),
        ("20000000B", 2 * 10**7),
        (2**24, 2**24),
        (1e9, 10**9),
        (np.int64(2**30), 2**30),
        (np.uint32(2**30), 2**30),
        (np.float32(2**30), 2**30),
    ],
)
def test_sizes_are_bytes_or_text(given, n_bytes):
    with lw.config_context(max_memory=given):
        assert max_working_bytes() == n_bytes
        shown = lw.get_config()["max_memory"]
    assert shown == given
    assert type(shown) is (str if isinstance(given, str) else int)


@pytest.mark.parametrize(
    "given",
    [
        *("4 apples", "GB", "-1GB", "", "1e9", True, np.True_, ["4GB"], np.array([2**30]), 1j),
        *(4.5, 1e9 + 0.5, -(2**30), -1e9, np.int64(-1), np.nan, np.inf, np.float32("nan")),
    ],
    ids=repr,
)
def test_other_sizes_are_refused(given):
    with pytest.raises(
        ValueError, match=r"max_memory=.* is not allowed: it must be 'auto', a whol"
    ):
        lw.set_config(max_memory=given)


@pytest.mark.parametrize("given", ["1MB", 0, 0.0, np.int64(2**20)])
def test_too_little_memory_is_refused(given):
    with pytest.raises(ValueError, match=r"max_memory=.* is too little: at least 16 MiB are"):
        lw.set_config(max_memory=given)


@pytest.mark.parametrize("given", ["gpu", "cuda:", "cuda:x", "CUDA", 0, "cuda:0 "])
def test_other_devices_are_refused(given):
    with pytest.raises(
        ValueError, match=r"device=.* is not allowed: it must be 'auto', 'cpu', 'cu"
    ):
        lw.set_config(device=given, max_memory="1GB")


def test_max_memory_limits_what_may_be_asked_for(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 2**30)
    memory.require_memory(2**29, "This")
    with lw.config_context(max_memory="100MiB"):
        with pytest.raises(
            MemoryError, match=r"This needs about 0.5 GiB, but 100.0 MiB are allowed by max_memory"
        ):
            memory.require_memory(2**29, "This", "take less")
        memory.require_memory(2**26, "This")
    with (
        lw.config_context(max_memory="8GiB"),
        pytest.raises(MemoryError, match=r"but 1.0 GiB are free"),
    ):
        memory.require_memory(2**32, "This")


def test_a_search_stops_at_max_memory():
    rows = np.zeros((2000, 1))
    labels = np.arange(2000) % 2  # 2 million pairs, 82 MB
    with (
        lw.config_context(max_memory="20MB"),
        pytest.raises(MemoryError, match=r"more than 487804 pairs, .* or in max_memory"),
    ):
        lw.neighbors.within_radius_of_other_class(rows, labels, 1.0)
