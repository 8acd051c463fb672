"""Running trials: one after the other, or in several processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Any

from likewise._runtime.threads import count_threads, single_threaded_blas
from likewise.experiments._experiment import Result, Trial

Run = Callable[..., Result]
Finished = tuple[Trial, Result, float]


def run_trials(
    run: Run, trials: Iterable[Trial], options: Mapping[str, Any], n_jobs: int
) -> Iterator[Finished]:
    """Yield trials with their results and processor times, in the order in which they finish.

    A trial's result does not depend on `n_jobs`: BLAS has one thread.
    """
    if n_jobs == 1:
        for trial in trials:
            yield _timed(run, trial, options)
        return
    executor = ProcessPoolExecutor(
        n_jobs,
        multiprocessing.get_context("spawn"),
        _prepare_worker,
        (max(1, count_threads() // n_jobs),),
    )
    waiting = iter(trials)
    running: set[Future[Finished]] = set()
    try:
        while True:
            # Few are submitted at a time: what is queued cannot be lost by an interrupt.
            for trial in islice(waiting, 2 * n_jobs - len(running)):
                running.add(executor.submit(_timed, run, trial, options))
            if not running:
                return
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "a process was ended from outside, perhaps because there was too little memory; the "
            "same call continues after the trials that are done."
        ) from error
    finally:
        executor.shutdown(cancel_futures=True)


def _timed(run: Run, trial: Trial, options: Mapping[str, Any]) -> Finished:
    start = time.process_time()
    with single_threaded_blas():
        result = run(trial.dataset, trial.method, trial.run, **options)
    return trial, result, round(time.process_time() - start, 3)


def _prepare_worker(n_threads: int) -> None:
    """Share the cores with the other processes, and end with the process that started this one."""
    os.environ["OMP_NUM_THREADS"] = str(n_threads)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a trial at once, without a traceback
    parent = multiprocessing.parent_process()
    if parent is not None:

        def exit_with_parent() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=exit_with_parent, daemon=True).start()
