"""``python -m fuzz [--seed SEED] [PART ...]``: run parts of the suite whole, each in a process."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from importlib import import_module

CASES = {
    "files": 10_000,
    "numbers": 4_000,
    "kills": 200,
    "interrupts": 400,
    "threads": 200,
    "forks": 80,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(CASES)}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--here", action="store_true", help="run one part in this process")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(CASES):
        parser.error(f"there is no part {sorted(unknown)[0]!r}")
    if given.here:
        return _run(given.parts[0], given.seed)
    # A part that crashes or hangs must not take the others with it.
    failed = []
    for part in given.parts or CASES:
        command = [sys.executable, "-X", "faulthandler", "-W", "ignore", "-m", "fuzz"]
        done = subprocess.run(
            [*command, part, "--here", "--seed", str(given.seed)], env=_ENVIRONMENT
        )
        if done.returncode:
            failed.append(part)
            if done.returncode != 1:
                print(f"{part}: the process ended with status {done.returncode}")
    print(f"failed: {', '.join(failed)}" if failed else "all parts passed")
    return int(bool(failed))


# An error of the heap ends the process where it happens.
_ENVIRONMENT = {**os.environ, "PYTHONMALLOC": "debug", "MALLOC_CHECK_": "3"}


def _run(part: str, seed: int) -> int:
    begin = time.perf_counter()
    report = import_module(f"fuzz.{part}").run(CASES[part], seed)
    for failure in report.failures[:20]:
        print(failure)
    print(f"{part}: {report} ({time.perf_counter() - begin:.0f} s)", flush=True)
    return int(bool(report.failures) or report.n_cases < CASES[part])


if __name__ == "__main__":
    sys.exit(main())
