"""Environments of rivals that cannot be installed beside the current scikit-learn.

Each is a virtual environment in ``.bench/envs/NAME``, made once. A stamp in it records its
requirements, and an environment whose requirements have changed is made again.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / ".bench" / "envs"


@dataclass(frozen=True)
class Environment:
    """What is installed for a rival.

    `build_first` is installed before the rest and makes pip build in this environment, for
    packages whose setup script imports undeclared dependencies. `stubs` are modules that only have
    to exist (path in site-packages → content).
    """

    requirements: tuple[str, ...]
    build_first: tuple[str, ...] = ()
    stubs: dict[str, str] = field(default_factory=dict)


# NumPy 1.24 removed np.float and friends, which pylmnn and pyDML still use.
OLD_STACK = ("numpy==1.23.5", "scipy==1.9.3", "scikit-learn==1.2.2", "six==1.17.0")

ENVIRONMENTS = {
    # scikit-learn 1.8 removed `force_all_finite`, without which metric-learn cannot fit.
    "metric-learn": Environment(
        ("metric-learn==0.7.0", "scikit-learn==1.7.2", "numpy==2.4.6", "scipy==1.17.1")
    ),
    # pylmnn imports an optimiser for a search that is not used here.
    "pylmnn": Environment(
        ("pylmnn==1.6.4", *OLD_STACK),
        stubs={"GPyOpt/__init__.py": "", "GPyOpt/methods.py": "BayesianOptimization = None\n"},
    ),
    "river": Environment(("river==0.26.1", "numpy==2.4.6")),
    "mlpack": Environment(("mlpack==4.8.0", "numpy==2.4.6", "pandas==3.1.1")),
    "pydml": Environment(
        ("pyDML==0.1.0", *OLD_STACK, "pandas==1.5.3", "matplotlib==3.7.5", "seaborn==0.12.2"),
        build_first=("setuptools==65.5.0", "wheel==0.48.0", "Cython==0.29.37", "numpy==1.23.5"),
    ),
}

# An older checkout of likewise, for comparisons with the present one. It is not made here: link its
# virtual environment, in which it is installed in place, to `.bench/envs/before`.
BEFORE = "before"


def commit_before() -> str | None:
    """Return the commit of the older checkout; None if there is none."""
    if not is_made(BEFORE):
        return None
    where = "import likewise, pathlib; print(pathlib.Path(likewise.__file__).parent)"
    folder = _output([python_of(BEFORE), "-I", "-c", where])
    return _output(["git", "-C", folder, "rev-parse", "--short", "HEAD"])


def _output(command: list[str | Path]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def python_of(name: str | None) -> Path:
    """Return the interpreter of an environment; None is the current one."""
    return ROOT / name / "bin" / "python" if name else Path(sys.executable)


def is_made(name: str) -> bool:
    if name == BEFORE:
        return python_of(name).is_file()
    stamp = ROOT / name / "stamp"
    return stamp.is_file() and stamp.read_text() == _fingerprint(ENVIRONMENTS[name])


def make(name: str) -> str:
    """Make an environment unless it exists, and return what was done or why it failed."""
    if is_made(name):
        return "already made"
    environment, folder = ENVIRONMENTS[name], ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    started = time.perf_counter()
    install = [python_of(name), "-m", "pip", "install", "--quiet"]
    steps = [[_base_python(), "-m", "venv", folder]]
    if environment.build_first:
        steps.append([*install, *environment.build_first])
        install.append("--no-build-isolation")
    steps.append([*install, *environment.requirements])
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"failed: {_reason(done.stderr or done.stdout)}"
    site_packages = next(folder.glob("lib/python*/site-packages"))
    for path, content in environment.stubs.items():
        (site_packages / path).parent.mkdir(parents=True, exist_ok=True)
        (site_packages / path).write_text(content)
    (folder / "stamp").write_text(_fingerprint(environment))
    return f"made in {time.perf_counter() - started:.0f} s"


def _base_python() -> str:
    # The pinned releases have wheels for Python 3.11; the running interpreter is the fallback.
    running = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = None if running == "python3.11" else shutil.which("python3.11")
    return found or sys.executable


def _fingerprint(environment: Environment) -> str:
    return hashlib.sha256(repr(environment).encode()).hexdigest()


def _reason(output: str) -> str:
    errors = [line for line in output.splitlines() if "error" in line.lower()]
    lines = errors or output.splitlines() or ["no message"]
    return lines[0].strip()
