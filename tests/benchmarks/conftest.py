import sys
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
