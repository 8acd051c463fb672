"""Run the rivals of a benchmark under the same conditions, and collect what was measured.

Every rival runs in a fresh process of the same process group, on the same arrays and with the same
number of threads, and the rivals take turns. A rival that fails, times out, gives a wrong answer or
is not installed becomes a row with that status.
"""

from __future__ import annotations

import datetime
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data, environments, worker
from benchmarks.base import OURS, Benchmark, WrongAnswerError
from benchmarks.contention import DISTURBED_CORES, Patience, call_undisturbed
from benchmarks.process import REPEAT_S, NoResultError

HERE = Path(__file__).resolve().parent


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
        "commit_before": _commit_before(bench),
        "versions": worker.versions(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "threads": bench.threads,
        "load_average": [load_before, os.getloadavg()[0]],
        "repeats": repeats,
        "seeds": 1 if smoke else len(bench.seeds),
        "budget_s": bench.budget_s,
        "warm_below_s": bench.warm_below_s,
        "smoke": smoke,
        "rows": rows,
    }


def turns(rivals: Sequence[str], repeats: int) -> list[str]:
    """Return the order of runs: all take turns, and each round begins with the next rival."""
    order = []
    for turn in range(repeats):
        first = turn % len(rivals)
        order += [*rivals[first:], *rivals[:first]]
    return order


def _run_dataset(
    bench: Benchmark, dataset: str, *, smoke: bool, repeats: int, patience: Patience
) -> list[dict]:
    try:
        X, y = data.load(dataset, smoke=smoke)
    except (OSError, ValueError) as error:
        _log(f"{bench.name} · {dataset}: no data ({error})")
        return [
            _row(bench, dataset, None, name, [], NoResultError("no data", str(error)))
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
                        repeat_s=0 if smoke else REPEAT_S,
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
                _log(f"{bench.name} · {dataset} · {name}: {_summary(name, runs, ended)}")
    return [
        _row(bench, dataset, X.shape, name, runs[name], ended.get(name)) for name in bench.rivals
    ]


def _row(
    bench: Benchmark,
    dataset: str,
    shape: tuple | None,
    name: str,
    runs: list[dict],
    ended: NoResultError | None,
) -> dict[str, Any]:
    """Return one row of the table: medians, means and ranges over the undisturbed runs, if any.

    The lower bounds of a rival that timed out hold for all its runs, those that ended included.
    """
    ours = name == OURS or bench.rivals[name].ours
    row = {"dataset": dataset, "shape": shape, "rival": name, "ours": ours}
    row |= {"status": "ok", "detail": ""}
    if ended:
        bounds = {
            key: min([bound, *(run[key] for run in runs)])
            for key, bound in ended.lower_bounds.items()
        }
        ending = {"status": ended.status, "detail": str(ended), "lower_bounds": bounds}
        return {**row, **ending, "values": {}}
    undisturbed = [run for run in runs if run["others_cores"] <= DISTURBED_CORES] or runs
    numbers = {
        key: [run[key] for run in (runs if key in bench.averaged else undisturbed)]
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


def _summary(name: str, runs: dict[str, list[dict]], ended: dict[str, NoResultError]) -> str:
    if name in ended:
        return f"{ended[name].status} ({ended[name]})"
    return "{warm_s:.3g} s, {peak_mb:.0f} MB, others used {others_cores:.2f} cores".format(
        **runs[name][-1]
    )


def _commit() -> str:
    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=HERE, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", "../src", ".", ":!results")
    return git("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")


def _commit_before(bench: Benchmark) -> str | None:
    compared = any(rival.environment == environments.BEFORE for rival in bench.rivals.values())
    return environments.commit_before() if compared else None


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
