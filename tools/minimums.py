"""Print pip constraints that hold dependencies at the lowest versions pyproject.toml allows.

They cover the package, its build, its extras for users and the data frames that it takes: `make
minimums` uses them.

    python tools/minimums.py > constraints.txt
"""

import tomllib
from pathlib import Path

FOR_USERS = ("tables", "plot", "report", "export", "live", "gpu", "dask")
PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def constraints(pyproject: str) -> list[str]:
    """Return one constraint per dependency."""
    content = tomllib.loads(pyproject)
    extras = content["project"]["optional-dependencies"]
    for_users = [
        requirement
        for extra in FOR_USERS
        for requirement in extras[extra]
        if not requirement.startswith("likewise[")
    ]
    # An old scikit-learn does not know the data frames of a new polars.
    data_frames = [one for one in extras["test"] if one.startswith("polars")]
    required = content["build-system"]["requires"] + content["project"]["dependencies"]
    return [floor(requirement) for requirement in required + for_users + data_frames]


def floor(requirement: str) -> str:
    """Return ``name==version`` for ``name>=version``; constraints name no extras.

    Raises
    ------
    ValueError
        If the requirement is not of this form.
    """
    name, _, version = requirement.partition(">=")
    name = name.partition("[")[0]
    if not version.replace(".", "").isdigit():
        raise ValueError(f"{requirement!r} has no lowest version: write it as name>=version.")
    return f"{name}=={version}"


if __name__ == "__main__":
    print("\n".join(constraints(PYPROJECT.read_text(encoding="utf-8"))))
