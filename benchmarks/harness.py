"""Declare a benchmark, run its rivals alike, and keep what was measured.

Every rival runs in a fresh process of the same process group, on the same arrays and with the same
number of threads, and the rivals take turns. A rival that fails, runs out of time, gives a wrong
answer or is not installed becomes a row that says so.

Turns alone do not make a busy machine fair: with one of two cores taken by others, threads that
spin while they wait (BLAS, OpenMP) were seen to slow down eight times, and ours two times. So what
others use is measured during each run, whoever runs; a run waits for a calm moment, and a disturbed
one is made again, for as long as our patience lasts.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks import data, environments, worker

HERE = Path(__file__).resolve().parent
OURS = "likewise"
# Cores that others may use during a run before it counts as disturbed.
DISTURBED = 0.1
REGISTRY: dict[str, Benchmark] = {}

Arrays = Mapping[str, NDArray]


@dataclass(frozen=True)
class Rival:
    """Where a rival's code is: ``file:function`` in `rivals/`, and the environment it needs.

    The function imports what it needs and returns the function to be timed, which takes the
    prepared arrays and returns arrays.
    """

    function: str
    environment: str | None = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """What we want: `times` less than the best rival, or less than `below`, on these data.

    `standard_error` names a fact, that of the measure in one run: what is not twice of that apart
    is no difference. `row` is whom the target is for, where several rows are ours, and `against`
    the only rival that counts. `note` is what has to be known to read it.
    """

    dataset: str
    measure: str
    times: float | None = None
    below: float | None = None
    standard_error: str | None = None
    row: str = OURS
    against: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Growth:
    """What to draw: measures over a fact, on logarithmic axes, each beside a power of it."""

    over: str
    powers: dict[str, float]


class Benchmark:
    """What a declaration says; the decorator `benchmark` adds where and how often it runs."""

    rivals: ClassVar[dict[str, Rival]]
    # Measures are compared, and less is better in all of them; facts are only shown.
    measures: ClassVar[Sequence[str]] = ("warm_s", "cold_s", "peak_mb")
    facts: ClassVar[Sequence[str]] = ("cpu_s", "baseline_mb")
    # Of these the mean over all runs is shown, of others the median.
    averaged: ClassVar[Sequence[str]] = ()
    targets: ClassVar[Sequence[Target]] = ()
    plot: ClassVar[Growth | None] = None
    # A first call that takes longer is not followed by a warm call: its time stands for both.
    warm_below_s: ClassVar[float] = 30

    name: str
    datasets: Sequence[str]
    smoke_datasets: Sequence[str]
    seeds: Sequence[int]
    repeats: int
    threads: int
    budget_s: float

    def prepare(self, X: NDArray, y: NDArray, seed: int) -> Arrays:
        """Return the arrays that every rival is given."""
        return {"X": X, "y": y, "seed": np.asarray(seed)}

    def reference(self, arrays: Arrays) -> Any:
        """Return what `score` needs to know about the right answer, computed once a seed."""

    def score(self, result: Arrays, arrays: Arrays, reference: Any) -> dict[str, float]:
        """Return our own judgement of a rival's result, or raise `WrongAnswerError`."""
        raise NotImplementedError

    def rates(self, measured: dict[str, float], arrays: Arrays) -> dict[str, float]:
        """Return further facts that follow from what was measured."""
        return {}


class WrongAnswerError(Exception):
    """The rival's result is not an answer to the question."""


