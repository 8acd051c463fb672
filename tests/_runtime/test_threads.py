"""Blocks of rows on threads: order, errors, nesting, forks."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from test_blas_limit import blas_threads

from likewise._runtime import threads
from likewise._runtime.threads import count_threads, run_blocks


def test_count_threads():
    assert count_threads(None) == count_threads(-1) >= 1
    assert count_threads(7) == count_threads(np.int64(7)) == 7
    if hasattr(os, "sched_getaffinity"):
        assert count_threads(None) == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, "two", True])
def test_bad_n_jobs(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be a positive integer"):
        count_threads(n_jobs)


@pytest.mark.parametrize("n_jobs", [1, 2, 5, None])
def test_results_come_in_block_order(n_jobs):
    def block(start, stop):
        time.sleep(0.002 if start == 0 else 0)  # the first to begin is the last to end
        return start, stop

    expected = [(0, 3), (3, 6), (6, 9), (9, 10)]
    assert run_blocks(block, 10, 3, n_jobs) == expected


def test_no_rows_no_blocks():
    assert run_blocks(lambda start, stop: 1 / 0, 0, 3, 2) == []


def test_a_call_from_inside_a_block_runs_on_its_own_thread():
    """Also where the outer call has no helpers: its user may have asked for one thread."""
    seen = []

    def inner(start, stop):
        time.sleep(0.001)
        seen.append(threading.get_ident())

    run_blocks(lambda start, stop: run_blocks(inner, 20, 1, 3), 2, 1, 1)
    assert seen == 40 * [threading.get_ident()]


def test_blocks_run_at_the_same_time():
    meeting = threading.Barrier(3, timeout=20)
    run_blocks(lambda start, stop: meeting.wait(), 3, 1, 3)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_an_error_stops_the_rest_and_is_raised(error, n_jobs):
    begun = []

    def block(start, stop):
        begun.append(start)
        if start == 2:
            raise error
        time.sleep(0.001)

    with pytest.raises(error):
        run_blocks(block, 1000, 1, n_jobs)
    assert len(begun) < 100
    assert run_blocks(lambda start, stop: start, 3, 1, n_jobs) == [0, 1, 2]


def test_nested_blocks_stay_on_their_thread():
    def outer(start, stop):
        here = threading.get_ident()
        return run_blocks(lambda a, b: threading.get_ident() == here, 4, 1, 4)

    assert run_blocks(outer, 4, 1, 4) == [[True] * 4] * 4


def test_calls_from_many_threads_at_once():
    results = {}

    def call(name):
        results[name] = run_blocks(lambda start, stop: (name, start), 50, 1, 3)

    callers = [threading.Thread(target=call, args=(name,)) for name in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=30)
    assert results == {name: [(name, i) for i in range(50)] for name in range(8)}


def test_blas_is_held_to_one_thread_and_given_back():
    before = blas_threads()
    assert before
    inside = run_blocks(lambda start, stop: blas_threads(), 2, 1, 2)
    assert all(count == 1 for counts in inside for count in counts)
    assert blas_threads() == before
    with pytest.raises(ZeroDivisionError):
        run_blocks(lambda start, stop: 1 / 0, 2, 1, 2)
    assert blas_threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_has_a_pool_of_its_own():
    run_blocks(lambda start, stop: None, 4, 1, 4)
    child = os.fork()
    if child == 0:
        works = run_blocks(lambda start, stop: start, 4, 1, 4) == [0, 1, 2, 3]
        os._exit(0 if works else 1)
    deadline = time.monotonic() + 20
    while (status := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if status == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert status == (child, 0)


def test_without_threads_the_caller_works_alone(monkeypatch):
    def no_thread(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "_workers", [])
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    assert run_blocks(lambda start, stop: start, 3, 1, 3) == [0, 1, 2]


def test_an_interrupt_while_a_helper_starts_does_not_keep_the_process():
    program = """
import threading
from likewise._runtime.threads import run_blocks

start = threading.Thread.start

def interrupted(thread):
    start(thread)
    raise KeyboardInterrupt

threading.Thread.start = interrupted
try:
    run_blocks(lambda start, stop: print("a block ran"), 4, 1, 4)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


def test_all_cores_are_no_more_than_a_worker_of_joblib_is_told(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert count_threads() == 1
    assert count_threads(3) == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "not a number")
    assert count_threads() >= 1
