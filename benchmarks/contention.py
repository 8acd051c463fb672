"""CPU contention: runs wait until the machine is idle, and disturbed runs are repeated.

Taking turns does not make a busy machine fair. With one of two cores taken by other processes,
threads that spin while they wait (BLAS, OpenMP) slowed down eightfold, ours twofold. So the CPU
time of other processes is measured during each run. A run waits for an idle machine, and a
disturbed run is repeated, until the benchmark's patience has run out.
"""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.base import Arrays, Rival
from benchmarks.process import call

# A run is disturbed if other processes use more cores than this during it.
DISTURBED_CORES = 0.1


@dataclass
class Patience:
    """The seconds that a benchmark may still spend on waiting and on repeating runs."""

    left_s: float

    def wait_until_idle(self, window_s: float = 0.5) -> None:
        """Return once other processes use next to no CPU, or patience has run out."""
        idle = False
        while not idle and self.left_s > 0:
            before = other_cpu_s()
            time.sleep(window_s)
            idle = other_cpu_s() - before <= DISTURBED_CORES * window_s
            self.left_s -= 0 if idle else window_s


def call_undisturbed(
    rival: Rival, arrays_file: Path, *, patience: Patience, **limits: Any
) -> tuple[dict, Arrays]:
    """Run a rival until a run is undisturbed; return that run, or else the least disturbed one."""
    best = None
    while True:
        patience.wait_until_idle()
        before, started = other_cpu_s(), time.perf_counter()
        measured, result = call(rival, arrays_file, **limits)
        elapsed = time.perf_counter() - started
        measured["others_cores"] = max(0.0, other_cpu_s() - before) / elapsed
        if best is None or measured["others_cores"] < best[0]["others_cores"]:
            best = measured, result
        if measured["others_cores"] <= DISTURBED_CORES or patience.left_s <= 0:
            return best
        patience.left_s -= elapsed


def other_cpu_s() -> float:
    """Return the CPU seconds used so far by all but this process and its ended children."""
    try:
        with open("/proc/stat") as stat:
            user, nice, system, _, _, *interrupts_and_steal = map(int, stat.readline().split()[1:9])
    except OSError:  # not Linux: other processes are not seen, and no run is repeated
        return 0.0
    busy = (user + nice + system + sum(interrupts_and_steal)) / os.sysconf("SC_CLK_TCK")
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return busy - sum(usage.ru_utime + usage.ru_stime for usage in usages)
