"""The constraints of ``make minimums`` are the floors of pyproject.toml."""

import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOL = runpy.run_path(str(ROOT / "tools" / "minimums.py"))


def test_every_dependency_is_held_at_its_floor():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = TOOL["constraints"](text)
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    assert set(TOOL["FOR_USERS"]) == set(extras) - {"test", "docs", "bench"}
    required = project["dependencies"] + [
        one for extra in TOOL["FOR_USERS"] for one in extras[extra]
    ]
    for requirement in required:
        name, _, version = requirement.partition(">=")
        if not name.startswith("likewise["):
            assert f"{name.partition('[')[0]}=={version}" in found
    assert not [one for one in found if "[" in one]


@pytest.mark.parametrize("requirement", ["numpy", "numpy<2", "numpy>=1.26,<3", "likewise[plot]"])
def test_a_dependency_without_a_floor_is_refused(requirement):
    with pytest.raises(ValueError, match="has no lowest version"):
        TOOL["floor"](requirement)
