"""Where tasks on blocks run: on the workers of a cluster, or in this process."""

from __future__ import annotations

import asyncio
import math
import operator
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import numpy as np

from likewise._runtime.arrays import IndexArray
from likewise._runtime.blocks.places import assigned
from likewise._runtime.blocks.stored_results import ResultStore, load
from likewise._runtime.configuration import config_context, max_working_bytes
from likewise._runtime.threads import single_threaded_blas

# A cluster that grows on demand may need minutes for its first worker.
_MAX_SECONDS_WITHOUT_WORKERS = 300.0
_SECONDS_BETWEEN_CHECKS = 5.0


class Engine(Protocol):
    """Runs tasks and holds their results where they were computed.

    Attributes
    ----------
    n_jobs : int or None
        Threads of one task.
    in_order : bool
        Whether tasks run one after the other, in this process, when they are submitted.
    """

    n_jobs: int | None
    in_order: bool

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        """Return a handle of the result; arguments may be handles, or lists of them."""
        ...

    def submit_each(
        self,
        task: Callable[..., Any],
        *columns: Sequence[Any],
        places: Sequence[int] | None = None,
    ) -> list[Any]:
        """Return handles of the task for the first values of all columns, the second and so on.

        Columns are of the same length. For a cluster it is one message, or one per worker with
        `places`: results of the same place are held by the same worker, and workers have as many
        places. Without them one worker can end up with most results, and then with most tasks.
        """
        ...

    def compute(self, delayed: Sequence[Any], chunks: IndexArray) -> list[Any]:
        """Return handles of Dask's delayed values, which are being computed.

        `chunks` has the number of the user's chunk that each value begins in.
        """
        ...

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Return the results of handles, in their order."""
        ...


class LocalEngine:
    """Runs every task at once in this process; large results are kept in files.

    Parameters
    ----------
    n_jobs : int or None
        Threads; None uses all cores.
    """

    in_order = True

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs
        self._results = ResultStore()

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        """Return a handle of the result."""
        return self._results.keep(_run(task, *map(load, arguments)))

    def submit_each(
        self,
        task: Callable[..., Any],
        *columns: Sequence[Any],
        places: Sequence[int] | None = None,
    ) -> list[Any]:
        """Return handles of the results."""
        return [self.submit(task, *arguments) for arguments in zip(*columns, strict=True)]

    def compute(self, delayed: Sequence[Any], chunks: IndexArray) -> list[Any]:
        """Return handles of delayed values.

        Values that begin in the same chunk are computed together, from the chunk that is computed
        once; others one after the other, since together they may not fit in memory.
        """
        import dask

        handles: list[Any] = [None] * len(delayed)
        for chunk in np.unique(chunks):
            places = np.flatnonzero(np.equal(chunks, chunk)).tolist()
            values = dask.compute(*(delayed[place] for place in places))
            for place, value in zip(places, values, strict=True):
                handles[place] = self._results.keep(value)
        return handles

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Return the results."""
        return [load(handle) for handle in handles]


