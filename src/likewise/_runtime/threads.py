"""Row blocks on a small pool of threads: the same bits for any number of threads.

The blocks depend on the problem alone, never on ``n_jobs``, and their results come back in block
order, so a sum over them is always taken in the same order. BLAS is held to one thread while
blocks run: a threaded product is not reproducible, and threads times threads would be too many.
"""

import contextlib
import itertools
import operator
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import cache
from queue import SimpleQueue
from typing import Any, TypeVar

import joblib

T = TypeVar("T")

_HAS_AFFINITY = hasattr(os, "sched_getaffinity")
_lock = threading.Lock()
_inside = threading.local()
_jobs: SimpleQueue[tuple[Future[None], Callable[[], None]]] = SimpleQueue()
_workers: list[threading.Thread] = []
_forked = False  # whether this process is a forked child


def count_threads(n_jobs: int | None = None) -> int:
    """Return how many threads ``n_jobs`` stands for.

    Parameters
    ----------
    n_jobs : int or None
        None or -1 for every core this process may use (at most OMP_NUM_THREADS where that is
        set), else the number itself.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
    >>> count_threads(3)
    3
    """
    if n_jobs is None or n_jobs == -1:
        # As joblib counts: cores that the process may use, within a container's quota too. A
        # worker of joblib gets its share by OMP_NUM_THREADS, which users set for BLAS as well.
        wanted = os.environ.get("OMP_NUM_THREADS", "")
        cores = _cores(frozenset(os.sched_getaffinity(0)) if _HAS_AFFINITY else None)
        return min(cores, max(1, int(wanted))) if wanted.isdigit() else cores
    try:
        count = 0 if isinstance(n_jobs, bool) else operator.index(n_jobs)
    except TypeError:
        count = 0
    if count < 1:
        raise ValueError(
            f"n_jobs must be a positive integer, -1 or None (all cores), but it is {n_jobs!r}."
        )
    return count


@cache
def _cores(affinity: frozenset[int] | None) -> int:
    """Count the cores that the process may use: asked once, since a small block is done sooner."""
    return int(joblib.cpu_count())


def run_blocks(
    task: Callable[[int, int], T], n_rows: int, block_rows: int, n_jobs: int | None = None
) -> list[T]:
    """Call ``task(start, stop)`` for every block of rows and return the results in block order.

    The caller works too, so nothing waits for a busy pool, and a call from inside a block runs
    on its own thread. The first exception stops the blocks that have not begun and is raised.

    Parameters
    ----------
    task : callable
        Works on rows ``start`` to ``stop``; should release the GIL for most of its time.
    n_rows, block_rows : int
        How many rows there are, and how many a block has.
    n_jobs : int or None
        See `count_threads`.

    Returns
    -------
    list
        One result per block.

    Examples
    --------
    >>> run_blocks(lambda start, stop: stop - start, n_rows=10, block_rows=4, n_jobs=2)
    [4, 4, 2]
    """
    starts = range(0, n_rows, block_rows)
    n_workers = min(count_threads(n_jobs), len(starts)) - 1
    outer = getattr(_inside, "block", False)
    if n_workers < 1 or outer:
        with single_threaded_blas():
            try:
                _inside.block = True
                return [task(start, min(start + block_rows, n_rows)) for start in starts]
            finally:
                _inside.block = outer
    results: list[Any] = [None] * len(starts)
    counter = itertools.count()  # next() on it is atomic: each block is taken once
    stopped = threading.Event()

    def work() -> None:
        try:
            _inside.block = True
            with single_threaded_blas():
                while not stopped.is_set() and (block := next(counter)) < len(starts):
                    start = starts[block]
                    results[block] = task(start, min(start + block_rows, n_rows))
        except BaseException:
            stopped.set()
            raise
        finally:
            _inside.block = False

    futures: list[Future[None]] = []
    with single_threaded_blas():
        try:
            _submit(work, n_workers, futures)
            work()
        except BaseException:
            stopped.set()  # Ctrl-C may come between two blocks, or while the workers are called
            _wait(futures)
            raise
        for error in _wait(futures):
            raise error
    return results


def _submit(work: Callable[[], None], n_workers: int, futures: list[Future[None]]) -> None:
    """Start `n_workers` threads on ``work``; their outcomes go to `futures`.

    The workers are daemon threads of our own. A ThreadPoolExecutor must know each of its threads
    to end them when the process does, and a Ctrl-C while it starts one makes it forget: the
    process then never ends.
    """
    with _lock, contextlib.suppress(RuntimeError):  # no thread available: the caller works alone
        while len(_workers) < n_workers:
            worker = threading.Thread(target=_run_jobs, args=(_jobs,), name="likewise", daemon=True)
            worker.start()
            _workers.append(worker)
    for _ in range(min(n_workers, len(_workers))):
        futures.append(Future())
        _jobs.put((futures[-1], work))


