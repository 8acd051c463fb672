"""The command line: ``python -m benchmarks list | environments | run | page``."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Container, Iterable
from pathlib import Path

import numpy as np

import benchmarks.declared  # noqa: F401 - importing it fills the registry
from benchmarks import comparison, data, page, plots
from benchmarks.base import REGISTRY, Rival
from benchmarks.environments import ENVIRONMENTS, make
from benchmarks.harness import HERE, run
from benchmarks.process import NoResultError, call

RESULTS = HERE / "results"

# One small fit for each thing that an environment was made for.
CHECKS = {
    "metric-learn": ["with_metric_learn:lmnn", "with_metric_learn:itml"],
    "pylmnn": ["with_pylmnn:lmnn"],
    "mlpack": ["with_mlpack:lmnn"],
    "pydml": ["with_pydml:lmnn", "with_pydml:mcml"],
    "river": ["with_river:passive_aggressive"],
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="list the declared benchmarks")
    environments = commands.add_parser("environments", help="make the rivals' environments")
    environments.add_argument("names", nargs="*", metavar="NAME")
    environments.add_argument("--check", action="store_true", help="fit iris in each")
    runner = commands.add_parser("run", help="run benchmarks and write results/NAME.json")
    runner.add_argument("names", nargs="*", metavar="NAME", help="a name or a prefix of names")
    runner.add_argument("--smoke", action="store_true", help="50 rows, one run, no file")
    runner.add_argument("--repeats", type=int)
    runner.add_argument(
        "--patience",
        type=float,
        default=600,
        metavar="SECONDS",
        help="how long a benchmark may wait, in all, for an idle machine",
    )
    commands.add_parser("page", help="write results/README.md from all results")
    chosen = parser.parse_args(arguments)

    if chosen.command == "list":
        for name, bench in REGISTRY.items():
            print(f"{name}: {', '.join(bench.datasets)}; {', '.join(bench.rivals)}")
        return 0
    if chosen.command == "page":
        every = page.read(RESULTS)
        (RESULTS / "README.md").write_text(page.render(every))
        for results in every:
            if results.get("plot"):
                plots.draw(results, RESULTS / page.figure(results), comparison.label)
        return 0
    known = ENVIRONMENTS if chosen.command == "environments" else REGISTRY
    names = [name for name in known if not chosen.names or is_selected(name, chosen.names, known)]
    if not names:
        parser.error(f"unknown name {' or '.join(chosen.names)}; known are {', '.join(known)}")
    if chosen.command == "environments":
        for name in names:
            print(f"{name}: {make(name)}", file=sys.stderr, flush=True)
            if chosen.check:
                check(name)
        return 0
    for name in names:
        results = run(
            REGISTRY[name],
            smoke=chosen.smoke,
            repeats=chosen.repeats,
            patience_s=chosen.patience,
        )
        if not chosen.smoke:
            (RESULTS / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n")
        print(page.section(results))
    return 0


def is_selected(name: str, asked: Iterable[str], known: Container[str]) -> bool:
    """Return whether one of the names is this one, or no known name but a prefix of this one."""
    return any(name == one or (one not in known and name.startswith(one)) for one in asked)


def check(name: str) -> None:
    """Fit iris with every function that an environment is for, and print the outcomes."""
    X, y = data.load("iris")
    with tempfile.TemporaryDirectory() as folder:
        arrays = Path(folder, "iris.npz")
        np.savez(arrays, X=X, y=y)
        for function in CHECKS[name]:
            try:
                measured, result = call(Rival(function, name), arrays, threads=2, budget_s=120)
            except NoResultError as error:
                print(f"  {function}: {error.status} ({error})")
                continue
            shapes = ", ".join(f"{what} {array.shape}" for what, array in result.items())
            print(
                f"  {function}: {{warm_s:.2f}} s, {{peak_mb:.0f}} MB, {shapes}".format(**measured)
            )


if __name__ == "__main__":
    sys.exit(main())