class ClusterEngine:
    """Runs tasks on the workers of a Dask cluster, one thread each.

    Every result is a function of the data in the user's graph, so the scheduler computes again what
    a lost worker held. For the same reason nothing is scattered: L travels within the tasks.

    Parameters
    ----------
    client : distributed.Client
    """

    n_jobs: int | None = 1
    in_order = False

    def __init__(self, client: Any) -> None:
        self.client = client
        self._gathered: list[Any] = []
        self._workers: dict[int, str] = {}  # of places
        self._threads: dict[str, int] = {}  # of workers
        self._asked = -math.inf

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        """Return a future."""
        key = f"{_name_of(task)}-{uuid.uuid4().hex}"
        with _translated_errors(self.client):
            return self.client.submit(_on_worker(task), *arguments, key=key, pure=False)

    def submit_each(
        self,
        task: Callable[..., Any],
        *columns: Sequence[Any],
        places: Sequence[int] | None = None,
    ) -> list[Any]:
        """Return futures, whose keys have the name of the task on Dask's dashboard."""
        each = list(zip(*columns, strict=True))  # Client.map would leave out what has no partner
        if places is None or not self._assign(places):
            return self._map(task, each)
        tasks_of: dict[str, list[int]] = {}
        for k, (place, _) in enumerate(zip(places, each, strict=True)):
            tasks_of.setdefault(self._workers[place], []).append(k)
        futures: list[Any] = [None] * len(each)
        for worker, here in tasks_of.items():
            # Others may do it if this one is lost or paused by then.
            options = {"workers": [worker], "allow_other_workers": True}
            found = self._map(task, [each[k] for k in here], **options)
            for k, future in zip(here, found, strict=True):
                futures[k] = future
        return futures

    def _assign(self, places: Sequence[int]) -> bool:
        """Choose the workers of places; return whether there is any worker."""
        if time.monotonic() - self._asked > _SECONDS_BETWEEN_CHECKS:
            with _translated_errors(self.client, runs_no_task=True):
                self._threads = dict(self.client.nthreads())
            self._asked = time.monotonic()
        if self._threads:
            self._workers = assigned(places, self._workers, self._threads)
        return bool(self._threads)

    def _map(self, task: Callable[..., Any], each: list[Any], **options: Any) -> list[Any]:
        if not each:
            return []
        name = _name_of(task)
        # Keys are unique: two fits at a time share nothing.
        keys = [f"{name}-{uuid.uuid4().hex}" for _ in each]
        columns = map(list, zip(*each, strict=True))
        with _translated_errors(self.client):
            return list(
                self.client.map(_on_worker(task), *columns, key=keys, pure=False, **options)
            )

    def compute(self, delayed: Sequence[Any], chunks: IndexArray) -> list[Any]:
        """Return futures of delayed values; the cluster decides about their order."""
        with _translated_errors(self.client):
            return list(self.client.compute(list(delayed)))

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Wait for the futures and return their results.

        A cluster without any worker is waited for as long as Dask's own setting
        ``distributed.scheduler.no-workers-timeout`` says, or five minutes.
        """
        futures = list(handles)
        # Dask sends messages of a client at least 10 ms apart, and releases futures by one: those
        # gathered before are released now, when their successors have been sent.
        self._gathered = futures
        with _translated_errors(self.client, futures):
            return list(self.client.sync(_gather, self.client, futures))


async def _gather(client: Any, handles: list[Any]) -> list[Any]:
    """Gather futures, and raise an error if there is no worker for too long."""
    results = asyncio.ensure_future(client.gather(handles, asynchronous=True))
    limit, without_since = _max_seconds_without_workers(), None
    try:
        while True:
            await asyncio.wait([results], timeout=min(_SECONDS_BETWEEN_CHECKS, limit))
            if results.done():
                return list(results.result())
            if await client.nthreads():
                without_since = None
                continue
            without_since = without_since or time.monotonic()
            if time.monotonic() - without_since >= limit:
                raise _NoWorkersError(limit)
    finally:
        results.cancel()


def _max_seconds_without_workers() -> float:
    import dask
    from dask.utils import parse_timedelta

    given = dask.config.get("distributed.scheduler.no-workers-timeout", None)
    return _MAX_SECONDS_WITHOUT_WORKERS if given is None else float(parse_timedelta(given))


class _NoWorkersError(Exception):
    """A cluster had no worker for too long; its argument is the number of seconds."""


def shared(engine: Engine, value: Any) -> Any:
    """Return a handle of a value for many tasks, which is sent once and not within each task.

    It is the result of a task, and so computed again if its worker is lost.
    """
    return engine.submit(_itself, value)


def tree_sum(engine: Engine, handles: Sequence[Any]) -> Any:
    """Return the sum of results, added two by two in a fixed tree of tasks where they are held."""
    sums = list(handles)
    while len(sums) > 1:
        pairs = zip(sums[::2], sums[1::2], strict=False)
        odd = sums[-1:] if len(sums) % 2 else []
        sums = [engine.submit(operator.add, *pair) for pair in pairs] + odd
    return engine.gather(sums)[0]


def _name_of(task: Any) -> str:
    """Return the name of the innermost function of a task."""
    while isinstance(task, partial):
        inner = [given for given in task.args[:1] if callable(given)]
        task = inner[0] if inner else task.func
    return str(getattr(task, "__name__", type(task).__name__)).strip("_<>")


def _itself(value: Any) -> Any:
    return value


def _run(task: Callable[..., Any], *arguments: Any) -> Any:
    with single_threaded_blas():
        return task(*arguments)


def _on_worker(task: Callable[..., Any]) -> Callable[..., Any]:
    """Return the task with the `max_memory` of this thread, which workers do not know."""
    return partial(_run_within, max_working_bytes(), task)


def _run_within(max_bytes: int | None, task: Callable[..., Any], *arguments: Any) -> Any:
    with config_context(max_memory="auto" if max_bytes is None else max_bytes):
        return _run(task, *arguments)


@contextmanager
def _translated_errors(
    client: Any, futures: Sequence[Any] = (), *, runs_no_task: bool = False
) -> Iterator[None]:
    """Say in a sentence that the cluster went away, or that a task ended its workers.

    Other errors of the tasks of `futures` are raised as they are.
    """
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError
    from distributed.scheduler import NoWorkerError

    try:
        yield
    except _NoWorkersError as error:
        raise RuntimeError(
            f"The Dask cluster had no workers for {error.args[0]:g} seconds; start workers and "
            "try again."
        ) from None
    except NoWorkerError as error:  # by the setting of the scheduler
        raise RuntimeError(
            "The Dask cluster had no workers for its no-workers-timeout; start workers and try "
            f"again: {type(error).__name__}."
        ) from error
    except KilledWorker as error:
        raise RuntimeError(
            "Workers of the Dask cluster ended again and again while they computed the same task, "
            "probably for lack of memory; give them more memory, or use smaller blocks: "
            f"{type(error).__name__}."
        ) from error
    except Exception as error:
        # A task can raise the errors of a connection, which are OSErrors, when it reads a file.
        by_a_task = any(future.status == "error" for future in futures)
        no_answer = (bool(futures) or runs_no_task) and isinstance(error, OSError)
        lost = no_answer or isinstance(error, FutureCancelledError)
        if by_a_task or not (lost or client.status in ("closing", "closed")):
            raise
        raise RuntimeError(
            "The Dask cluster went away, its client was closed, or data were lost that cannot be "
            f"computed again; start a cluster and fit again: {type(error).__name__}."
        ) from error


def engine_of(*collections: Any, n_jobs: int | None = None) -> Engine:
    """Return the cluster that holds parts of the collections, else that of the default client.

    Without any client, blocks are held in this process, and a task has `n_jobs` threads.
    """
    try:
        from distributed import default_client
        from distributed.client import futures_of
    except ImportError:  # only dask is installed
        return LocalEngine(n_jobs)
    clients = {future.client for given in collections for future in futures_of(given)}
    if len(clients) > 1:
        raise ValueError(
            f"X and y are held by {len(clients)} different Dask clients, but one client must hold "
            "both."
        )
    try:
        client = clients.pop() if clients else default_client()
    except ValueError:  # there is none
        return LocalEngine(n_jobs)
    if client.asynchronous:
        raise ValueError(
            "The Dask client is asynchronous here, but a fit waits for its results: use "
            "Client(asynchronous=False), or fit in another thread by asyncio.to_thread."
        )
    return ClusterEngine(client)