def _run_jobs(jobs: SimpleQueue[tuple[Future[None], Callable[[], None]]]) -> None:
    """Run jobs from the queue until the process ends."""
    while True:
        future, work = jobs.get()
        if future.set_running_or_notify_cancel():
            try:
                work()
            except BaseException as error:  # noqa: BLE001, it is raised again by the caller
                future.set_exception(error)
            else:
                future.set_result(None)
        del future, work  # nothing is kept alive while waiting


def _wait(futures: list[Future[None]]) -> list[BaseException]:
    """Cancel jobs that have not begun, wait for the others and return their exceptions."""
    begun = [future for future in futures if not future.cancel()]
    return [error for future in begun if (error := future.exception()) is not None]


class _BlasLimit:
    """Limits BLAS libraries to one thread as long as it has holders.

    When the last one leaves, each library has the limit that somebody else set last, before the
    first holder entered or while there were holders. Every method can be repeated after an
    interrupt.
    """

    def __init__(self) -> None:
        self.holders: set[object] = set()
        self._replaced: dict[Any, int] = {}  # by library: the limit to restore

    def enter(self, holder: object, libraries: list[Any]) -> None:
        """Limit the libraries until `holder` leaves."""
        self.holders.add(holder)
        for library in libraries:
            n_threads = library.get_num_threads()
            if n_threads not in (None, 1):
                self._replaced[library] = n_threads
                _set_blas_threads(library, 1)

    def leave(self, holder: object) -> None:
        """Restore the limits if `holder` is the last one."""
        self.holders.discard(holder)
        if not self.holders:
            for library, n_threads in list(self._replaced.items()):
                if library.get_num_threads() == 1:  # else somebody has set another limit since
                    _set_blas_threads(library, n_threads)
                self._replaced.pop(library, None)


_process_limit = _BlasLimit()
# Reentrant, since freeing an interrupted generator leaves wherever the thread is.
_limit_lock = threading.RLock()


@contextlib.contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread while any thread of the process is inside."""
    if getattr(_inside, "holder", None) is not None:
        yield
        return
    holder = object()
    try:
        _enter_limits(holder)
        yield
    finally:
        try:
            _leave_limits(holder)
        except KeyboardInterrupt:  # it may have come before anything was done
            _leave_limits(holder)
            raise


def _enter_limits(holder: object) -> None:
    with _limit_lock:
        _inside.holder = holder
        if not hasattr(_inside, "limit"):
            _inside.limit = _BlasLimit()
        shared, per_thread = _libraries("scipy.linalg" in sys.modules)
        _process_limit.enter(holder, shared)
        _inside.limit.enter(holder, per_thread)


def _leave_limits(holder: object) -> None:
    with _limit_lock:
        if hasattr(_inside, "limit"):
            _inside.limit.leave(holder)
        _process_limit.leave(holder)
        if getattr(_inside, "holder", None) is holder:
            _inside.holder = None


@contextlib.contextmanager
def openmp_threads(n_threads: int | None) -> Iterator[None]:
    """Limit OpenMP, which scikit-learn uses, for the calling thread; None leaves it as it is.

    A forked child has one thread: OpenMP would wait for threads that only its parent has.
    """
    wanted = 1 if _forked else n_threads
    if wanted is None:
        yield
        return
    from threadpoolctl import ThreadpoolController

    # Of all libraries, threadpoolctl would also restore the limits of BLAS, which are not ours.
    with ThreadpoolController().select(user_api="openmp").limit(limits=wanted):
        yield


def _set_blas_threads(library: Any, n_threads: int) -> None:
    # threadpoolctl 3.7 lets a single thread set limits of the process and ignores the others.
    getattr(library, "_real_set_num_threads", library.set_num_threads)(n_threads)


@cache
def _libraries(scipy_loaded: bool) -> tuple[list[Any], list[Any]]:
    """Return the loaded BLAS libraries: those with one limit per process, and one per thread.

    Finding them takes a while, and SciPy may bring its own later.
    """
    from threadpoolctl import ThreadpoolController

    shared: list[Any] = []
    per_thread: list[Any] = []
    for library in ThreadpoolController().select(user_api="blas").lib_controllers:
        layer = getattr(library, "threading_layer", None)
        if layer == "disabled":  # built without threads
            continue
        of_thread = layer == "openmp" and library.internal_api == "openblas"
        (per_thread if of_thread else shared).append(library)
    return shared, per_thread


def _reset_after_fork() -> None:
    """Reset the pool in a forked child: threads do not survive a fork, and a lock may be held."""
    global _workers, _jobs, _lock, _limit_lock, _forked
    _forked = True
    _workers, _jobs, _lock, _limit_lock = [], SimpleQueue(), threading.Lock(), threading.RLock()
    _inside.block = False
    _process_limit.holders &= {getattr(_inside, "holder", None)}
    _process_limit.leave(None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
