"""What every test and doctest runs in, and what tests of several files share."""

import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import pytest

# Doctests import the modules, which need river, torch or triton.
collect_ignore = [] if find_spec("river") else ["src/likewise/online/_river_steps.py"]
collect_ignore_glob = [] if find_spec("torch") else ["src/likewise/**/*torch_*.py"]
if not (find_spec("torch") and find_spec("triton")):
    collect_ignore_glob.append("src/likewise/**/*triton_*.py")
    collect_ignore.append("tests/tensors/compile_kernels.py")


@pytest.fixture(autouse=True)
def _doctests_write_nowhere_else(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Give each doctest an empty folder to work in, so that its files do not stay behind."""
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path_factory.mktemp("doctest"))


@dataclass(frozen=True)
class Run:
    """One run of ``likewise compare``: its process, its result as a dictionary, its CPU seconds."""

    process: subprocess.CompletedProcess[str]
    result: dict[str, Any]
    cpu_seconds: float


@pytest.fixture(scope="session")
def digits_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Compare all methods on all digits, which takes half a minute, once for all tests.

    Those that use it belong to the group "digits", which runs in one worker.
    """
    path = tmp_path_factory.mktemp("digits") / "result.json"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.run(
        [sys.executable, "-m", "likewise", "compare", "--json", path],
        capture_output=True,
        text=True,
        timeout=600,
        env={name: value for name, value in os.environ.items() if name != "COLUMNS"},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode == 0, process.stderr
    cpu_seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Run(process, json.loads(path.read_text()), cpu_seconds)
