import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

# `benchmarks/` is a plain folder of the repository: found from its root, never installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.base import Rival

RIVALS = """
import os, sys, time
import numpy as np

def good(threads):
    return lambda data: {"total": data["X"].sum(), "threads": int(os.environ["OMP_NUM_THREADS"])}

def hungry(threads, megabytes):
    return lambda data: {"total": np.ones(megabytes * 125_000).sum()}

def sleeping(threads, seconds=60, first=None, every_tenth=None):
    calls = []
    def work(data):
        calls.append(None)
        if len(calls) == 1 and first is not None:
            time.sleep(first)
        elif len(calls) % 10 == 0 and every_tenth is not None:
            time.sleep(every_tenth)
        else:
            time.sleep(seconds)
        return {"total": data["X"].sum()}
    return work

def wrong(threads):
    return lambda data: {"total": data["X"].sum() + 1}

def raising(threads):
    def work(data):
        raise TypeError("got an unexpected keyword argument")
    return work

def crashing(threads):
    return lambda data: os.abort()

def missing(threads):
    import a_module_that_nobody_has
"""


@pytest.fixture
def rival(tmp_path):
    (tmp_path / "made_up.py").write_text(RIVALS)
    return lambda function, **options: Rival(f"{tmp_path / 'made_up'}:{function}", options=options)


@pytest.fixture
def arrays(tmp_path):
    path = tmp_path / "arrays.npz"
    np.savez(path, X=np.arange(12.0).reshape(4, 3))
    return path


class WarmProcesses:
    """Stands in for the module subprocess: rivals of one environment share one process.

    At n = 50 most of a run is the start of Python and the import of scikit-learn.
    """

    STDOUT, TimeoutExpired = subprocess.STDOUT, subprocess.TimeoutExpired

    def __init__(self):
        self.processes = {}

    def run(self, command, *, stdout, stderr, env, timeout, check):
        python, isolated, worker, job = map(str, command)
        conditions = python, env["OMP_NUM_THREADS"]
        if conditions not in self.processes:
            self.processes[conditions] = subprocess.Popen(
                [python, isolated, Path(__file__).with_name("warm_worker.py"), worker],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=env,
                text=True,
            )
        process = self.processes[conditions]
        limit = threading.Timer(timeout, process.kill)
        limit.start()
        process.stdin.write(f"{job}\t{stdout.name}\n")
        process.stdin.flush()
        reply = process.stdout.readline()
        limit.cancel()
        if not reply:
            del self.processes[conditions]
        return subprocess.CompletedProcess(command, int(reply) if reply else process.wait())

    def close(self):
        for process in self.processes.values():
            process.communicate()


@pytest.fixture(scope="session")
def warm_processes():
    processes = WarmProcesses()
    yield processes
    processes.close()


@pytest.fixture
def warm(warm_processes, monkeypatch):
    """Run rivals in warm processes; `test_rival_process` tests that each gets its own otherwise."""
    monkeypatch.setattr("benchmarks.process.subprocess", warm_processes)