class NoResultError(Exception):
    """The rival ended without a result: `status` for the table, and a sentence."""

    def __init__(self, status: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status


def benchmark(
    name: str,
    *,
    datasets: Sequence[str],
    smoke: Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    repeats: int = 5,
    threads: int = 2,
    budget_s: float = 120,
):
    """Declare a benchmark. `budget_s` is for one run of one rival; `smoke` names what tests run."""

    def declare(cls: type[Benchmark]) -> type[Benchmark]:
        declared = cls()
        declared.name, declared.datasets, declared.seeds = name, datasets, seeds
        declared.smoke_datasets = smoke or datasets[:1]
        declared.repeats, declared.threads, declared.budget_s = repeats, threads, budget_s
        REGISTRY[name] = declared
        return cls

    return declare


def run(
    bench: Benchmark,
    *,
    smoke: bool = False,
    repeats: int | None = None,
    patience_s: float = 600,
) -> dict[str, Any]:
    """Run a benchmark and return its results, ready to be written as JSON."""
    load_before = os.getloadavg()[0]
    repeats = repeats or (1 if smoke else bench.repeats)
    patience = Patience(0 if smoke else patience_s)
    rows = []
    for dataset in bench.smoke_datasets if smoke else bench.datasets:
        rows += _run_dataset(bench, dataset, smoke=smoke, repeats=repeats, patience=patience)
    return {
        "benchmark": bench.name,
        "about": (type(bench).__doc__ or "").strip(),
        "measures": list(bench.measures),
        "facts": list(bench.facts),
        "averaged": list(bench.averaged),
        "targets": [asdict(target) for target in bench.targets],
        "plot": asdict(bench.plot) if bench.plot else None,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "versions": worker.versions(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "threads": bench.threads,
        "load_average": [load_before, os.getloadavg()[0]],
        "repeats": repeats,
        "seeds": 1 if smoke else len(bench.seeds),
        # A rival that timed out needed more than this for its call, whether cold or warm.
        "surely_s": bench.budget_s - bench.warm_below_s,
        "smoke": smoke,
        "rows": rows,
    }


def turns(rivals: Sequence[str], repeats: int) -> list[str]:
    """Return who runs when: all take turns, and each round begins with the next one."""
    order = []
    for turn in range(repeats):
        first = turn % len(rivals)
        order += [*rivals[first:], *rivals[:first]]
    return order


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
                    "file": str(HERE / "rivals" / f"{file}.py"),
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


@dataclass
class Patience:
    """Seconds that a benchmark may still spend on waiting and on making runs again."""

    left_s: float

    def wait_for_calm(self, window_s: float = 0.5) -> None:
        """Return once others have used next to nothing for a while, or patience has run out."""
        calm = False
        while not calm and self.left_s > 0:
            before = _cpu_used_by_others()
            time.sleep(window_s)
            calm = _cpu_used_by_others() - before <= DISTURBED * window_s
            self.left_s -= 0 if calm else window_s


def call_undisturbed(
    rival: Rival, arrays_file: Path, *, patience: Patience, **limits: Any
) -> tuple[dict, Arrays]:
    """Run a rival until others leave the machine alone; of several runs return the calmest."""
    calmest = None
    while True:
        patience.wait_for_calm()
        before, started = _cpu_used_by_others(), time.perf_counter()
        measured, result = call(rival, arrays_file, **limits)
        took = time.perf_counter() - started
        measured["others_cores"] = max(0.0, _cpu_used_by_others() - before) / took
        if calmest is None or measured["others_cores"] < calmest[0]["others_cores"]:
            calmest = measured, result
        if measured["others_cores"] <= DISTURBED or patience.left_s <= 0:
            return calmest
        patience.left_s -= took


def _cpu_used_by_others() -> float:
    """Return the CPU seconds that this process and its ended children did not use, so far."""
    try:
        with open("/proc/stat") as stat:
            user, nice, system, _, _, *interrupts_and_steal = map(int, stat.readline().split()[1:9])
    except OSError:  # not Linux: nothing is known, and nothing is repeated
        return 0.0
    busy = (user + nice + system + sum(interrupts_and_steal)) / os.sysconf("SC_CLK_TCK")
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return busy - sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _run_dataset(
    bench: Benchmark, dataset: str, *, smoke: bool, repeats: int, patience: Patience
) -> list[dict]:
    try:
        X, y = data.load(dataset, smoke=smoke)
    except (OSError, ValueError) as error:
        _say(f"{bench.name} · {dataset}: no data ({error})")
        return [
            _row(dataset, None, name, [], NoResultError("no data", str(error)))
            for name in bench.rivals
        ]
    runs: dict[str, list[dict]] = {name: [] for name in bench.rivals}
    ended: dict[str, NoResultError] = {}
    with tempfile.TemporaryDirectory() as folder:
        arrays_file = Path(folder, "arrays.npz")
        for seed in bench.seeds[:1] if smoke else bench.seeds:
            arrays = bench.prepare(X, y, seed)
            reference = bench.reference(arrays)
            np.savez(arrays_file, **arrays)
            for name in turns(list(bench.rivals), repeats):
                if name in ended:
                    continue
                try:
                    measured, result = call_undisturbed(
                        bench.rivals[name],
                        arrays_file,
                        threads=bench.threads,
                        budget_s=bench.budget_s,
                        warm_below_s=bench.warm_below_s,
                        patience=patience,
                    )
                    measured |= bench.score(result, arrays, reference)
                    measured |= bench.rates(measured, arrays)
                except WrongAnswerError as error:
                    ended[name] = NoResultError("wrong answer", str(error))
                except NoResultError as error:
                    ended[name] = error
                else:
                    runs[name].append(measured)
                _say(f"{bench.name} · {dataset} · {name}: {_in_short(name, runs, ended)}")
    return [
        _row(dataset, X.shape, name, runs[name], ended.get(name), bench.averaged)
        for name in bench.rivals
    ]


def _row(
    dataset: str,
    shape: tuple | None,
    name: str,
    runs: list[dict],
    ended: NoResultError | None,
    averaged: Sequence[str] = (),
) -> dict[str, Any]:
    """Return one line of the table: each number's middle and spread over the calm runs, if any."""
    row = {"dataset": dataset, "shape": shape, "rival": name, "status": "ok", "detail": ""}
    if ended:
        return {**row, "status": ended.status, "detail": str(ended), "values": {}}
    calm = [run for run in runs if run["others_cores"] <= DISTURBED] or runs
    numbers = {
        key: [run[key] for run in (runs if key in averaged else calm)]
        for key in runs[0]
        if key != "versions"
    }
    values = {
        key: {
            "median": statistics.median(seen),
            "mean": statistics.fmean(seen),
            "low": min(seen),
            "high": max(seen),
            "runs": seen,
        }
        for key, seen in numbers.items()
    }
    return {**row, "values": values, "versions": runs[0]["versions"]}


def _in_short(name: str, runs: dict[str, list[dict]], ended: dict[str, NoResultError]) -> str:
    if name in ended:
        return f"{ended[name].status} ({ended[name]})"
    return "{warm_s:.3g} s, {peak_mb:.0f} MB, others used {others_cores:.2f} cores".format(
        **runs[name][-1]
    )


def _thread_limits(threads: int) -> dict[str, str]:
    libraries = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMEXPR")
    return {f"{library}_NUM_THREADS": str(threads) for library in libraries}


def _commit() -> str:
    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=HERE, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", "../src", ".", ":!results")
    return git("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
