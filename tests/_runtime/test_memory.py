"""Free memory, read from tables of the system, and the sentence when it is too little."""

import inspect
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import likewise as lw
from likewise._runtime import memory
from likewise._runtime.memory import UNCHECKED_BYTES, free_memory, require_memory


def make_root(tmp_path, **tables):
    for name, text in tables.items():
        path = tmp_path / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


MEMINFO = "MemTotal:  9000 kB\nMemFree:  100 kB\nMemAvailable:  4000 kB\n"


def test_available_memory(tmp_path):
    assert free_memory(make_root(tmp_path, proc__meminfo=MEMINFO)) == 4000 * 1024


def test_unknown_memory(tmp_path, monkeypatch):
    assert free_memory(tmp_path) is None
    assert free_memory(make_root(tmp_path, proc__meminfo="MemTotal: 9000 kB\n")) is None
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    require_memory(1e30, "Anything")


def test_a_control_group_may_allow_less(tmp_path):
    root = make_root(
        tmp_path,
        proc__meminfo=MEMINFO,
        sys__fs__cgroup__memory_dot_max="1000000\n",
        sys__fs__cgroup__memory_dot_current="400000\n",
        sys__fs__cgroup__memory_dot_stat="anon 1\ninactive_file 50000\n",
    )
    assert free_memory(root) == 650000
    make_root(tmp_path, sys__fs__cgroup__memory_dot_max="max\n")
    assert free_memory(root) == 4000 * 1024
    group = tmp_path / "sys/fs/cgroup/memory"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text("500\n")
    (group / "memory.usage_in_bytes").write_text("900\n")
    assert free_memory(root) == 0


def test_too_much_memory_is_a_sentence(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: int(3.1 * 2**30))
    require_memory(3 * 2**30, "LMNN")
    with pytest.raises(MemoryError) as caught:
        require_memory(12.3 * 2**30, "LMNN", "use fewer rows")
    assert str(caught.value) == ("LMNN needs about 12.3 GiB, but 3.1 GiB are free; use fewer rows.")
    monkeypatch.setattr(memory, "free_memory", lambda: 2**20)
    with pytest.raises(MemoryError, match=r"needs about 5\.0 MiB, but 1\.0 MiB are free\.$"):
        require_memory(5 * 2**20, "LMNN")


def test_two_sizes_are_told_apart(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 400_000_000)
    with pytest.raises(MemoryError, match=r"needs about 0\.39 GiB, but 0\.37 GiB are free"):
        require_memory(420e6, "LMNN")
    monkeypatch.setattr(memory, "free_memory", lambda: 2**30 - 1)
    with pytest.raises(MemoryError, match=r"1\.000000000 GiB, but 0\.999999999 GiB are free"):
        require_memory(2**30, "LMNN")


@pytest.fixture
def tables_read(monkeypatch):
    """Return a list that receives the path of every system table that is read."""
    paths = []
    read_text = Path.read_text

    def recorded(path, *args, **kwargs):
        if path.is_relative_to("/proc") or path.is_relative_to("/sys"):
            paths.append(path)
        return read_text(path, *args, **kwargs)

    monkeypatch.setattr(Path, "read_text", recorded)
    return paths


def test_up_to_4_mib_are_granted_without_reading_system_tables(tables_read):
    require_memory(UNCHECKED_BYTES, "LMNN")
    assert not tables_read
    require_memory(UNCHECKED_BYTES + 1, "LMNN")
    assert Path("/proc/meminfo") in tables_read


CLASSES = [value for name in lw.__all__ if inspect.isclass(value := getattr(lw, name))]
LEARNERS = [value for value in CLASSES if issubclass(value, BaseEstimator)]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_small_fit_reads_no_system_tables(learner, tables_read):
    y = np.repeat([0, 1], 30)
    X = np.random.default_rng(0).normal(y[:, None], size=(60, 3))
    learner().fit(X, y)
    assert not tables_read
