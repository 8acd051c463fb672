"""BLAS has one thread inside `single_threaded_blas`, and afterwards the limit it had before."""

import contextlib
import dis
import gc
import os
import random
import sys
import threading
import types

import pytest
import scipy.linalg  # noqa: F401 - brings its own BLAS
from threadpoolctl import threadpool_info, threadpool_limits

from likewise._runtime import threads
from likewise._runtime.threads import run_blocks, single_threaded_blas

LIMIT = 3  # before a test


def blas_threads():
    """Return the limits, without those of libraries that other tests load later."""
    known = {library.filepath for library in threads._libraries(True)[0]}
    return {lib["num_threads"] for lib in threadpool_info() if lib["filepath"] in known}


def set_blas_threads(n_threads):
    for library in threads._libraries(True)[0]:
        threads._set_blas_threads(library, n_threads)


@pytest.fixture(autouse=True)
def several_threads():
    before = {library: library.get_num_threads() for library in threads._libraries(True)[0]}
    set_blas_threads(LIMIT)
    if blas_threads() != {LIMIT}:
        pytest.skip("this BLAS has no limit of the process")
    yield
    for library, n_threads in before.items():
        threads._set_blas_threads(library, n_threads)


class Actor:
    """A thread that enters and leaves context managers when it is asked to."""

    def __init__(self):
        self.entered = []
        self._asked, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while True:
            self._asked.acquire()
            if self._action is None:
                return
            self._action()
            self._done.release()

    def do(self, action):
        self._action = action
        self._asked.release()
        assert self._done.acquire(timeout=20)

    def enter(self, make):
        def action():
            self.entered.append(make())
            self.entered[-1].__enter__()

        self.do(action)

    def leave(self):
        self.do(lambda: self.entered.pop().__exit__(None, None, None))

    def end(self):
        self._action = None
        self._asked.release()
        self._thread.join(timeout=20)


@pytest.fixture
def actors():
    made = [Actor() for _ in range(3)]
    yield made
    for actor in made:
        actor.end()


def test_libraries_without_threads_are_left_out(monkeypatch):
    """One that cannot be limited must not hide that the others are."""
    shared, per_thread = threads._libraries(True)
    monkeypatch.setattr(shared[0], "threading_layer", "disabled")
    controller = types.SimpleNamespace(lib_controllers=shared + per_thread)
    controller.select = lambda user_api: controller
    monkeypatch.setattr("threadpoolctl.ThreadpoolController", lambda: controller)
    assert threads._libraries.__wrapped__(True) == (shared[1:], per_thread)


def test_the_first_to_enter_may_leave_first(actors):
    """The thread that leaves last is not the one that threadpoolctl lets set limits."""
    actors[0].enter(single_threaded_blas)
    with single_threaded_blas():
        assert blas_threads() == {1}
        actors[0].leave()
        assert blas_threads() == {1}
    assert blas_threads() == {LIMIT}


def test_a_limit_of_the_caller_does_not_switch_ours_off(actors):
    with threadpool_limits(2, user_api="blas"):
        actors[0].enter(single_threaded_blas)
        assert blas_threads() == {1}
        actors[0].leave()
        assert blas_threads() == {2}
        inside = run_blocks(lambda start, stop: blas_threads(), 4, 1, 2)
        assert inside == 4 * [{1}]
        assert blas_threads() == {2}
    assert blas_threads() == {LIMIT}


def test_a_limit_that_ends_while_ours_is_held(actors):
    actors[0].enter(lambda: threadpool_limits(2, user_api="blas"))
    actors[1].enter(single_threaded_blas)
    actors[0].leave()
    actors[1].leave()
    assert blas_threads() == {LIMIT}


def test_a_limit_that_is_set_while_ours_is_held_stays(actors):
    actors[0].enter(single_threaded_blas)
    set_blas_threads(5)
    actors[1].enter(single_threaded_blas)
    assert blas_threads() == {1}
    actors[0].leave()
    assert blas_threads() == {1}
    actors[1].leave()
    assert blas_threads() == {5}


@pytest.mark.parametrize("seed", range(30))
def test_any_interleaving_restores_the_limit(actors, seed):
    """Threads enter and leave in random order, inside and outside limits of the caller."""
    choose = random.Random(seed)
    with threadpool_limits(2, user_api="blas") if seed % 2 else single_threaded_blas():
        outer = blas_threads()
        for _ in range(40):
            actor = choose.choice(actors)
            if len(actor.entered) < 3 and choose.random() < 0.5:
                actor.enter(single_threaded_blas)
            elif actor.entered:
                actor.leave()
            held = any(other.entered for other in actors)
            assert blas_threads() == ({1} if held else outer)
        for actor in actors:
            while actor.entered:
                actor.leave()
        assert blas_threads() == outer
    assert blas_threads() == {LIMIT}


def test_libraries_with_a_limit_per_thread(actors, monkeypatch):
    """OpenBLAS on OpenMP: each thread limits and restores its own, workers too."""

    class PerThread(threading.local):
        n_threads = LIMIT

        def get_num_threads(self):
            return self.n_threads

        def set_num_threads(self, n_threads):
            self.n_threads = n_threads

    library = PerThread()
    monkeypatch.setattr(threads, "_libraries", lambda scipy_loaded: ([], [library]))
    found = []
    actors[0].enter(single_threaded_blas)
    with single_threaded_blas():
        actors[0].leave()
        actors[0].do(lambda: found.append(library.n_threads))
        assert library.n_threads == 1
    assert found == [LIMIT]
    assert library.n_threads == LIMIT
    meeting = threading.Barrier(2, timeout=20)

    def block(start, stop):
        meeting.wait()
        return library.n_threads

    assert run_blocks(block, 2, 1, 2) == [1, 1]


def interrupted_at(step, call):
    """Call, and raise KeyboardInterrupt at the given point of the thread module.

    Python raises it where a function begins or a generator goes on, after calls and at the end of
    loops. Returns whether there is such a point.
    """
    count, last = 0, {}

    def trace(frame, event, argument):
        nonlocal count
        if frame.f_code.co_filename not in (threads.__file__, threads.contextlib.__file__):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            interruptible = name == "RESUME" or last.get(id(frame), "").startswith(
                ("CALL", "JUMP_BACK")
            )
            last[id(frame)] = name
            count += interruptible
            if interruptible and count == step:
                raise KeyboardInterrupt
        return trace

    tracing = sys.gettrace()
    sys.settrace(trace)
    try:
        with contextlib.suppress(KeyboardInterrupt):  # the one raised above
            call()
    finally:
        sys.settrace(tracing)
    return count >= step


def test_an_interrupt_anywhere_restores_the_limit():
    def call():
        with single_threaded_blas(), single_threaded_blas():
            pass

    step = 1
    while interrupted_at(step, call):
        gc.collect()  # where leaving could not begin, it is done when the generator is freed
        assert blas_threads() == {LIMIT}, step
        assert not threads._process_limit.holders, step
        step += 1
    assert step > 30


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("forked_by_holder", [False, True])
def test_a_forked_child_keeps_only_the_limit_of_its_own_thread(actors, forked_by_holder):
    actors[0].enter(single_threaded_blas)
    with single_threaded_blas() if forked_by_holder else threads.contextlib.nullcontext():
        child = os.fork()
        if child == 0:
            right = blas_threads() == ({1} if forked_by_holder else {LIMIT})
            with single_threaded_blas():
                right = right and blas_threads() == {1}
            os._exit(0 if right else 1)
        assert os.waitpid(child, 0) == (child, 0)
    actors[0].leave()
    assert blas_threads() == {LIMIT}
