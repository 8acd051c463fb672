"""Print pip constraints that hold dependencies at the lowest versions pyproject.toml allows.

They cover the package, its build and the data frames that it takes: `make minimums` uses them.

    python tools/minimums.py > constraints.txt
"""

import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def constraints(pyproject: str) -> list[str]:
    """Return one constraint per dependency."""
    content = tomllib.loads(pyproject)
    extras = content["project"]["optional-dependencies"]
    # An old scikit-learn does not know the data frames of a new polars.
    data_frames = [*extras["tables"], *(one for one in extras["test"] if one.startswith("polars"))]
    required = content["build-system"]["requires"] + content["project"]["dependencies"]
    return [floor(requirement) for requirement in required + data_frames]


def floor(requirement: str) -> str:
    """Return ``name==version`` for ``name>=version``.

    Raises
    ------
    ValueError
        If the requirement is not of this form.
    """
    name, _, version = requirement.partition(">=")
    if not version.replace(".", "").isdigit():
        raise ValueError(f"{requirement!r} has no lowest version: write it as name>=version.")
    return f"{name}=={version}"


if __name__ == "__main__":
    print("\n".join(constraints(PYPROJECT.read_text(encoding="utf-8"))))
