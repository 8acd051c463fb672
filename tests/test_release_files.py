"""What a release consists of: its files, its workflows, and the systems that it declares."""

import ast
import re
import runpy
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
CHECK = runpy.run_path(str(ROOT / "tools" / "check_dist.py"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
FILES = ["README.md", "src/likewise/knn.py", "src/likewise/py.typed", "tests/test_knn.py"]
FILES += ["src/likewise/_loops/native/module.cpp"]
WHEEL = {
    "likewise/knn.py",
    "likewise/py.typed",
    "likewise/_loops/_native.cpython-311-x86_64-linux-gnu.so",
    "likewise-0.2.0.dist-info/licenses/LICENSE",
}


def workflow(name):
    return yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))


def test_an_sdist_has_the_files_of_the_repository():
    faults = CHECK["sdist_faults"]
    assert faults({*FILES, "PKG-INFO"}, FILES) == []
    assert faults({*FILES, "core"}, FILES) == ["The sdist has core, which is not for it."]
    assert faults({*FILES[:-1]}, FILES) == [f"The sdist lacks {FILES[-1]}."]


@pytest.mark.parametrize(
    ("names", "fault"),
    [
        (WHEEL - {"likewise/py.typed"}, "The wheel lacks likewise/py.typed."),
        (WHEEL | {"tests/test_knn.py"}, "The wheel has tests/test_knn.py, which is not for it."),
        (
            WHEEL | {"likewise/_loops/native/module.cpp"},
            "The wheel has likewise/_loops/native/module.cpp, which is not for it.",
        ),
        (
            {name for name in WHEEL if "_native" not in name},
            "The wheel has 0 compiled modules of loops, but needs one.",
        ),
        ({name for name in WHEEL if "LICENSE" not in name}, "The wheel lacks the licence."),
    ],
)
def test_a_wheel_has_the_package_and_nothing_else(names, fault):
    assert CHECK["wheel_faults"](WHEEL, FILES) == []
    assert CHECK["wheel_faults"](set(names), FILES) == [fault]


def test_a_wheel_for_linux_is_a_manylinux_one():
    faults = CHECK["tag_faults"]
    assert faults("likewise-0.2.0-cp311-cp311-manylinux_2_28_x86_64.whl") == []
    assert faults("likewise-0.2.0-cp311-cp311-macosx_11_0_arm64.whl") == []
    assert faults("likewise-0.2.0-cp311-cp311-linux_x86_64.whl") == [
        "The wheel has the tag linux_x86_64, but manylinux is needed: repair it by auditwheel."
    ]


def test_wheels_and_ci_have_the_same_pythons_and_classifiers_no_others():
    built = ["11", "12", "13", "14"]
    assert PYPROJECT["tool"]["cibuildwheel"]["build"] == [f"cp3{minor}-*" for minor in built]
    checks = workflow("ci.yml")["jobs"]["checks"]
    assert checks["strategy"]["matrix"]["python"] == [f"3.{minor}" for minor in built]
    prefix = "Programming Language :: Python :: 3."
    declared = [one.removeprefix(prefix) for one in PROJECT["classifiers"] if prefix in one]
    assert declared == built[: len(declared)]
    assert PROJECT["requires-python"] == f">=3.{declared[0]}"
    assert checks["steps"][-1] == {"run": ".ci/run"}


def test_workflows_run_targets_that_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    commands = [
        step["run"]
        for name in ("ci.yml", "wheels.yml")
        for job in workflow(name)["jobs"].values()
        for step in job["steps"]
        if "run" in step
    ]
    made = {command.split()[1] for command in commands if command.startswith("make ")}
    assert made
    assert made <= targets
    systems = workflow("wheels.yml")["jobs"]["wheels"]["strategy"]["matrix"]["os"]
    assert {system.split("-")[0] for system in systems} == {"ubuntu", "macos", "windows"}


def required(extra):
    """Return the names of the distributions that an extra brings, with those of the package."""
    names = set()
    for requirement in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"][extra]]:
        name, inner = re.match(r"([\w-]+)(?:\[([\w,]+)\])?", requirement).groups()
        if name == "likewise":
            names = names.union(*(required(one) for one in inner.split(",")))
        else:
            names.add(name.lower())
    return names


# Folders whose tests are skipped without another extra.
OPTIONAL_TESTS = {"on_dask": "dask", "tensors": "gpu"}


def imports_of(path):
    """Return the names of the packages that a file imports when it is read."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module.split(".")[0])
    return names


def test_tests_import_what_the_test_extra_brings():
    brought = packages_distributions()
    imported, missing = set(), set()
    for path in [ROOT / "conftest.py", *(ROOT / "tests").rglob("*.py")]:
        allowed = required("test")
        if path.parent.name in OPTIONAL_TESTS:
            allowed = allowed | required(OPTIONAL_TESTS[path.parent.name])
        names = imports_of(path)
        imported |= names
        missing |= {
            name
            for name in names & brought.keys() - {"likewise"}
            if not allowed & {one.lower() for one in brought[name]}
        }
    assert {"numpy", "pytest", "yaml"} <= imported
    assert missing == set()
