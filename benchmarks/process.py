"""Run one rival once, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks import environments, worker
from benchmarks.base import Arrays, Benchmark, Rival

RIVALS = Path(__file__).resolve().parent / "rivals"
# Short warm calls are repeated for this long, and their median is what counts.
REPEAT_S = 0.3


class NoResultError(Exception):
    """A rival ended without a result: `status` for the table, and the reason.

    `lower_bounds` has the times that a rival needs at least, where that is known.
    """

    def __init__(
        self, status: str, detail: str, lower_bounds: Mapping[str, float] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.lower_bounds = dict(lower_bounds or {})


def call(
    rival: Rival,
    arrays_file: Path,
    *,
    threads: int,
    budget_s: float,
    warm_below_s: float = Benchmark.warm_below_s,
    repeat_s: float = REPEAT_S,
) -> tuple[dict, Arrays]:
    """Run a rival once in a process of its own; return its times and memory, and its result."""
    if rival.environment and not environments.is_made(rival.environment):
        raise NoResultError("not installed", f"no environment {rival.environment!r}")
    file, _, function = rival.function.partition(":")
    with tempfile.TemporaryDirectory() as folder:
        files = ("job", "progress", "reply", "result.npz")
        job, progress, reply, result = (Path(folder, name) for name in files)
        job.write_text(
            json.dumps(
                {
                    "file": str(RIVALS / f"{file}.py"),
                    "function": function,
                    "options": rival.options,
                    "threads": threads,
                    "data": str(arrays_file),
                    "progress": str(progress),
                    "reply": str(reply),
                    "result": str(result),
                    "warm_below_s": warm_below_s,
                    "repeat_s": repeat_s,
                }
            )
        )
        with open(Path(folder, "log"), "w+") as log:
            deadline = time.perf_counter() + budget_s
            try:
                done = subprocess.run(
                    [environments.python_of(rival.environment), "-I", worker.__file__, job],
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **_thread_limits(threads)},
                    timeout=budget_s,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                reached = json.loads(progress.read_text()) if progress.exists() else {}
                bounds = lower_bounds(reached, deadline, warm_below_s)
                raise NoResultError("timed out", f"over {budget_s:g} s", bounds) from None
            log.seek(0)
            last_line = (log.read().strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        if done.returncode < 0:
            raise NoResultError("failed", f"killed by signal {-done.returncode}")
        if done.returncode:
            missing = last_line.startswith(("ImportError", "ModuleNotFoundError"))
            raise NoResultError("not installed" if missing else "failed", last_line)
        with np.load(result) as archive:
            return json.loads(reply.read_text()), dict(archive)


def lower_bounds(
    progress: Mapping[str, float], stopped: float, warm_below_s: float
) -> dict[str, float]:
    """Return what the cold and the warm time of a stopped process are at least.

    `progress` is the worker's last report; its moments and `stopped` are of `time.perf_counter`,
    a clock that all processes share.
    """
    if "cold_s" in progress:
        bounds = {"cold_s": progress["cold_s"]}
        if "warm_started" in progress:
            bounds["warm_s"] = stopped - progress["warm_started"]
    elif "call_started" in progress:
        first_s = stopped - progress["call_started"]
        bounds = {"cold_s": progress["import_s"] + first_s}
        if first_s >= warm_below_s:  # the first call would have stood for the warm one
            bounds["warm_s"] = first_s
    elif "import_started" in progress:
        bounds = {"cold_s": stopped - progress["import_started"]}
    else:
        bounds = {}
    return bounds


def _thread_limits(threads: int) -> dict[str, str]:
    libraries = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMEXPR")
    return {f"{library}_NUM_THREADS": str(threads) for library in libraries}
