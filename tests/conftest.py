"""What tests of several files share."""

import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Run:
    """One run of ``likewise compare``: its process, its result as a dictionary, its CPU seconds."""

    process: subprocess.CompletedProcess
    result: dict
    cpu_seconds: float


# All methods on all digits take a quarter of a minute: tests that need them belong to the group
# "digits", which runs in one worker, and share one run.
@pytest.fixture(scope="session")
def digits_run(tmp_path_factory):
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
