"""Free memory, read from tables of the system, and the sentence when it is too little."""

import pytest

from likewise import _memory
from likewise._memory import free_memory, require_memory


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
    monkeypatch.setattr(_memory, "free_memory", lambda: None)
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
    monkeypatch.setattr(_memory, "free_memory", lambda: int(3.1 * 2**30))
    require_memory(3 * 2**30, "LMNN")
    with pytest.raises(MemoryError) as caught:
        require_memory(12.3 * 2**30, "LMNN", "use fewer rows")
    assert str(caught.value) == ("LMNN needs about 12.3 GiB, but 3.1 GiB are free; use fewer rows.")
    monkeypatch.setattr(_memory, "free_memory", lambda: 2**20)
    with pytest.raises(MemoryError, match=r"needs about 5\.0 MiB, but 1\.0 MiB are free\.$"):
        require_memory(5 * 2**20, "LMNN")
    require_memory(2 * 2**20, "LMNN")  # so little is not asked for
