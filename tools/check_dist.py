"""Check what is in an sdist and a wheel, and use each in a clean environment.

    python tools/check_dist.py dist

The folder has one of each. `make dist` builds them first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "src/likewise/"
NATIVE = "src/likewise/_loops/native/"


def main() -> int:
    folder = Path(sys.argv[1])
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    faults = sdist_faults(sdist_names(sdist), tracked())
    faults += wheel_faults(wheel_names(wheel), tracked()) + tag_faults(wheel.name)
    if faults:
        print("\n".join(faults))
        return 1
    for path in (wheel, sdist):
        use(path)
    return 0


def tracked() -> list[str]:
    """Return the files of the repository."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [name for name in output.split("\0") if name]


def sdist_names(path: Path) -> set[str]:
    """Return the files of an sdist, without the folder that holds them."""
    with tarfile.open(path) as archive:
        return {member.name.partition("/")[2] for member in archive if member.isfile()}


def wheel_names(path: Path) -> set[str]:
    """Return the files of a wheel; auditwheel also writes entries for folders."""
    with zipfile.ZipFile(path) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def sdist_faults(names: set[str], files: list[str]) -> list[str]:
    """Return a sentence for each file that an sdist lacks or should not have."""
    needed = set(files)
    faults = [f"The sdist lacks {name}." for name in sorted(needed - names)]
    extra = names - needed - {"PKG-INFO"}
    return faults + [f"The sdist has {name}, which is not for it." for name in sorted(extra)]


def wheel_faults(names: set[str], files: list[str]) -> list[str]:
    """Return a sentence for each file that a wheel lacks or should not have."""
    needed = {
        name.removeprefix("src/")
        for name in files
        if name.startswith(PACKAGE) and not name.startswith(NATIVE)
    }
    faults = [f"The wheel lacks {name}." for name in sorted(needed - names)]
    others = {name for name in names - needed if ".dist-info/" not in name}
    loops = {name for name in others if name.startswith("likewise/_loops/_native.")}
    if len(loops) != 1:
        faults.append(f"The wheel has {len(loops)} compiled modules of loops, but needs one.")
    if not any(name.endswith("licenses/LICENSE") for name in names):
        faults.append("The wheel lacks the licence.")
    return faults + [
        f"The wheel has {name}, which is not for it." for name in sorted(others - loops)
    ]


def tag_faults(name: str) -> list[str]:
    """Return a sentence for a wheel that runs with the libraries of one machine only."""
    platform = name.removesuffix(".whl").split("-")[-1]
    if not platform.startswith("linux_"):
        return []
    return [f"The wheel has the tag {platform}, but manylinux is needed: repair it by auditwheel."]


def use(path: Path) -> None:
    """Install a file into a new environment, and compare metrics with compiled loops there."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*install, str(path.resolve())], check=True)
        code = (
            "import likewise as lw; from sklearn.datasets import load_iris; "
            "X, y = load_iris(return_X_y=True); "
            "print(lw.__version__, lw.MetricKNN(metric=lw.LMNN()).fit(X, y).score(X, y))"
        )
        environment = {"LIKEWISE_LOOPS": "native", "PATH": ""}
        subprocess.run([python, "-c", code], check=True, cwd=folder, env=environment)
        print(f"{path.name} works in a clean environment")


if __name__ == "__main__":
    sys.exit(main())
