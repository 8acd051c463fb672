"""Run one rival once, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import environments, worker
from benchmarks.base import Arrays, Benchmark, Rival

RIVALS = Path(__file__).resolve().parent / "rivals"


class NoResultError(Exception):
    """A rival ended without a result: `status` for the table, and the reason."""

    def __init__(self, status: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status


def call(
    rival: Rival,
    arrays_file: Path,
    *,
    threads: int,
    budget_s: float,
    warm_below_s: float = Benchmark.warm_below_s,
) -> tuple[dict, Arrays]:
    """Run a rival once in a process of its own; return its times and memory, and its result."""
    if rival.environment and not environments.is_made(rival.environment):
        raise NoResultError("not installed", f"no environment {rival.environment!r}")
    file, _, function = rival.function.partition(":")
    with tempfile.TemporaryDirectory() as folder:
        job, reply, result = (Path(folder, name) for name in ("job", "reply", "result.npz"))
        job.write_text(
            json.dumps(
                {
                    "file": str(RIVALS / f"{file}.py"),
                    "function": function,
                    "options": rival.options,
                    "threads": threads,
                    "data": str(arrays_file),
                    "result": str(result),
                    "reply": str(reply),
                    "warm_below_s": warm_below_s,
                }
            )
        )
        with open(Path(folder, "log"), "w+") as log:
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
                raise NoResultError("timed out", f"over {budget_s:g} s") from None
            log.seek(0)
            last_line = (log.read().strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        if done.returncode < 0:
            raise NoResultError("failed", f"killed by signal {-done.returncode}")
        if done.returncode:
            missing = last_line.startswith(("ImportError", "ModuleNotFoundError"))
            raise NoResultError("not installed" if missing else "failed", last_line)
        with np.load(result) as archive:
            return json.loads(reply.read_text()), dict(archive)


def _thread_limits(threads: int) -> dict[str, str]:
    libraries = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMEXPR")
    return {f"{library}_NUM_THREADS": str(threads) for library in libraries}
